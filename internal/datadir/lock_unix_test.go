//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package datadir

import (
	"testing"

	"golang.org/x/sys/unix"
)

// A program that starts while the folder is closed has the descriptor of the lock
// until its exec. The folder is free all the same.
func TestFreeAfterCloseThoughAChildHasTheDescriptor(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	d, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	inherited, err := unix.Dup(int(d.lock.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(inherited) //nolint:errcheck // a descriptor of this test alone
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := Open(path)
	if err != nil {
		t.Fatalf("Open after Close: %v", err)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}
