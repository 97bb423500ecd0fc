// Package diskspace returns the free and total space of the disk of a path. On systems other than Linux
// and macOS the space is unknown, and zero. It is safe for concurrent use. Tests mount small disks, see
// store/sqlitestore.
package diskspace
