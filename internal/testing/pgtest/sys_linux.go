package pgtest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	osuser "os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	kill    = syscall.SIGKILL
	stop    = syscall.SIGSTOP
	proceed = syscall.SIGCONT
	fast    = syscall.SIGINT // PostgreSQL's fast shutdown
)

// user is the user that runs the server.
type user struct{ uid, gid int }

// otherUser returns nil if this process may run the server itself.
func otherUser() (*user, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	found, err := osuser.Lookup("postgres")
	if err != nil {
		return nil, fmt.Errorf("PostgreSQL does not run as the superuser: %w", err)
	}
	uid, err := strconv.Atoi(found.Uid)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.Atoi(found.Gid)
	return &user{uid, gid}, err
}

// own makes the user the owner of a path.
func (u *user) own(path string) error {
	if u == nil {
		return nil
	}
	return os.Chown(path, u.uid, u.gid)
}

// tie makes cmd run as the user, and end when this process is killed.
func (u *user) tie(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGQUIT}
	if u != nil {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(u.uid), Gid: uint32(u.gid)}
	}
}

func signal(pid int, s syscall.Signal) { _ = syscall.Kill(pid, s) } // it may have ended

// children returns the processes that pid has started.
func children(pid int) (all []int) {
	paths, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is valid
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		// The name of the program, in parentheses, may contain spaces.
		_, rest, _ := strings.Cut(string(text), ") ")
		fields := strings.Fields(rest)
		if len(fields) > 1 && fields[1] == strconv.Itoa(pid) {
			if n, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil {
				all = append(all, n)
			}
		}
	}
	return all
}

// awaitEnd waits until the processes have ended: as long as one exists, PostgreSQL does not start
// again in the same folder.
func awaitEnd(pids []int) {
	for _, pid := range pids {
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			continue // it has ended
		}
		for {
			_, err = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, -1)
			if !errors.Is(err, unix.EINTR) {
				break
			}
		}
		_ = unix.Close(fd)
	}
}

func removeSocket(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
