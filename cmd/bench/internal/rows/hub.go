package rows

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/parley-a2a/parley/cmd/bench/internal/child"
	"github.com/parley-a2a/parley/cmd/bench/internal/serve"
	"github.com/parley-a2a/parley/cmd/bench/internal/wire"
)

// command is the server of the rows that measure the command parley itself.
const command serve.Kind = "parley serve"

// build builds the command parley and returns its path.
func (b *Bench) build(ctx context.Context) (string, error) {
	path, err := filepath.Abs(filepath.Join(b.Work, "parley"))
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-o", path, "./cmd/parley")
	cmd.Dir = b.Root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build parley: %w: %s", err, out)
	}
	return path, nil
}

// spawn starts the command parley on a data folder.
func spawn(ctx context.Context, path, data string, args ...string) (*child.Process, error) {
	cmd := exec.Command(path, append([]string{"serve", "--listen", "127.0.0.1:0", "--data", data}, args...)...)
	cmd.Dir = data
	return child.Spawn(ctx, cmd, "Address")
}

// ready polls /readyz until it succeeds, and returns the time since the program was executed.
func ready(ctx context.Context, p *child.Process) (time.Duration, error) {
	c, err := wire.Dial(ctx, p.Addr)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	request := wire.Get("/readyz").With(0)
	for {
		_, err := c.Do(request)
		if err == nil {
			return time.Since(p.Began), nil
		}
		if !refused(err) {
			return 0, err
		}
		if err := sleep(ctx, time.Millisecond); err != nil {
			return 0, err
		}
	}
}

// eachData calls f with an empty data folder and with one of the largest file, and joins the
// results.
func (b *Bench) eachData(ctx context.Context, row string, f func(ctx context.Context, path, data string) (Result, error)) ([]Result, error) {
	path, err := b.build(ctx)
	if err != nil {
		return nil, err
	}
	empty, err := b.temp()
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(empty)
	n := b.Sizes[len(b.Sizes)-1]
	full, err := b.seed(ctx, n)
	if err != nil {
		return nil, err
	}
	var all []Result
	for _, d := range []struct{ dir, name string }{{empty, "empty"}, {full, count(n) + " tasks"}} {
		b.Log("%s: %s", row, d.name)
		r, err := f(ctx, path, d.dir)
		if err != nil {
			return all, fmt.Errorf("%s: %w", d.name, err)
		}
		r.Row, r.Case, r.Server = row, d.name, command
		all = append(all, r)
	}
	return all, nil
}

// startup measures the time from the execution of the program to its readiness.
func startup(ctx context.Context, b *Bench) ([]Result, error) {
	return b.eachData(ctx, "startup", func(ctx context.Context, path, data string) (Result, error) {
		var ms []float64
		for range b.Starts {
			p, err := spawn(ctx, path, data)
			if err != nil {
				return Result{}, err
			}
			d, err := ready(ctx, p)
			closing(&err, p.Stop)
			if err != nil {
				return Result{}, err
			}
			ms = append(ms, float64(d.Microseconds())/1_000)
		}
		return values(command, "ms", ms), nil
	})
}

// idleMemory measures the memory of an idle hub.
func idleMemory(ctx context.Context, b *Bench) ([]Result, error) {
	return b.eachData(ctx, "idle-memory", func(ctx context.Context, path, data string) (r Result, err error) {
		p, err := spawn(ctx, path, data)
		if err != nil {
			return Result{}, err
		}
		defer closing(&err, p.Stop)
		if _, err := ready(ctx, p); err != nil {
			return Result{}, err
		}
		if err := sleep(ctx, b.MemoryWait); err != nil {
			return Result{}, err
		}
		resident, err := p.Resident()
		r = values(command, "MiB", []float64{float64(resident) / (1 << 20)})
		r.Resident = resident
		return r, err
	})
}
