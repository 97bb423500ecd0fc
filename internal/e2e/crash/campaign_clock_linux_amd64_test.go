package crash

import (
	"context"
	"fmt"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/parley-a2a/parley/internal/testing/clocktest"
	"github.com/parley-a2a/parley/internal/testing/hubtest"
	"github.com/parley-a2a/parley/internal/testing/testenv"
)

// TestWebhookAfterTheClockIsSetBack: a notification that waits for its next try does not wait
// for the hours by which the wall clock of the hub is set back.
func TestWebhookAfterTheClockIsSetBack(t *testing.T) {
	t.Parallel()
	tried := make(chan struct{})
	hook := &webhook{
		t: t, bad: 1 << 30, first: sync.OnceFunc(func() { close(tried) }),
		took: make(map[string][]string), tried: make(map[string][]string),
		wakes: make(map[string]chan struct{}), after: make(map[string]int),
	}
	srv := httptest.NewServer(hook)
	defer srv.Close()
	h := hubtest.Start(t, hubtest.Options{Flags: []string{"--push-allow", "loopback"}})
	if err := clocktest.Move(h.Process().PID(), 11*time.Hour); err != nil {
		t.Fatal(err)
	}
	frames := streamWithHook(t, h, srv.URL+"/one", 3)
	await(t, "the first try", tried)
	if err := clocktest.Move(h.Process().PID(), 0); err != nil {
		t.Fatal(err)
	}
	hook.recover(0, false)
	awaitLast(t, hook, "/one", frames[len(frames)-1])
	hook.check("/one", frames)
}

// TestSilenceWhileTheClockMoves: the silence of an agent does not depend on the wall clock of the
// hub, which is moved after the first output of its program.
func TestSilenceWhileTheClockMoves(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		program, silence string
		by               time.Duration
		want             string
	}{
		"an agent that works": {"echo 1; sleep 5; echo 2", "1h", 11 * time.Hour, "COMPLETED"},
		"a silent agent":      {"echo 1; exec sleep 1000", "8s", -11 * time.Hour, "FAILED"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := hubtest.Start(t, hubtest.Options{Config: fmt.Sprintf("agents: [{name: a, silence: %s, command: %q}]\n", tt.silence, tt.program)})
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			r := reader{}
			moved := false
			err := r.read(ctx, hubtest.Request{URL: h.URL() + "/v1/a2a/a/message:stream", Body: sending{id: "m", text: "x"}.body()}, func() bool {
				if r.words != "" && !moved {
					moved = true
					if err := clocktest.Move(h.Process().PID(), tt.by); err != nil {
						t.Error(err)
					}
				}
				return r.ended()
			})
			if err != nil || r.state != tt.want || !moved {
				t.Errorf("the task is %s (%s) with %q, %v; want %s", r.state, r.why, r.words, err, tt.want)
			}
		})
	}
}

// TestWorkAfterTheClockIsSetBack: the broker within the hub notes when it has sent a message to a
// worker. After the clock is set back by an hour, it would send the message of a killed worker
// again after that hour.
func TestWorkAfterTheClockIsSetBack(t *testing.T) {
	t.Parallel()
	h := hubtest.Start(t, hubtest.Options{Config: "agents: [{name: a, queue: a}]\n"})
	begin := func() *hubtest.Process {
		t.Helper()
		p := hubtest.Launch(t, hubtest.Command{Args: []string{"agent", "run", "--name", "a", "--data", h.Data(), "--", "cat"}, Dir: h.Dir()})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := p.Await(ctx, "performing the tasks of an agent"); err != nil {
			t.Fatal(err)
		}
		return p
	}
	ask := func(id string) *reader {
		t.Helper()
		r := &reader{}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		err := r.read(ctx, hubtest.Request{URL: h.URL() + "/v1/a2a/a/message:stream", Body: sending{id: id, text: id}.body()}, func() bool {
			return r.ended() || id == "held"
		})
		if err != nil {
			t.Fatalf("message %q: %v", id, err)
		}
		return r
	}
	move := func(by time.Duration) {
		t.Helper()
		if err := clocktest.Move(h.Process().PID(), by); err != nil {
			t.Fatal(err)
		}
	}
	worker := begin()
	if r := ask("first"); r.state != "COMPLETED" {
		t.Fatalf("the task is %s (%s)", r.state, r.why)
	}
	move(time.Hour)
	testenv.Suspend(t, worker.PID())
	held := ask("held")
	worker.Kill()
	begin()
	move(0)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	if err := held.resume(ctx, h.URL(), held.ended); err != nil || held.state != "COMPLETED" {
		t.Errorf("the task is %s (%s), %v", held.state, held.why, err)
	}
}
