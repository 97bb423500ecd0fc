//go:build !linux

package command

import "os"

// awaitExit returns false: on this system a process cannot be awaited without reaping it.
func awaitExit(*os.Process) bool { return false }

// identify records only the process id: no portable way distinguishes a process from a later
// one with its id.
func (i *identity) identify(pid int) { i.Pid = pid }

// killLost kills nothing, because another process may have the process id now.
func killLost(map[string]identity) (int, error) { return 0, nil }
