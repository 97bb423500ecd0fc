package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/adminjson"
	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/config"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/front/adminapi"
	"github.com/parley-a2a/parley/internal/limits"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/testing/storetest"
	"github.com/parley-a2a/parley/worker"
)

var (
	queued  = config.Agent{Name: "queued", Queue: "queued"}
	sleeper = config.Agent{Name: "sleeper", Command: config.Command{"sleep", "600"}, Serial: true}
)

// stuckHub starts a hub that does not wait for its runs when it stops.
func stuckHub(t *testing.T, b *bus.Memory, change func(*config.Config)) *busHub {
	t.Helper()
	return serveOn(t, b, t.TempDir(), func(c *config.Config) {
		c.Agents = []config.Agent{queued, sleeper}
		c.Engine.DrainTimeout = -1
		if change != nil {
			change(c)
		}
	})
}

// sendIn sends a message in a context and returns the id of the task.
func (h *busHub) sendIn(agent, contextID string, lines ...string) string {
	h.t.Helper()
	body := fmt.Sprintf(`{"message":{"messageId":%q,"role":"ROLE_USER","contextId":%q,"parts":[{"text":"hi"}]},"configuration":{"returnImmediately":true}}`, uuid.NewString(), contextID)
	code, answer := h.call("POST /v1/a2a/"+agent+"/message:send", body, append(lines, "A2A-Version: 1.0")...)
	var v struct{ Task struct{ ID string } }
	if err := json.Unmarshal([]byte(answer), &v); err != nil || code != 200 || v.Task.ID == "" {
		h.t.Fatalf("send to %s = %d %s", agent, code, answer)
	}
	return v.Task.ID
}

// reason returns a function that asks why a task does not proceed.
func (h *busHub) reason(id string, lines ...string) func() *adminjson.Waiting {
	return func() *adminjson.Waiting {
		h.t.Helper()
		code, answer := h.call("GET /api/v1/tasks/"+id, "", lines...)
		var info adminjson.TaskInfo
		if err := json.Unmarshal([]byte(answer), &info); err != nil || code != 200 {
			h.t.Fatalf("task %s = %d %s", id, code, answer)
		}
		return info.Waiting
	}
}

// awaitReason asks until the reason has the code, and returns it. Not all that changes a reason is an event.
func awaitReason(t *testing.T, ask func() *adminjson.Waiting, code string) *adminjson.Waiting {
	t.Helper()
	var last *adminjson.Waiting
	again, end := time.NewTicker(20*time.Millisecond), time.After(2*time.Minute)
	defer again.Stop()
	for {
		if last = ask(); last != nil && last.Code == code {
			return last
		}
		select {
		case <-again.C:
		case <-end:
			t.Fatalf("the reason is %+v, want %s", last, code)
		}
	}
}

// reports is an agent that reports a state; one that is working hangs until its run ends.
func reports(s a2a.TaskState) a2asrv.AgentExecutor {
	return agent.Func(func(ctx context.Context, x *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		if yield(a2a.NewStatusUpdateEvent(x, s, nil), nil) && s == a2a.TaskStateWorking {
			<-ctx.Done()
		}
	})
}

// withWorker returns why a task at a queue does not proceed whose worker reports a state.
func withWorker(s a2a.TaskState) func(*testing.T) func() *adminjson.Waiting {
	return func(t *testing.T) func() *adminjson.Waiting {
		b := new(bus.Memory)
		h := stuckHub(t, b, nil)
		work(t, &worker.Worker{Bus: b.Peer(), Name: "queued", Card: &a2a.AgentCard{Name: "queued"}, Executor: reports(s), DrainTimeout: -1})
		return h.reason(h.send("queued", "hi"))
	}
}

// TestPermission: a task that waits for a sign-in elsewhere shows the request of its agent, and not the inbox, which has no
// item for it.
func TestPermission(t *testing.T) {
	t.Parallel()
	b := new(bus.Memory)
	h := stuckHub(t, b, nil)
	asks := agent.Func(func(_ context.Context, x *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		m := a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart("Sign in at https://far.example"))
		yield(a2a.NewStatusUpdateEvent(x, a2a.TaskStateAuthRequired, m), nil)
	})
	work(t, &worker.Worker{Bus: b.Peer(), Name: "queued", Card: &a2a.AgentCard{Name: "queued"}, Executor: asks, DrainTimeout: -1})
	id := h.send("queued", "hi")
	got := awaitReason(t, h.reason(id), adminjson.WaitsForPermission)
	want := &adminjson.Waiting{
		Code:    adminjson.WaitsForPermission,
		Text:    `its caller must sign in or give a permission as agent "queued" asks, not at this hub; the agent then continues: Sign in at https://far.example`,
		Command: "parley tasks watch " + id + " --agent queued",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the reason (-want +got):\n%s", diff)
	}
}

// ways are ways to each reason: on a hub, or on its engine where a test cannot produce the reason from outside.
var ways = map[string]func(*testing.T) func() *adminjson.Waiting{
	adminjson.WaitsForAnswer:     withWorker(a2a.TaskStateInputRequired),
	adminjson.WaitsForPermission: withWorker(a2a.TaskStateAuthRequired),
	adminjson.Runs:               withWorker(a2a.TaskStateWorking),
	adminjson.WaitsInQueue: func(t *testing.T) func() *adminjson.Waiting {
		b := new(bus.Memory)
		h := stuckHub(t, b, nil)
		work(t, &worker.Worker{
			Bus: b.Peer(), Name: "queued", Card: &a2a.AgentCard{Name: "queued"}, Concurrency: 1, Executor: reports(a2a.TaskStateWorking), DrainTimeout: -1,
		})
		awaitReason(t, h.reason(h.send("queued", "first")), adminjson.Runs) // the worker is busy
		return h.reason(h.send("queued", "second"))
	},
	adminjson.WaitsForWorker: func(t *testing.T) func() *adminjson.Waiting {
		h := stuckHub(t, new(bus.Memory), nil)
		return h.reason(h.send("queued", "hi"))
	},
	adminjson.WaitsForBroker: func(t *testing.T) func() *adminjson.Waiting {
		b := new(bus.Memory)
		h := stuckHub(t, b, func(c *config.Config) {
			c.OpenBus = func(context.Context) (bus.Bus, error) {
				return statusBus{b.Peer(), &bus.Connection{Reason: "RabbitMQ is not reachable"}}, nil
			}
		})
		return h.reason(h.send("queued", "hi"))
	},
	adminjson.WaitsForResume: func(t *testing.T) func() *adminjson.Waiting {
		h := stuckHub(t, new(bus.Memory), nil)
		if code, answer := h.call("POST /api/v1/agents/queued/pause", "{}"); code != 200 {
			t.Fatalf("pause = %d %s", code, answer)
		}
		return h.reason(h.send("queued", "hi"))
	},
	adminjson.WaitsForContext: func(t *testing.T) func() *adminjson.Waiting {
		h := stuckHub(t, new(bus.Memory), nil)
		h.sendIn("sleeper", "c")
		return h.reason(h.sendIn("sleeper", "c"))
	},
	adminjson.WaitsForRun: func(t *testing.T) func() *adminjson.Waiting {
		h := stuckHub(t, new(bus.Memory), func(c *config.Config) { c.Engine.MaxRuns = 1 })
		h.sendIn("sleeper", "c")
		return h.reason(h.sendIn("sleeper", "d"))
	},
	adminjson.WaitsForRemote: func(t *testing.T) func() *adminjson.Waiting {
		h := stuckHub(t, new(bus.Memory), func(c *config.Config) {
			c.Directory.Allow = []string{"loopback"}
			list := []byte(`[{"agentName":"FarAgent","url":"http://127.0.0.1:9"}]`)
			if err := os.WriteFile(filepath.Join(c.Data, "well-known-agents.json"), list, 0o600); err != nil {
				t.Fatal(err)
			}
		})
		return h.reason(h.send("faragent", "hi"))
	},
	adminjson.WaitsForAgent: func(t *testing.T) func() *adminjson.Waiting {
		e := newLoneEngine(t)
		e.start()
		id := e.send("1")
		<-e.began
		if err := e.Unregister("hangs"); err != nil {
			t.Fatal(err)
		}
		return e.reason(id)
	},
	adminjson.WaitsForChild: func(t *testing.T) func() *adminjson.Waiting {
		e := newLoneEngine(t)
		asks := agent.Func(func(ctx context.Context, x *a2asrv.ExecutorContext, _ func(a2a.Event, error) bool) {
			_, _ = agent.CallFrom(ctx).Delegate(ctx, &agent.Delegation{Agent: "hangs", Message: x.Message})
		})
		if err := e.Register(engine.Agent{Name: "asks", Card: &a2a.AgentCard{Name: "asks"}, Executor: asks}); err != nil {
			t.Fatal(err)
		}
		e.start()
		e.Pause("hangs")
		m := e.message("1")
		m.Target.Agent = "asks"
		if _, err := e.Send(t.Context(), e.caller, m); err != nil {
			t.Fatal(err)
		}
		return e.reason(m.Message.TaskID)
	},
	adminjson.WaitsForStore: func(t *testing.T) func() *adminjson.Waiting {
		e := newLoneEngine(t)
		e.start()
		id := e.send("1")
		<-e.began
		e.store.Full.Store(true)
		t.Cleanup(func() { e.store.Full.Store(false) })
		if _, err := e.Send(t.Context(), e.caller, e.message("2")); err == nil {
			t.Error("a message is accepted while the store is full")
		}
		return e.reason(id)
	},
	adminjson.WaitsForRecovery: func(t *testing.T) func() *adminjson.Waiting {
		e := newLoneEngine(t) // it recovers tasks once it is started
		return e.reason(e.send("1"))
	},
}

// loneEngine is an engine with a serial agent that hangs, and its store.
type loneEngine struct {
	*engine.Engine
	t      *testing.T
	store  *storetest.Store
	caller *op.Caller
	// began receives a value when a run begins.
	began chan struct{}
	start func()
}

func newLoneEngine(t *testing.T) *loneEngine {
	t.Helper()
	e := &loneEngine{t: t, store: new(storetest.Store), caller: &op.Caller{Principal: &auth.Principal{ID: "ann"}}, began: make(chan struct{}, 1)}
	e.Engine = engine.New(engine.Config{Store: e.store, Limits: limits.Limits{DrainTimeout: -1}})
	hangs := agent.Func(func(ctx context.Context, _ *a2asrv.ExecutorContext, _ func(a2a.Event, error) bool) {
		e.began <- struct{}{}
		<-ctx.Done()
	})
	if err := e.Register(engine.Agent{
		Name: "hangs", Card: &a2a.AgentCard{Name: "hangs"}, Executor: agent.With(hangs, agent.Traits{Serial: true}),
	}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	e.start = sync.OnceFunc(func() { go func() { done <- e.Run(ctx) }() })
	t.Cleanup(func() {
		cancel()
		e.start()
		<-done // a run is aborted
	})
	return e
}

func (e *loneEngine) message(id string) *op.Send {
	return &op.Send{
		Target: op.Target{Agent: "hangs"}, ReturnImmediately: true, NewIDs: true,
		Message: op.Message{
			ID: id, TaskID: a2a.TaskID("t" + id), MediaTypes: []string{""}, Body: []byte(`{"messageId":"` + id + `","role":"ROLE_USER","parts":[{"text":"hi"}]}`),
		},
	}
}

func (e *loneEngine) send(id string) a2a.TaskID {
	e.t.Helper()
	m := e.message(id)
	if _, err := e.Send(e.t.Context(), e.caller, m); err != nil {
		e.t.Fatal(err)
	}
	return m.Message.TaskID
}

func (e *loneEngine) reason(id a2a.TaskID) func() *adminjson.Waiting {
	api := &adminapi.Handler{Hub: e.Engine, Logs: e.Engine, Reader: e.Engine}
	return func() *adminjson.Waiting {
		e.t.Helper()
		r := httptest.NewRequestWithContext(auth.WithPrincipal(e.t.Context(), e.caller.Principal), "GET", "/api/v1/tasks/"+string(id), nil)
		w := httptest.NewRecorder()
		api.ServeHTTP(w, r)
		var info adminjson.TaskInfo
		if err := json.Unmarshal(w.Body.Bytes(), &info); err != nil || w.Code != 200 {
			e.t.Fatalf("task %s = %d %s", id, w.Code, w.Body)
		}
		return info.Waiting
	}
}

// TestWaitingCodes produces each reason for which a task waits.
func TestWaitingCodes(t *testing.T) {
	t.Parallel()
	for code := range ways {
		if !slices.Contains(adminjson.WaitingCodes, code) {
			t.Errorf("%s is not in the list of codes", code)
		}
	}
	for _, code := range adminjson.WaitingCodes {
		t.Run(code, func(t *testing.T) {
			way := ways[code]
			if way == nil {
				t.Fatal("no test produces this reason")
			}
			if w := awaitReason(t, way(t), code); w.Text == "" {
				t.Errorf("the reason has no text: %+v", w)
			}
		})
	}
}

// TestLastWorker: administrators learn when the last worker of an agent was there.
func TestLastWorker(t *testing.T) {
	t.Parallel()
	b := new(bus.Memory)
	h := stuckHub(t, b, func(c *config.Config) { c.AllowAnonymous = true }) // for the caller behind a proxy
	stop := work(t, &worker.Worker{Bus: b.Peer(), Name: "queued", Card: &a2a.AgentCard{Name: "queued"}, Executor: reports(a2a.TaskStateWorking), DrainTimeout: -1})
	awaitReason(t, h.reason(h.send("queued", "first")), adminjson.Runs)
	stop()
	ask := h.reason(h.send("queued", "second"))
	want := regexp.MustCompile(`^no worker is connected for agent "queued" \(the last one was seen [0-9hms]+ ago\)$`)
	if w := awaitReason(t, ask, adminjson.WaitsForWorker); !want.MatchString(w.Text) {
		t.Errorf("the reason is %q, want %v", w.Text, want)
	}
	far := "X-Forwarded-For: 192.0.2.1"
	if w := awaitReason(t, h.reason(h.sendIn("queued", "c", far), far), adminjson.WaitsForWorker); w.Text != `no worker is connected for agent "queued"` || w.Command != "" {
		t.Errorf("another caller gets %+v", w)
	}
}

// TestReasonsOfOthers: a caller gets reasons for its own tasks alone, and they name neither other callers
// nor their tasks, however these share its agents and names of contexts.
func TestReasonsOfOthers(t *testing.T) {
	t.Parallel()
	h := stuckHub(t, new(bus.Memory), func(c *config.Config) { c.Engine.MaxRuns = 2 })
	key := func(id, roles string, lines ...string) string {
		code, answer := h.call("POST /api/v1/keys", `{"agentId":"`+id+`","roles":[`+roles+`]}`, lines...)
		var made struct{ Key string }
		if err := json.Unmarshal([]byte(answer), &made); err != nil || code != 200 || made.Key == "" {
			t.Fatalf("key of %s = %d %s", id, code, answer)
		}
		return "X-Api-Key: " + made.Key
	}
	boss := key("theboss", `"admin"`)
	ann, bob := key("annie", "", boss), key("bobby", "", boss)
	first, second := h.sendIn("sleeper", "shared", ann), h.sendIn("sleeper", "shared", ann)
	awaitReason(t, h.reason(second, ann), adminjson.WaitsForContext)
	running := h.sendIn("sleeper", "shared", bob)
	awaitReason(t, h.reason(running, bob), adminjson.Runs) // not behind ann's
	behind, limited := h.sendIn("sleeper", "shared", bob), h.sendIn("sleeper", "mine", bob)
	if code, answer := h.call("POST /api/v1/agents/queued/pause", "{}", boss); code != 200 {
		t.Fatalf("pause = %d %s", code, answer)
	}
	paused := h.sendIn("queued", "", bob)
	want := map[a2a.TaskID]string{
		a2a.TaskID(running): adminjson.Runs, a2a.TaskID(behind): adminjson.WaitsForContext, a2a.TaskID(limited): adminjson.WaitsForRun,
		a2a.TaskID(paused): adminjson.WaitsForResume,
	}
	list := func(query, line string) (map[a2a.TaskID]string, string) {
		code, answer := h.call("GET /api/v1/tasks"+query, "", line)
		var l adminjson.TaskList
		if err := json.Unmarshal([]byte(answer), &l); err != nil || code != 200 {
			t.Fatalf("tasks%s = %d %s", query, code, answer)
		}
		got := make(map[a2a.TaskID]string)
		for _, info := range l.Tasks {
			if info.Waiting != nil {
				got[info.TaskID] = info.Waiting.Code
			}
		}
		return got, answer
	}
	got, answer := list("", bob)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the reasons of bob's tasks (-want +got):\n%s", diff)
	}
	for id := range want {
		_, one := h.call("GET /api/v1/tasks/"+string(id), "", bob)
		answer += one
	}
	for _, secret := range []string{first, second, "annie", "theboss", "parley "} {
		if strings.Contains(answer, secret) {
			t.Errorf("bob's reasons contain %q: %s", secret, answer)
		}
	}
	if code, answer := h.call("GET /api/v1/tasks/"+second, "", bob); code != 404 || strings.Contains(answer, "waiting") {
		t.Errorf("bob asks why ann's task waits: %d %s", code, answer)
	}
	want[a2a.TaskID(first)], want[a2a.TaskID(second)] = adminjson.Runs, adminjson.WaitsForContext
	got, answer = list("?scope=all", boss)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the reasons of all tasks (-want +got):\n%s", diff)
	}
	if by := regexp.MustCompile(`agent \\"queued\\" is paused for [0-9hms]+, by \\"theboss\\"`); !by.MatchString(answer) {
		t.Errorf("the administrator gets %s, want %v", answer, by)
	}
}

// TestReasonsAreDocumented: the help and the docs name all reasons, and no others.
func TestReasonsAreDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/troubleshooting.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "\n| Code |")
	table, _, _ = strings.Cut(table, "\n\n")
	var docs []string
	for _, row := range regexp.MustCompile("(?m)^\\| (`.*?`) \\|").FindAllStringSubmatch(table, -1) {
		docs = append(docs, strings.Split(strings.ReplaceAll(row[1], "`", ""), ", ")...)
	}
	_, help, _ := strings.Cut(helpText, "\n# why\n")
	_, help, _ = strings.Cut(strings.ReplaceAll(help, "\n", " "), `its "code" is one of `)
	help, _, _ = strings.Cut(help, ".")
	for name, got := range map[string][]string{
		"docs/troubleshooting.md": docs,
		"the help of why":         strings.Split(strings.ReplaceAll(help, " and ", ", "), ", "),
	} {
		slices.Sort(got)
		if diff := cmp.Diff(slices.Sorted(slices.Values(adminjson.WaitingCodes)), got); diff != "" {
			t.Errorf("the reasons of %s (-want +got):\n%s", name, diff)
		}
	}
}

// TestSendExplainsItsSilence: on a terminal "send" says why there is no answer, and keeps waiting.
func TestSendExplainsItsSilence(t *testing.T) {
	t.Parallel()
	var none *explainer
	none.happened("t") // an output that is no terminal has none
	b := new(bus.Memory)
	h := stuckHub(t, b, nil)
	r, w := io.Pipe()
	said, out, code := make(chan string, 10), new(bytes.Buffer), make(chan int, 1)
	go func() {
		defer w.Close()
		code <- Main(t.Context(), []string{"send", "--url", h.URL(), "--agent", "queued", "you"}, OS{
			Terminal: true, Stdin: strings.NewReader(""), Stdout: out, Stderr: w,
		})
	}()
	go func() {
		defer close(said)
		for lines := bufio.NewScanner(r); lines.Scan(); {
			said <- lines.Text()
		}
	}()
	if got, want := <-said, `waiting: no worker is connected for agent "queued"`; got != want {
		t.Errorf("send says %q, want %q", got, want)
	}
	if got, want := <-said, "→ parley agent run --name queued --exec PROGRAM"; got != want {
		t.Errorf("send says %q, want %q", got, want)
	}
	work(t, &worker.Worker{Bus: b.Peer(), Name: "queued", Executor: greeter()})
	if got := <-code; got != 0 || out.String() != "hello you\n" {
		t.Errorf("send = %d %q", got, out)
	}
	for range said { // until standard error is closed
	}
}
