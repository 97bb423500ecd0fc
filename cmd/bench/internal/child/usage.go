package child

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/parley-a2a/parley/cmd/bench/internal/serve"
)

// Usage is the work of a server since its start.
type Usage struct {
	// CPU is the processor time in user and system mode.
	CPU time.Duration
	// Written is the number of bytes written to files; zero if the system does not show it.
	Written int64
	// Database is the part of CPU that the database has used.
	Database time.Duration
}

// Add adds another usage.
func (u *Usage) Add(o Usage) {
	u.CPU, u.Written, u.Database = u.CPU+o.CPU, u.Written+o.Written, u.Database+o.Database
}

// Sub returns the work since an earlier usage.
func (u Usage) Sub(o Usage) Usage {
	return Usage{CPU: u.CPU - o.CPU, Written: u.Written - o.Written, Database: u.Database - o.Database}
}

// Usage returns the work of the process, and of its database.
func (p *Process) Usage() (Usage, error) {
	u, err := usageOf(p.PID(), 2)
	if err != nil || p.Database == 0 {
		return u, err
	}
	db, err := DatabaseUsage(p.Database)
	u.Add(db)
	return u, err
}

// Monitor returns the processor time of the thread that Go's runtime keeps to watch the others (sysmon).
// Go's profiles have no samples of it. It is the first thread that the runtime starts.
func (p *Process) Monitor() (time.Duration, error) { return monitorOf(p.PID()) }

func monitorOf(pid int) (time.Duration, error) {
	folder := fmt.Sprintf("/proc/%d/task", pid)
	entries, err := os.ReadDir(folder)
	if err != nil {
		return 0, err
	}
	var threads []int
	for _, e := range entries {
		id, err := strconv.Atoi(e.Name())
		if err != nil {
			return 0, fmt.Errorf("thread %s: %w", e.Name(), errProc)
		}
		threads = append(threads, id)
	}
	if len(threads) < 2 {
		return 0, nil
	}
	slices.Sort(threads)
	b, err := os.ReadFile(fmt.Sprintf("%s/%d/schedstat", folder, threads[1]))
	if err != nil {
		return 0, err
	}
	return parseSched(b)
}

// DatabaseUsage returns the work of a database server by the id of its first process.
func DatabaseUsage(pid int) (Usage, error) {
	u, err := TreeUsage(pid)
	u.Database = u.CPU
	return u, err
}

// Mallocs returns the number of objects that a server with the protocol of package serve has
// allocated.
func (p *Process) Mallocs(ctx context.Context) (uint64, error) {
	r, err := p.Do(ctx, serve.GetStats, "")
	return r.Mallocs, err
}

// TreeUsage returns the work of a process and its children, also of those that have ended, such as the
// processes of PostgreSQL.
func TreeUsage(pid int) (Usage, error) {
	all, err := usageOf(pid, 4)
	if err != nil {
		return all, err
	}
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		return all, err
	}
	for _, f := range bytes.Fields(b) {
		child, err := strconv.Atoi(string(f))
		if err != nil {
			return all, fmt.Errorf("children of %d: %w", pid, errProc)
		}
		u, err := usageOf(child, 2)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
			continue // it has ended, and its parent has its time now
		}
		if err != nil {
			return all, err
		}
		all.Add(u)
	}
	return all, nil
}

// usageOf reads the first times of a process: its own two, and those of its ended children.
func usageOf(pid, times int) (u Usage, err error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return u, err
	}
	if u.CPU, err = parseStat(b, times); err != nil {
		return u, err
	}
	b, err = os.ReadFile(fmt.Sprintf("/proc/%d/io", pid))
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) {
		return u, nil
	}
	if err != nil {
		return u, err
	}
	u.Written, err = parseIO(b)
	return u, err
}

// parseIO returns write_bytes.
func parseIO(b []byte) (int64, error) {
	for line := range bytes.Lines(b) {
		if v, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("write_bytes: ")); ok {
			return strconv.ParseInt(string(v), 10, 64)
		}
	}
	return 0, fmt.Errorf("parse io: %w", errProc)
}
