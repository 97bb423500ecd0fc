//go:build !unix

package command

import (
	"os"
	"os/exec"
)

// ownGroup does nothing: this system has no process groups.
func ownGroup(*exec.Cmd) {}

// signalGroup ends the program itself.
func signalGroup(p *os.Process, _ strength) { _ = p.Kill() }
