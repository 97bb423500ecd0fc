//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package datadir

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"testing/synctest"

	"golang.org/x/sys/unix"
)

// A program that starts while the folder is being closed has the descriptor of the lock until
// its exec. The folder is unlocked nevertheless.
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

// leftBehind returns the lock of a killed process which the system has not released yet.
func leftBehind(t *testing.T, path string) *os.File {
	t.Helper()
	dead := exec.Command("true")
	if err := dead.Run(); err != nil {
		t.Fatal(err)
	}
	d, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	line := fmt.Sprintf(`{"pid":%d,"host":%q}`, dead.Process.Pid, host)
	if err := os.WriteFile(filepath.Join(path, lockName), []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	return d.lock
}

// Open waits for the lock of a process that has gone.
func TestOpenWaitsForTheLockOfAKilledProcess(t *testing.T) {
	path := t.TempDir()
	lock := leftBehind(t, path)
	synctest.Test(t, func(t *testing.T) {
		opened := make(chan error, 1)
		go func() {
			d, err := Open(path)
			if err == nil {
				err = d.Close()
			}
			opened <- err
		}()
		synctest.Wait()
		select {
		case err := <-opened:
			t.Fatalf("Open = %v at once, want that it waits", err)
		default:
		}
		if err := release(lock); err != nil {
			t.Fatal(err)
		}
		if err := <-opened; err != nil {
			t.Errorf("Open = %v once the lock is gone", err)
		}
	})
}

// Open does not wait forever.
func TestOpenGivesUpOnALockThatStays(t *testing.T) {
	path := t.TempDir()
	lock := leftBehind(t, path)
	synctest.Test(t, func(t *testing.T) {
		if _, err := Open(path); !errors.As(err, new(*InUseError)) {
			t.Errorf("Open = %v, want that the folder is in use", err)
		}
	})
	if err := release(lock); err != nil {
		t.Error(err)
	}
}
