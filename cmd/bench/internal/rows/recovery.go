package rows

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/parley-a2a/parley/cmd/bench/internal/child"
	"github.com/parley-a2a/parley/cmd/bench/internal/serve"
	"github.com/parley-a2a/parley/cmd/bench/internal/wire"
)

// recovery kills a hub during its work, and measures the next one.
func recovery(ctx context.Context, b *Bench) ([]Result, error) {
	return b.each(ctx, "recovery", []serve.Kind{serve.ParleySQLite}, func(ctx context.Context, k serve.Kind) ([]Result, error) {
		var readyMS, doneMS []float64
		for range b.Runs {
			ready, done, err := b.recoverOnce(ctx)
			if err != nil {
				return nil, err
			}
			readyMS = append(readyMS, float64(ready.Microseconds())/1_000)
			doneMS = append(doneMS, float64(done.Microseconds())/1_000)
		}
		toReady, toDone := values(k, "ms", readyMS), values(k, "ms", doneMS)
		what := fmt.Sprintf("%s working + %s in line + %s asking", count(b.Working), count(b.Lined), count(b.Asking))
		toReady.Case, toDone.Case = "ready: "+what, "all done: "+what
		return []Result{toReady, toDone}, nil
	})
}

func (b *Bench) recoverOnce(ctx context.Context) (toReady, toDone time.Duration, err error) {
	dir, err := b.temp()
	if err != nil {
		return 0, 0, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "parley.db")
	if err := b.fillAndKill(ctx, file); err != nil {
		return 0, 0, fmt.Errorf("before the kill: %w", err)
	}
	p, stop, err := b.start(ctx, serve.ParleySQLite, "-file", file, "-open")
	if err != nil {
		return 0, 0, err
	}
	defer closing(&err, stop)
	if toReady, err = ready(ctx, p); err != nil {
		return 0, 0, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, b.Recovery, fmt.Errorf("not all runs were done within %v", b.Recovery))
	defer cancel()
	toDone, err = b.awaitDone(ctx, p)
	return toReady, toDone, err
}

// fillAndKill brings a hub to the state to recover from, and kills it.
func (b *Bench) fillAndKill(ctx context.Context, file string) error {
	p, stop, err := b.start(ctx, serve.ParleySQLite, "-file", file, "-max-runs", strconv.Itoa(b.Working))
	if err != nil {
		return err
	}
	defer stop() // its error states that it was killed
	if err := b.sendMany(ctx, p, serve.Text(serve.Ask, ""), b.Asking); err != nil {
		return err
	}
	if err := b.sendMany(ctx, p, serve.Text(serve.Hold, "0"), b.Working); err != nil {
		return err
	}
	if _, err := p.Do(ctx, serve.Await, strconv.Itoa(b.Working)); err != nil {
		return err
	}
	if err := b.sendMany(ctx, p, serve.Text(serve.Hold, "0"), b.Lined); err != nil {
		return err
	}
	c, err := wire.Dial(ctx, p.Addr)
	if err != nil {
		return err
	}
	defer c.Close()
	for state, want := range map[string]int{
		"TASK_STATE_WORKING": b.Working, "TASK_STATE_SUBMITTED": b.Lined, "TASK_STATE_INPUT_REQUIRED": b.Asking,
	} {
		if got, err := total(c, state); err != nil || got != want {
			return errors.Join(err, fmt.Errorf("%d tasks are %s, want %d", got, state, want))
		}
	}
	p.Kill()
	return nil
}

// sendMany sends n messages without waiting for the end of their tasks. For a task that asks,
// it waits for the question.
func (b *Bench) sendMany(ctx context.Context, p *child.Process, text string, n int) error {
	more := `,"configuration":{"returnImmediately":true}`
	if text == serve.Text(serve.Ask, "") {
		more = ""
	}
	var group errgroup.Group
	for i := range b.Conns {
		mine := n / b.Conns
		if i < n%b.Conns {
			mine++
		}
		group.Go(func() error {
			c, err := wire.Dial(ctx, p.Addr)
			if err != nil {
				return err
			}
			defer c.Close()
			request := wire.Call("SendMessage", sendParams(text, more))
			for j := range mine {
				body, err := c.Do(request.With(uint64(i)<<32 + uint64(j)))
				if err == nil {
					err = contains(body, []byte(`"TASK_STATE_`))
				}
				if err != nil {
					return fmt.Errorf("send %q: %w", text, err)
				}
			}
			return nil
		})
	}
	return group.Wait()
}

// awaitDone waits until every run is done, and returns the time since the program was executed.
// The tasks that ask must still be open.
func (b *Bench) awaitDone(ctx context.Context, p *child.Process) (time.Duration, error) {
	c, err := wire.Dial(ctx, p.Addr)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	for {
		done, err := total(c, "TASK_STATE_COMPLETED")
		if err != nil {
			return 0, errors.Join(err, context.Cause(ctx))
		}
		if done == b.Working+b.Lined {
			break
		}
		if err := sleep(ctx, 10*time.Millisecond); err != nil {
			return 0, fmt.Errorf("%d of %d: %w", done, b.Working+b.Lined, err)
		}
	}
	took := time.Since(p.Began)
	asking, err := total(c, "TASK_STATE_INPUT_REQUIRED")
	if err == nil && asking != b.Asking {
		err = fmt.Errorf("%d tasks ask after the recovery, want %d", asking, b.Asking)
	}
	return took, err
}

// total returns the number of tasks in a state.
func total(c *wire.Conn, state string) (int, error) {
	body, err := c.Do(wire.Call("ListTasks", `{"pageSize":1,"status":"`+state+`"}`).With(0))
	if err != nil {
		return 0, err
	}
	var page struct {
		Result *struct {
			TotalSize int `json:"totalSize"`
		} `json:"result"`
	}
	if err := json.Unmarshal(body, &page); err != nil {
		return 0, err
	}
	if page.Result == nil {
		return 0, fmt.Errorf("ListTasks: %.300s", body)
	}
	return page.Result.TotalSize, nil
}

// refused reports whether the server has answered, but not with the expected content.
func refused(err error) bool { return errors.Is(err, wire.ErrAnswer) }
