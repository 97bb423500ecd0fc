package command

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// awaitExit waits until p has ended, without reaping it. It reports whether that succeeded.
func awaitExit(p *os.Process) bool {
	for {
		err := unix.Waitid(unix.P_PID, p.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return err == nil
		}
	}
}

// identify records the identity of the process pid.
func (i *identity) identify(pid int) {
	i.Pid = pid
	i.Start, _ = startOf(pid)
	i.Boot = bootID()
}

// bootID returns the id of the system's boot, or an empty string.
func bootID() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// startOf returns the start time of a process, in ticks since the boot.
func startOf(pid int) (uint64, error) {
	b, err := os.ReadFile(procFile(pid, "stat"))
	if err != nil {
		return 0, err
	}
	// The second field is a name in parentheses with any characters, including parentheses; the
	// start time is field 22.
	fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	const start = 22 - 3
	if len(fields) <= start {
		return 0, fmt.Errorf("stat of %d has %d fields", pid, len(fields)+2)
	}
	return strconv.ParseUint(fields[start], 10, 64)
}

func procFile(pid int, name string) string {
	return filepath.Join("/proc", strconv.Itoa(pid), name)
}

// killLost kills the processes of lost runs, which are given by folder. It returns the number
// of signals.
func killLost(lost map[string]identity) (int, error) {
	procs, err := os.ReadDir("/proc")
	if err != nil {
		return 0, err
	}
	known := make(map[int]identity, len(lost))
	boot := bootID()
	for _, id := range lost {
		if id.Pid > 0 && id.Boot == boot {
			known[id.Pid] = id
		}
	}
	killed := 0
	for _, d := range procs {
		pid, err := strconv.Atoi(d.Name())
		if err != nil || pid == os.Getpid() || !isLost(pid, known, lost) {
			continue
		}
		if killOne(pid) {
			killed++
		}
	}
	return killed, nil
}

// isLost reports whether pid belongs to a lost run, by its record or by the mark in its
// environment.
func isLost(pid int, known map[int]identity, lost map[string]identity) bool {
	if id, ok := known[pid]; ok {
		if start, err := startOf(pid); err == nil && start == id.Start {
			return true
		}
	}
	// The environment of another user's process cannot be read, and that of an ended one is
	// empty; neither belongs to a lost run.
	env, err := os.ReadFile(procFile(pid, "environ"))
	if err != nil {
		return false
	}
	for v := range bytes.SplitSeq(env, []byte{0}) {
		if dir, ok := bytes.CutPrefix(v, []byte(runDir+"=")); ok {
			_, ok := lost[string(dir)]
			return ok
		}
	}
	return false
}

// killOne kills pid, with its group if it leads one.
func killOne(pid int) bool {
	if group, err := unix.Getpgid(pid); err == nil && group == pid {
		pid = -pid
	}
	return unix.Kill(pid, unix.SIGKILL) == nil
}
