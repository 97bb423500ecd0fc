// Package backup writes the data folder of a hub into one file, also while the hub runs, and
// restores a folder from it.
//
// # Format
//
// A backup is a tar file. Its first entry, parley-backup.json, names the format and its version.
// Then come parley.db, a copy of the store as of one moment, and the other files of the folder:
// keys, audit log, large parts. The last entry, MANIFEST.json, has the size and the SHA-256 of
// each file, so that a file that was cut off or changed is refused.
//
// # Guarantees
//
// [Write] copies the store first. Large parts that its tasks name are on the disk before the
// entries that name them, and the audit log is written before its head is stored, so that the later
// copies of these files complete the store. Write examines the copied store like parley doctor, and
// refuses a folder of which data is missing, unless the loss is accepted: the backup and each hub with
// it then say so. The file has its name only when it is complete and synced.
//
// [Restore] verifies each file, and examines the store, before a folder has any of them. It refuses
// a folder with data. If the process ends meanwhile, the folder has a marker with which no hub
// starts; another Restore begins again.
//
// # Non-guarantees
//
// A backup has the master key and the sealed secrets: it is as secret as the folder. The queues of
// the bus are not in it: the hub publishes its work again. Write needs space for the store twice.
package backup
