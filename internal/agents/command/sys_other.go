//go:build !unix

package command

import (
	"os"
	"os/exec"
)

// ownGroup does nothing: there are no process groups here.
func ownGroup(*exec.Cmd) {}

// signalGroup ends the program itself.
func signalGroup(p *os.Process, _ strength) { _ = p.Kill() }
