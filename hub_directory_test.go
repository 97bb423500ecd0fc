package parley_test

import (
	"context"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/agents/queue"
	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/memory"
	"github.com/parley-a2a/parley/store/sqlitestore"
	"github.com/parley-a2a/parley/worker"
)

// recordSignal is a log handler that closes seen at the first record with a text.
type recordSignal struct {
	slog.Handler
	text string
	seen chan struct{}
	once *sync.Once
}

func (r recordSignal) Enabled(context.Context, slog.Level) bool { return true }

func (r recordSignal) Handle(_ context.Context, rec slog.Record) error {
	if strings.Contains(rec.Message, r.text) {
		r.once.Do(func() { close(r.seen) })
	}
	return nil
}

// awaitRecord returns a logger and a channel that is closed at the first record with a text.
func awaitRecord(text string) (*slog.Logger, <-chan struct{}) {
	seen := make(chan struct{})
	return slog.New(recordSignal{slog.DiscardHandler, text, seen, new(sync.Once)}), seen
}

// startPoet starts a worker that announces the agent "poet".
func startPoet(t *testing.T, b bus.Bus) {
	t.Helper()
	poet := &worker.Worker{
		Bus: b, Name: "poet", Card: &a2a.AgentCard{Name: "poet", Description: "Writes sonnets.", Version: "1"},
		Executor: agent.Func(func(_ context.Context, x *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
			answer := a2a.NewMessageForTask(a2a.MessageRoleAgent, x, a2a.NewTextPart("A poem on "+agent.Text(x.Message)))
			yield(a2a.NewStatusUpdateEvent(x, a2a.TaskStateCompleted, answer), nil)
		}),
	}
	ctx, stop := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := poet.Run(ctx); err != nil {
			t.Errorf("the worker ended: %v", err)
		}
	})
	t.Cleanup(func() { stop(); wg.Wait() })
}

// TestDirectoryOfALibrary checks that callers find and call the agents that a hub lists: one
// that announces itself at the bus, and one at an address. A hub without a Directory has
// neither.
func TestDirectoryOfALibrary(t *testing.T) {
	t.Parallel()
	remote := serve(t, withBuiltin(&parley.Hub{}))
	for name, d := range map[string]*parley.Directory{
		"none": nil, "listed": {Agents: []parley.RemoteAgent{{Name: "Far Echo", URL: remote.url, Description: "Repeats from afar."}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := new(bus.Memory)
			logger, announced := awaitRecord("agent has announced itself on the bus")
			s := serve(t, withBuiltin(&parley.Hub{API: true, Queues: &queue.Dispatcher{Bus: b, ID: "hub1"}, Directory: d, Logger: logger}))
			if d != nil {
				startPoet(t, b.Peer())
				<-announced
			}
			_, list := s.call(http.MethodGet, "/api/v1/agents", "", "")
			for _, agent := range []string{"poet", "far-echo"} {
				if listed := strings.Contains(list, `"name":"`+agent+`"`); listed != (d != nil) {
					t.Errorf("/api/v1/agents = %s, want %s listed: %t", list, agent, d != nil)
				}
			}
			for query, agent := range map[string]string{"sonnets": "poet", "afar": "far-echo"} {
				if _, found := s.call(http.MethodGet, "/api/v1/search?q="+query, "", ""); strings.Contains(found, `"id":"`+agent+`"`) != (d != nil) {
					t.Errorf("search for %s = %s, want %s found: %t", query, found, agent, d != nil)
				}
			}
			if d == nil {
				return
			}
			if got := s.send("/v1/a2a/poet/message:send", "", "the sea", ""); !strings.Contains(textOf(got), "A poem on the sea") {
				t.Errorf("the poet answered %q", textOf(got))
			}
			if got := s.send("/v1/a2a/far-echo/message:send", "", "over there", ""); !strings.Contains(textOf(got), "over there") {
				t.Errorf("the remote agent answered %q", textOf(got))
			}
		})
	}
}

// textOf returns the texts of the artifacts and of the status message of a task.
func textOf(got *a2a.Task) string {
	var all []string
	for _, a := range got.Artifacts {
		for _, p := range a.Parts {
			all = append(all, p.Text())
		}
	}
	if m := got.Status.Message; m != nil {
		all = append(all, m.Parts[0].Text())
	}
	return strings.Join(all, " ")
}

// TestDirectoryStore checks that an agent that an administrator has registered is listed after
// a restart of the hub, and that an address is refused unless it is allowed.
func TestDirectoryStore(t *testing.T) {
	t.Parallel()
	db, err := sqlitestore.Open(filepath.Join(t.TempDir(), "parley.db"), sqlitestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	const body = `{"name":"inner","url":"http://10.9.8.7:1"}`
	d := parley.Directory{Store: db.AgentStore(), Probe: -1, Refresh: -1}
	s := serve(t, withBuiltin(&parley.Hub{API: true, Directory: &d}))
	if code, answer := s.call(http.MethodPost, "/api/v1/agents", "", body); code < 400 {
		t.Errorf("an address that is not public was registered: %d %s", code, answer)
	}
	s.stop()
	d.Allow = []string{"10.0.0.0/8"}
	s = serve(t, withBuiltin(&parley.Hub{API: true, Directory: &d}))
	if code, answer := s.call(http.MethodPost, "/api/v1/agents", "", body); code >= 400 {
		t.Fatalf("register = %d %s", code, answer)
	}
	s.stop()
	s = serve(t, withBuiltin(&parley.Hub{API: true, Directory: &d}))
	s.send("/v1/a2a/message:send", "", "hello", "") // answered after the directory was opened
	if _, list := s.call(http.MethodGet, "/api/v1/agents", "", ""); !strings.Contains(list, `"name":"inner"`) {
		t.Errorf("after a restart /api/v1/agents = %s", list)
	}
}

// TestAgentsAreListedWhenHandled checks that the directory lists an agent that is registered
// while the hub runs.
func TestAgentsAreListedWhenHandled(t *testing.T) {
	t.Parallel()
	hub := withBuiltin(&parley.Hub{API: true, Directory: new(parley.Directory)})
	s := serve(t, hub)
	s.send("/v1/a2a/message:send", "", "hello", "")
	hub.Handle(&a2a.AgentCard{Name: "latecomer", Description: "Came during lunch.", Version: "1"}, shout{})
	if _, found := s.call(http.MethodGet, "/api/v1/search?q=lunch", "", ""); !strings.Contains(found, `"id":"latecomer"`) {
		t.Errorf("search = %s, want the new agent", found)
	}
}

// TestAPIServesTheMemory checks that the API serves the notes of a hub with a Memory.
func TestAPIServesTheMemory(t *testing.T) {
	t.Parallel()
	for _, m := range []*parley.Memory{nil, {Notes: new(memory.Notes)}} {
		s := serve(t, withBuiltin(&parley.Hub{API: true, Memory: m}))
		for _, path := range []string{"/api/v1/memory", "/api/v1/memory/conversation?session=a2a-inbound/c1"} {
			if code, body := s.call(http.MethodGet, path, "", ""); (code == http.StatusOK) != (m != nil) {
				t.Errorf("%s = %d %s, with a memory: %t", path, code, body, m != nil)
			}
		}
	}
}

// TestMetricsReaders checks which callers read the page of a library hub.
func TestMetricsReaders(t *testing.T) {
	t.Parallel()
	page := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("parley_agents 2")) })
	for name, tt := range map[string]struct {
		hub  *parley.Hub
		want int
	}{
		"none":   {&parley.Hub{}, http.StatusNotFound},
		"local":  {&parley.Hub{Metrics: parley.Metrics{Handler: page}}, http.StatusOK},
		"admins": {&parley.Hub{Metrics: parley.Metrics{Handler: page, Readers: parley.MetricsAdmins}}, http.StatusForbidden},
		"anyone": {&parley.Hub{Metrics: parley.Metrics{Handler: page, Readers: parley.MetricsAnyone}, Auth: who}, http.StatusOK},
	} {
		s := serve(t, withBuiltin(tt.hub))
		if code, body := s.call(http.MethodGet, "/metrics", "", ""); code != tt.want || (code == http.StatusOK) != strings.Contains(body, "parley_agents") {
			t.Errorf("%s: /metrics = %d %s, want %d", name, code, body, tt.want)
		}
	}
}

// TestStopBeforeStart checks that a hub that is stopped before it has read its directory ends
// without an error.
func TestStopBeforeStart(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	stop()
	hub := &parley.Hub{Directory: new(parley.Directory), Memory: new(parley.Memory)}
	if err := hub.Run(ctx); err != nil {
		t.Errorf("Run of a stopped hub = %v", err)
	}
}
