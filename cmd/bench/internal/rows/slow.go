package rows

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/parley-a2a/parley/cmd/bench/internal/child"
	"github.com/parley-a2a/parley/cmd/bench/internal/wire"
)

// slowDisk measures blocking sends to the command while each of its fsyncs takes longer. strace
// delays the return of the system call in the thread that made it; with its filter of the kernel
// no other call is slower. So the server, its store and its file are the real ones.
func slowDisk(ctx context.Context, b *Bench) ([]Result, error) {
	path, err := b.build(ctx)
	if err != nil {
		return nil, err
	}
	tracer, err := exec.LookPath("strace")
	if err != nil {
		return []Result{{Row: "slow-disk", Server: command, Left: "there is no strace on this machine"}}, nil
	}
	var all []Result
	for _, delay := range b.Delays {
		b.Log("slow-disk: %v", delay)
		r, err := b.delayed(ctx, tracer, path, delay)
		if err != nil {
			return all, fmt.Errorf("%v: %w", delay, err)
		}
		r.Row, r.Case = "slow-disk", fmt.Sprintf("fsync + %v", delay)
		all = append(all, r)
	}
	return all, nil
}

func (b *Bench) delayed(ctx context.Context, tracer, path string, delay time.Duration) (r Result, err error) {
	dir, err := b.temp()
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(dir)
	// With -D the tracer is a grandchild, so that this process starts the server itself.
	cmd := exec.Command(tracer, "-D", "-f", "--seccomp-bpf", "-o", os.DevNull, "-e", "trace=fsync,fdatasync",
		"-e", "inject=fsync,fdatasync:delay_exit="+strconv.FormatInt(delay.Microseconds(), 10),
		path, "serve", "--listen", "127.0.0.1:0", "--data", dir)
	cmd.Dir = dir
	p, err := child.Spawn(ctx, cmd, "Address")
	if err != nil {
		return r, err
	}
	defer closing(&err, p.Stop)
	if _, err := ready(ctx, p); err != nil {
		return r, err
	}
	ops, hangUp, err := b.echoers(ctx, p.Addr)
	if err != nil {
		return r, err
	}
	defer hangUp()
	runs, err := b.closedLoop(ctx, external{p}, ops)
	if err != nil {
		return r, err
	}
	return summary(command, "sends/s", runs), nil
}

// smallSize is the memory limit of the row small-memory.
const smallSize = 128 << 20

// groups is the folder of control groups for memory.
const groups = "/sys/fs/cgroup/memory"

// smallMemory sends large messages to the command in a control group of 128 MiB. The kernel kills
// a process that needs more, so the row is an error unless the same process answers to the end.
func smallMemory(ctx context.Context, b *Bench) (rs []Result, err error) {
	path, err := b.build(ctx)
	if err != nil {
		return nil, err
	}
	group := filepath.Join(groups, fmt.Sprintf("parley-bench-%d", os.Getpid()))
	limit := filepath.Join(group, "memory.limit_in_bytes")
	if os.Mkdir(group, 0o755) != nil || os.WriteFile(limit, strconv.AppendInt(nil, smallSize, 10), 0o600) != nil {
		return []Result{{Row: "small-memory", Server: command, Left: "this process may make no control group for memory below " + groups}}, nil
	}
	defer func() { err = errors.Join(err, os.Remove(group)) }()
	dir, err := b.temp()
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "bench.yaml")
	if err := os.WriteFile(file, []byte("limits: {memory: 32MiB}\n"), 0o600); err != nil {
		return nil, err
	}
	join := `echo $$ >"$0/cgroup.procs" && exec "$@"`
	cmd := exec.Command("sh", "-c", join, group, path, "serve", "--listen", "127.0.0.1:0", "--data", dir, "--config", file)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOMEMLIMIT=100MiB")
	p, err := child.Spawn(ctx, cmd, "Address")
	if err != nil {
		return nil, err
	}
	defer closing(&err, p.Stop)
	if _, err := ready(ctx, p); err != nil {
		return nil, err
	}
	c, err := wire.Dial(ctx, p.Addr)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	var f flood
	if err := b.pour(ctx, &f, newEchoer(c, b.Text).send, largeSender{url: "http://" + p.Addr, text: b.LargeSize}.overHTTP); err != nil {
		return nil, fmt.Errorf("beside large messages: %w", err)
	}
	ops, hangUp, err := b.echoers(ctx, p.Addr) // not before, because a hub closes a connection that sends nothing at first
	if err != nil {
		return nil, err
	}
	defer hangUp()
	runs, err := b.closedLoop(ctx, external{p}, ops)
	if err != nil {
		return nil, fmt.Errorf("after large messages: %w", err)
	}
	peak, err := os.ReadFile(filepath.Join(group, "memory.max_usage_in_bytes"))
	if err != nil {
		return nil, err
	}
	b.Log("small-memory: %d large messages accepted, %d refused, at most %s bytes in the group", f.accepted, f.others, strings.TrimSpace(string(peak)))
	r := summary(command, "sends/s", runs)
	r.Row, r.Case = "small-memory", fmt.Sprintf("128 MiB, after %d of %d MiB: %d accepted, %d refused", b.Large, b.LargeSize>>20, f.accepted, f.others)
	r.Resident, err = p.Resident()
	return []Result{r}, err
}
