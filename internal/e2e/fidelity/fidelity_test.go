package fidelity

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/front/httpfront"
	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/store/sqlitestore"
	"github.com/parley-a2a/parley/task"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// extension is declared by the agent, and its contents are free.
const extension = "https://example.com/ext/geo/v1"

// content is the members of a message that the hub must return unchanged.
const content = `"messageId":"m1","role":"ROLE_USER",` +
	`"parts":[{"text":"here","metadata":{"n":9007199254740993},"xPart":{"a":[1.10,-0,1e400]}},` +
	`{"data":{"id":18446744073709551615,"small":0.1000000000000000055511151231257827,"nested":{"deep":[9223372036854775807]}}}],` +
	`"metadata":{"` + extension + `":{"lat":-33.865143000000000000001,"seq":-9223372036854775808},"traceId":12345678901234567890},` +
	`"extensions":["` + extension + `","urn:unknown"],` +
	`"xUnknown":{"big":123456789012345678901234567890,"list":[null,true,{"":""}]}`

// listener completes each task, and sends the message that it received to heard.
type listener struct{ heard chan []byte }

func (x listener) Execute(ctx context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		x.heard <- agent.CallFrom(ctx).Message
		yield(a2a.NewStatusUpdateEvent(ec, a2a.TaskStateCompleted, nil), nil)
	}
}

func (x listener) Cancel(_ context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		yield(a2a.NewStatusUpdateEvent(ec, a2a.TaskStateCanceled, nil), nil)
	}
}

// hub is a hub that can be restarted on its stored tasks.
type hub struct {
	t     *testing.T
	open  func() task.Store
	agent func(heard chan []byte) a2asrv.AgentExecutor
	url   string
	heard chan []byte
	stop  func()
}

func startHub(t *testing.T, open func() task.Store) *hub {
	t.Helper()
	return startWith(t, open, func(heard chan []byte) a2asrv.AgentExecutor { return listener{heard} })
}

// startWith is startHub with another agent.
func startWith(t *testing.T, open func() task.Store, agent func(chan []byte) a2asrv.AgentExecutor) *hub {
	t.Helper()
	h := &hub{t: t, open: open, agent: agent, heard: make(chan []byte, 10)}
	h.start()
	t.Cleanup(func() { h.stop() })
	return h
}

func (h *hub) start() {
	h.t.Helper()
	e := engine.New(engine.Config{Store: h.open(), DrainTimeout: -1})
	card := &a2a.AgentCard{Name: "listener"}
	card.Capabilities.Extensions = []a2a.AgentExtension{{URI: extension, Required: true}}
	x := agent.With(h.agent(h.heard), agent.Traits{NoMessage: true})
	if err := e.Register(engine.Agent{Name: "listener", Card: card, Executor: x}); err != nil {
		h.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := e.Run(ctx); err != nil && !errors.Is(err, context.Canceled) {
			h.t.Errorf("engine: %v", err)
		}
	})
	s := httptest.NewServer(httpfront.New(httpfront.Config{Engine: e}))
	h.url = s.URL
	h.stop = func() {
		cancel()
		s.Close()
		wg.Wait()
	}
}

// stores returns functions that open each kind of store; repeated calls open the same tasks.
func stores(t *testing.T) map[string]func() task.Store {
	memory := new(memstore.Store)
	path := t.TempDir() + "/tasks.db"
	var db *sqlitestore.DB
	t.Cleanup(func() {
		if db != nil {
			db.Close()
		}
	})
	return map[string]func() task.Store{
		"memory": func() task.Store { return memory },
		"sqlite": func() task.Store {
			var err error
			if db != nil {
				if err = db.Close(); err != nil {
					t.Fatal(err)
				}
			}
			if db, err = sqlitestore.Open(path, sqlitestore.Options{}); err != nil {
				t.Fatal(err)
			}
			return db.Tasks()
		},
	}
}

// call returns the answer to a request.
func (h *hub) call(method, path, body string) string {
	h.t.Helper()
	r, err := http.NewRequestWithContext(h.t.Context(), method, h.url+path, strings.NewReader(body))
	if err != nil {
		h.t.Fatal(err)
	}
	r.Header.Set("A2A-Version", "1.0")
	r.Header.Set("A2A-Extensions", extension)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		h.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		h.t.Fatalf("%s %s = %d %s, %v", method, path, resp.StatusCode, b, err)
	}
	return string(b)
}

// exact decodes JSON with numbers that are compared by their digits.
func exact(t *testing.T, s string) map[string]any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(s))
	d.UseNumber()
	var v map[string]any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v in %s", err, s)
	}
	return v
}

// find returns the message m1 anywhere in v, without the ids that the hub adds.
func find(v any) map[string]any {
	switch v := v.(type) {
	case map[string]any:
		if v["messageId"] == "m1" {
			delete(v, "taskId")
			delete(v, "contextId")
			return v
		}
		for _, e := range v {
			if m := find(e); m != nil {
				return m
			}
		}
	case []any:
		for _, e := range v {
			if m := find(e); m != nil {
				return m
			}
		}
	}
	return nil
}

// check compares the message in got with the sent one.
func (h *hub) check(what, got string) {
	h.t.Helper()
	if diff := cmp.Diff(exact(h.t, "{"+content+"}"), find(exact(h.t, got))); diff != "" {
		h.t.Errorf("%s: message mismatch (-want +got):\n%s", what, diff)
	}
}

// firstData returns the data of the first event of a stream.
func firstData(t *testing.T, stream string) string {
	t.Helper()
	for line := range strings.Lines(stream) {
		if data, ok := strings.CutPrefix(line, "data:"); ok {
			return data
		}
	}
	t.Fatalf("no event in %q", stream)
	return ""
}

func idOf(t *testing.T, s string) string {
	t.Helper()
	_, s, _ = strings.Cut(s, `"task":{"id":"`)
	id, _, ok := strings.Cut(s, `"`)
	if !ok {
		t.Fatalf("no task in %s", s)
	}
	return id
}

func TestWhatIsNotOursPassesUnchanged(t *testing.T) {
	t.Parallel()
	request := `{"message":{` + content + `}}`
	rpc := func(method, params string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":` + params + `}`
	}
	sends := map[string][2]string{
		"rest send":   {"/v1/a2a/message:send", request},
		"rest stream": {"/v1/a2a/message:stream", request},
		"rpc send":    {"/a2a", rpc("SendMessage", request)},
		"rpc stream":  {"/a2a", rpc("SendStreamingMessage", request)},
	}
	for store, open := range stores(t) {
		t.Run(store, func(t *testing.T) {
			h := startHub(t, open)
			var ids []string
			for name, send := range sends {
				got := h.call("POST", send[0], send[1])
				if strings.HasSuffix(name, "stream") {
					got = firstData(t, got)
				}
				h.check(name, got)
				h.check("message for the agent of "+name, string(<-h.heard))
				ids = append(ids, idOf(t, got))
			}
			for range 2 {
				for _, id := range ids {
					h.check("rest get", h.call("GET", "/v1/a2a/tasks/"+id, ""))
					h.check("rpc get", h.call("POST", "/a2a", rpc("GetTask", `{"id":"`+id+`"}`)))
				}
				h.check("rest list", h.call("GET", "/v1/a2a/tasks?historyLength=1", ""))
				h.check("rpc list", h.call("POST", "/a2a", rpc("ListTasks", `{"historyLength":1}`)))
				h.stop()
				h.start()
			}
		})
	}
}
