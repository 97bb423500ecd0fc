package interop

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"os/exec"
	"sync"
	"testing"

	"github.com/parley-a2a/parley/internal/need"
)

// jsClient is the official JavaScript SDK's client, in a process of its own.
type jsClient struct {
	in io.Writer

	mu    sync.Mutex // guards the fields below, and writing to in
	last  int
	waits map[int]chan jsAnswer
	// gone is closed when the process says nothing more.
	gone chan struct{}
}

type jsAnswer struct {
	ID     int             `json:"id"`
	Result json.RawMessage `json:"result"`
	Event  json.RawMessage `json:"event"`
	End    bool            `json:"end"`
	Error  *refusal        `json:"error"`
}

var errJSGone = errors.New("the JavaScript process has ended")

// newJSClient starts a process for one binding.
func newJSClient(t *testing.T, hub, binding string) client {
	node := need.Tool(t, "node")
	_, err := os.Stat("js/node_modules/@a2a-js/sdk/package.json")
	need.Met(t, err == nil, "conformance/interop/js/node_modules (npm ci makes it)")
	cmd := exec.Command(node, "drive.mjs", hub, binding)
	cmd.Dir = "js"
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := &jsClient{in: in, waits: make(map[int]chan jsAnswer), gone: make(chan struct{})}
	var wg sync.WaitGroup
	wg.Go(func() { c.read(out) })
	t.Cleanup(func() {
		in.Close()
		wg.Wait()
		if err := cmd.Wait(); err != nil {
			t.Errorf("node: %v", err)
		}
	})
	return c
}

// read hands the answers to those who wait for them.
func (j *jsClient) read(out io.Reader) {
	defer close(j.gone)
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var a jsAnswer
		if err := json.Unmarshal(line, &a); err != nil {
			fmt.Fprintf(os.Stderr, "node prints %q: %v\n", line, err)
			return
		}
		j.mu.Lock()
		wait := j.waits[a.ID]
		j.mu.Unlock()
		if wait != nil {
			wait <- a
		}
	}
}

// begin takes a step and returns where its answers come.
func (j *jsClient) begin(c call) (id int, answers <-chan jsAnswer, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.last++
	wait := make(chan jsAnswer, 1000)
	j.waits[j.last] = wait
	b, err := json.Marshal(struct {
		ID int `json:"id"`
		call
	}{j.last, c})
	if err == nil {
		_, err = j.in.Write(append(b, '\n'))
	}
	return j.last, wait, err
}

func (j *jsClient) forget(id int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	delete(j.waits, id)
}

// next waits for an answer.
func (j *jsClient) next(ctx context.Context, answers <-chan jsAnswer) (jsAnswer, error) {
	select {
	case a := <-answers:
		if a.Error != nil {
			return a, a.Error
		}
		return a, nil
	case <-ctx.Done():
		return jsAnswer{}, context.Cause(ctx)
	case <-j.gone:
		return jsAnswer{}, errJSGone
	}
}

func (j *jsClient) do(ctx context.Context, c call) (json.RawMessage, error) {
	id, answers, err := j.begin(c)
	if err != nil {
		return nil, err
	}
	defer j.forget(id)
	a, err := j.next(ctx, answers)
	return a.Result, err
}

func (j *jsClient) stream(ctx context.Context, c call) iter.Seq2[json.RawMessage, error] {
	return func(yield func(json.RawMessage, error) bool) {
		id, answers, err := j.begin(c)
		if err != nil {
			yield(nil, err)
			return
		}
		defer j.forget(id)
		for {
			a, err := j.next(ctx, answers)
			if err != nil {
				yield(nil, err)
				return
			}
			if a.End {
				return
			}
			if !yield(a.Event, nil) {
				j.stop(id)
				return
			}
		}
	}
}

// stop leaves a stream.
func (j *jsClient) stop(id int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	fmt.Fprintf(j.in, "{\"op\":\"stop\",\"params\":%d}\n", id)
}
