//go:build !linux

package child

import "os/exec"

// dieWithParent does nothing: servers of the bench end when their input ends.
func dieWithParent(*exec.Cmd) {}
