//go:build !linux

package pgtest

import (
	"errors"
	"os/exec"
)

const kill, stop, proceed, fast = 0, 0, 0, 0

type user struct{}

func otherUser() (*user, error) { return nil, errors.ErrUnsupported }

func (u *user) own(string) error { return nil }

func (u *user) tie(*exec.Cmd) {}

func signal(int, int) {}

func children(int) []int { return nil }

func awaitEnd([]int) {}

func removeSocket(string) error { return nil }
