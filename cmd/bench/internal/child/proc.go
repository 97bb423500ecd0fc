package child

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"
)

// tick is the unit of the times in /proc/<pid>/stat. It is 10 ms on every Linux that Go
// supports, independent of the kernel's own clock.
const tick = 10 * time.Millisecond

// Resident returns the resident memory of the process in bytes.
func (p *Process) Resident() (int64, error) { return statusOf(p.PID(), "VmRSS:") }

// Peak returns the most memory that was resident since the start of the process, in bytes.
func (p *Process) Peak() (int64, error) { return statusOf(p.PID(), "VmHWM:") }

var errProc = errors.New("not what Linux writes")

// parseStat returns the sum of the first times: of utime and stime, fields 14 and 15, and of cutime
// and cstime after them. The name of the program, field 2, is in parentheses and may contain any
// character.
func parseStat(b []byte, times int) (time.Duration, error) {
	f := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	if len(f) < 11+times {
		return 0, fmt.Errorf("parse stat: %w", errProc)
	}
	var ticks int64
	for _, v := range f[11 : 11+times] {
		n, err := strconv.ParseInt(string(v), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("parse stat: %w", errProc)
		}
		ticks += n
	}
	return time.Duration(ticks) * tick, nil
}

// parseSched returns the first number of schedstat: the processor time of a thread in nanoseconds.
func parseSched(b []byte) (time.Duration, error) {
	f := bytes.Fields(b)
	if len(f) < 3 {
		return 0, fmt.Errorf("parse schedstat: %w", errProc)
	}
	n, err := strconv.ParseInt(string(f[0]), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("parse schedstat: %w", errProc)
	}
	return time.Duration(n), nil
}

func statusOf(pid int, field string) (int64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	return parseStatus(b, field)
}

// parseStatus returns the value of a field in bytes.
func parseStatus(b []byte, field string) (int64, error) {
	for line := range bytes.Lines(b) {
		f := bytes.Fields(line)
		if len(f) == 3 && string(f[0]) == field && string(f[2]) == "kB" {
			n, err := strconv.ParseInt(string(f[1]), 10, 64)
			return n << 10, err
		}
	}
	return 0, fmt.Errorf("parse status: %w", errProc)
}
