package remote_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/agent/remote"
	"github.com/parley-a2a/parley/internal/task"
)

// lines sends the records of a log to a channel.
type lines chan string

func (l lines) Write(p []byte) (int, error) {
	l <- string(p)
	return len(p), nil
}

// await waits for a record with a text.
func (l lines) await(t *testing.T, text string) {
	t.Helper()
	over := time.After(time.Minute)
	for {
		select {
		case line := <-l:
			if strings.Contains(line, text) {
				return
			}
		case <-over:
			t.Fatalf("there is no record with %q", text)
		}
	}
}

// clear drops all records so far.
func (l lines) clear() {
	for len(l) > 0 {
		<-l
	}
}

// saved returns the checkpoint of a task.
func (h *hub) saved(id a2a.TaskID) (saved struct {
	Unsent   string
	Deadline int64
},
) {
	h.t.Helper()
	head, err := h.store.Head(h.t.Context(), "alice", id)
	if err != nil {
		h.t.Fatal(err)
	}
	blob, err := h.store.Sidecar(h.t.Context(), head.Key, task.SidecarCheckpoint)
	if err != nil {
		h.t.Fatal(err)
	}
	if err := json.Unmarshal(blob, &saved); err != nil {
		h.t.Fatalf("the checkpoint is %s: %v", blob, err)
	}
	return saved
}

// awaited starts a pair whose peer is stopped, and whose hub waits for it.
func awaited(t *testing.T) (*pair, lines) {
	t.Helper()
	log := make(lines, 100)
	p := startPair(t, counting(nil), func(a *remote.Agent) {
		a.Awaited, a.Logger = true, slog.New(slog.NewTextHandler(log, nil))
	})
	p.peer.stop()
	return p, log
}

const waitsRecord = "message waits until its agent is reachable"

// TestWaitOutlivesRestart checks that a message that waits for its agent continues to wait
// after a restart, until the same deadline, and is sent once. When it is sent, its checkpoint
// no longer marks it as waiting.
func TestWaitOutlivesRestart(t *testing.T) {
	t.Parallel()
	p, log := awaited(t)
	id := p.hub.send(now(newSend("a b"))).Head.ID
	log.await(t, waitsRecord)
	first := p.hub.saved(id)
	if first.Unsent == "" || first.Deadline == 0 {
		t.Errorf("the checkpoint is %+v, want that the message waits", first)
	}
	p.hub.restart()
	log.await(t, waitsRecord)
	if again := p.hub.saved(id); again != first {
		t.Errorf("after a restart the checkpoint is %+v, want %+v", again, first)
	}
	p.peer.wrap = func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			r.Body = io.NopCloser(bytes.NewReader(body))
			if bytes.Contains(body, []byte(`Message"`)) {
				if saved := p.hub.saved(id); saved.Unsent != "" || saved.Deadline != first.Deadline {
					t.Errorf("the message has come, and the checkpoint is %+v, want one that does not wait, and the deadline %d", saved, first.Deadline)
				}
			}
			next.ServeHTTP(w, r)
		})
	}
	p.peer.start()
	p.hub.wait(id, task.Completed)
	if got := strings.Join(p.hub.chunks(id), ""); got != "a b" || len(p.peer.all()) != 1 {
		t.Errorf("the answer is %q, from %d tasks", got, len(p.peer.all()))
	}
}

// TestFollowUpWaits checks that a further message waits like the first one.
func TestFollowUpWaits(t *testing.T) {
	t.Parallel()
	log := make(lines, 100)
	p := startPair(t, asking(), func(a *remote.Agent) {
		a.Awaited, a.Logger = true, slog.New(slog.NewTextHandler(log, nil))
		// The message would otherwise be sent on a connection that is still open.
		a.HTTP = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	})
	id := p.hub.send(newSend("begin")).Head.ID
	log.clear() // on a stalled machine this message has waited, too
	p.peer.stop()
	p.hub.send(now(reply(id, "this")))
	log.await(t, waitsRecord)
	p.hub.restart()
	log.await(t, waitsRecord)
	p.peer.start()
	if a := p.hub.wait(id, task.Completed); words(a) != "this" {
		t.Errorf("the task is %s", describe(a))
	}
}

// asking is an agent that asks once, and returns the answer.
func asking() agent.Func {
	return func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		if ec.StoredTask == nil {
			yield(status(ec, a2a.TaskStateInputRequired, "which?"), nil)
			return
		}
		yield(status(ec, a2a.TaskStateCompleted, agent.Text(ec.Message)), nil)
	}
}
