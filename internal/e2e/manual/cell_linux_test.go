package manual

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/parley-a2a/parley/internal/testing/testenv"
)

// cellEnv names the script that this process runs in a cell instead of tests.
const cellEnv = "PARLEY_MANUAL_SCRIPT"

// inCell returns a command that runs a bash script on a machine of its own: its network has only
// a loopback interface, and all its processes end with the script.
func inCell(t *testing.T, script string, env []string) *exec.Cmd {
	t.Helper()
	if out, err := cell(t, os.DevNull, env).CombinedOutput(); err != nil {
		testenv.Met(t, false, strings.TrimSpace(fmt.Sprintf("the right to make namespaces (%v) %s", err, out)))
	}
	return cell(t, script, env)
}

func cell(t *testing.T, script string, env []string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(slices.Clone(env), cellEnv+"="+script)
	cmd.SysProcAttr = namespaces()
	return cmd
}

func namespaces() *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWPID | syscall.CLONE_NEWNS}
	if os.Geteuid() != 0 {
		a.Cloneflags |= syscall.CLONE_NEWUSER
		a.UidMappings = []syscall.SysProcIDMap{{HostID: os.Geteuid(), Size: 1}}
		a.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getegid(), Size: 1}}
	}
	return a
}

// enterCell starts the loopback interface and becomes the shell of the script.
func enterCell(script string) {
	err := errors.Join(startLoopback(), ownProcesses())
	if err == nil {
		_ = os.Unsetenv(cellEnv)
		err = syscall.Exec("/bin/bash", []string{"bash", script}, os.Environ())
	}
	fmt.Fprintln(os.Stderr, "enter the cell:", err)
	os.Exit(1)
}

// ownProcesses makes /proc show the processes of the cell. In a chroot, the root is not a mount, but /proc is.
func ownProcesses() error {
	if err := unix.Mount("", "/proc", "", unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	return unix.Mount("proc", "/proc", "proc", 0, "")
}

func startLoopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	up, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	up.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, up)
}
