package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/client"
	"github.com/parley-a2a/parley/internal/outbound/card"
)

// TestForAPerson checks the additional output on a terminal.
func TestForAPerson(t *testing.T) {
	t.Parallel()
	sdk := startSDK(t.Cleanup)
	o := OS{Terminal: true}
	code, out, _ := invoke(t, o, "card", sdk.url, "--json")
	if code != 0 || !strings.HasPrefix(out, "{\n  \"") {
		t.Errorf("card --json = %d, %q, want indented JSON", code, out)
	}
	code, out, errs := invoke(t, o, "send", "--url", sdk.url, "--detach", "hello")
	if id := strings.TrimSpace(out); code != 0 || !strings.Contains(errs, "parley tasks watch --url "+sdk.url+" "+id) {
		t.Errorf("send --detach = %d, %q, %q, want the id and how to follow it", code, out, errs)
	}
	o.Typed, o.Stdin = true, strings.NewReader("hello\n")
	code, out, errs = invoke(t, o, "chat", "--url", sdk.url)
	if code != 0 || out != "hello\n" || errs != "Chatting with echo. Type /quit to end.\n> > " {
		t.Errorf("chat = %d, %q, %q", code, out, errs)
	}
}

// listing is a server with two pages of tasks, which is no hub.
func listing(t *testing.T) string {
	mux := http.NewServeMux()
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	mux.HandleFunc("/.well-known/agent-card.json", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"name":"x","supportedInterfaces":[{"url":%q,"protocolBinding":"HTTP+JSON","protocolVersion":"1.0"}]}`, srv.URL)
	})
	mux.HandleFunc("/tasks", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		if q.Get("contextId") == "empty" {
			fmt.Fprint(w, `{"tasks":[]}`)
			return
		}
		const task = `{"id":"t%s\u001b","contextId":"c","status":{"state":"TASK_STATE_WORKING","timestamp":"2026-01-02T03:04:05.678Z"}}`
		next := ""
		if q.Get("pageToken") == "" {
			next = "2"
		}
		fmt.Fprintf(w, `{"tasks":[`+task+`],"nextPageToken":%q}`, q.Get("pageToken"), next)
	})
	mux.HandleFunc("/tasks/t", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, taskWorking) })
	mux.HandleFunc("/api/", func(w http.ResponseWriter, r *http.Request) {
		t.Errorf("a server that is no hub is asked for %s", r.URL)
		http.NotFound(w, r)
	})
	return srv.URL
}

func TestList(t *testing.T) {
	t.Parallel()
	url := listing(t)
	const at = "2026-01-02T03:04:05.678Z"
	for _, tt := range []struct {
		terminal bool
		args     []string
		want     string
	}{
		{false, nil, "t\tworking\t" + at + "\t-\t-\t-\t-\nt2\tworking\t" + at + "\t-\t-\t-\t-\n"},
		{false, []string{"--limit", "1"}, "t\tworking\t" + at + "\t-\t-\t-\t-\n"},
		{false, []string{"--context", "empty"}, ""},
		{true, []string{"--context", "empty"}, "No tasks.\n"},
		{
			true, nil,
			"TASK  STATE    CHANGED                   AGENT  WAITING  MESSAGE  ANSWER\nt     working  " + at + "  -      -        -        -\nt2    working  " + at + "  -      -        -        -\n",
		},
	} {
		code, out, errs := invoke(t, OS{Terminal: tt.terminal}, append([]string{"tasks", "list", "--url", url}, tt.args...)...)
		if diff := cmp.Diff(tt.want, out); code != 0 || diff != "" {
			t.Errorf("tasks list %v, terminal %v = %d, %s (-want +got):\n%s", tt.args, tt.terminal, code, errs, diff)
		}
	}
	if code, _, errs := invoke(t, OS{}, "tasks", "get", "--url", url, "t"); code != 0 {
		t.Errorf("tasks get = %d, %s", code, errs)
	}
	_, out, _ := invoke(t, OS{}, "tasks", "list", "--url", url, "--json")
	for line := range strings.Lines(out) {
		var task a2a.Task
		if err := json.Unmarshal([]byte(line), &task); err != nil || task.ContextID != "c" {
			t.Errorf("tasks list --json: %q is no task: %v", line, err)
		}
	}
}

// TestReasonsOfHubs: a hub is asked why tasks wait, and a reason of an earlier state is not shown.
func TestReasonsOfHubs(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	for path, body := range map[string]string{
		"/.well-known/agent-card.json": `{"name":"x","capabilities":{"extensions":[{"uri":"` + card.ClientTaskIDs + `"}]},
			"supportedInterfaces":[{"url":"` + srv.URL + `","protocolBinding":"HTTP+JSON","protocolVersion":"1.0"}]}`,
		"/tasks":   `{"tasks":[{"id":"new","contextId":"c","status":{"state":"TASK_STATE_WORKING"}},{"id":"old","contextId":"c","status":{"state":"TASK_STATE_SUBMITTED"}}]}`,
		"/tasks/t": taskWorking,
		"/api/v1/tasks": `{"tasks":[{"taskId":"new","state":"TASK_STATE_SUBMITTED","waiting":{"code":"no-worker"}},
			{"taskId":"old","state":"TASK_STATE_SUBMITTED","waiting":{"code":"no-worker"}}]}`,
		"/api/v1/tasks/t": `{"taskId":"t","state":"TASK_STATE_SUBMITTED","waiting":{"code":"no-worker","text":"no worker"}}`,
	} {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, body) })
	}
	code, out, errs := invoke(t, OS{}, "tasks", "list", "--url", srv.URL)
	if diff := cmp.Diff("new\tworking\t-\t-\t-\t-\t-\nold\tsubmitted\t-\t-\tno-worker\t-\t-\n", out); code != 0 || diff != "" {
		t.Errorf("tasks list = %d, %s (-want +got):\n%s", code, errs, diff)
	}
	if code, out, errs := invoke(t, OS{}, "tasks", "get", "--url", srv.URL, "t"); code != 0 || strings.Contains(out, "waiting") {
		t.Errorf("tasks get = %d, %q, %s", code, out, errs)
	}
}

func TestEnvironment(t *testing.T) {
	t.Parallel()
	url := listing(t)
	env := func(name string) (string, bool) {
		v, ok := map[string]string{"PARLEY_URL": url, "PARLEY_API_KEY": ""}[name]
		return v, ok
	}
	if code, out, errs := invoke(t, OS{LookupEnv: env}, "tasks", "list"); code != 0 || out == "" {
		t.Errorf("with PARLEY_URL: exit %d, %q, %q", code, out, errs)
	}
	if code, _, _ := invoke(t, OS{LookupEnv: env}, "tasks", "list", "--url", "http://127.0.0.1:1"); code != exitUnreachable {
		t.Errorf("the flag does not win over PARLEY_URL: exit %d", code)
	}
}

func TestReport(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		err  error
		code int
		text string
	}{
		{nil, 0, ""},
		{errors.New("it\x1b broke"), 1, "parley x: it broke\n"},
		{fmt.Errorf("a: %w", client.ErrUnreachable), 4, "parley x: a: not reachable\n"},
		{&exit{code: 3}, 3, ""},
		{fmt.Errorf("a: %w", usagef("wrong %d", 1)), 2, "parley x: wrong 1\nTry \"parley x --help\".\n"},
	} {
		var b bytes.Buffer
		if code := report(&b, "parley x", tt.err); code != tt.code || b.String() != tt.text {
			t.Errorf("report(%v) = %d, %q, want %d, %q", tt.err, code, b.String(), tt.code, tt.text)
		}
	}
}

func TestAdvice(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(401) }))
	t.Cleanup(srv.Close)
	_, _, errs := invoke(t, OS{}, "card", srv.URL)
	if !strings.Contains(errs, "give a credential with --api-key or $PARLEY_API_KEY") {
		t.Errorf("without a key: %q", errs)
	}
	_, _, errs = invoke(t, OS{}, "card", srv.URL, "--api-key", "k")
	if strings.Contains(errs, "--api-key") || !strings.Contains(errs, "the server rejected the credential") {
		t.Errorf("with a key: %q", errs)
	}
	home := target{URL: defaultURL}
	if err := home.advise(client.ErrUnreachable); !strings.Contains(err.Error(), "parley serve") {
		t.Errorf("advise() = %v, want how to start a hub", err)
	}
}

func TestInterruptible(t *testing.T) {
	t.Parallel()
	signals := make(chan os.Signal)
	stopped := false
	o := OS{Signals: func() (<-chan os.Signal, func()) { return signals, func() { stopped = true } }}
	err := o.interruptible(t.Context(), func(in interrupts) error {
		signals <- os.Interrupt
		<-in.soft.Done()
		if in.hard.Err() != nil {
			t.Error("the first signal ends the hard context")
		}
		signals <- os.Interrupt
		<-in.hard.Done()
		return context.Cause(in.soft)
	})
	if !errors.Is(err, errInterrupted) || !stopped {
		t.Errorf("interruptible() = %v, stopped %v", err, stopped)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err = o.interruptible(ctx, func(in interrupts) error {
		if in.hard.Err() != nil {
			t.Error("the end of the caller's context ends the hard context")
		}
		return in.soft.Err()
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("interruptible() = %v, want canceled", err)
	}
}

// steps answers each call with the next body. It always serves the card.
func steps(t *testing.T, bodies ...string) (url string, calls func() []string) {
	var mu sync.Mutex
	var seen []string
	mux := http.NewServeMux()
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	mux.HandleFunc("/.well-known/agent-card.json", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"name":"x","capabilities":{"streaming":true},"supportedInterfaces":[{"url":%q,"protocolBinding":"HTTP+JSON","protocolVersion":"1.0"}]}`, srv.URL)
	})
	mux.Handle("/api/v1/", http.NotFoundHandler()) // it is no hub
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, r.Method+" "+r.URL.Path)
		if len(seen) > len(bodies) {
			w.WriteHeader(500)
			return
		}
		body := bodies[len(seen)-1]
		if strings.HasPrefix(body, "data:") {
			w.Header().Set("Content-Type", "text/event-stream")
		}
		if strings.Contains(body, `"error"`) {
			w.WriteHeader(400)
		}
		fmt.Fprint(w, body)
	})
	return srv.URL, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return seen
	}
}

const (
	taskWorking = `{"id":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"},"artifacts":[{"artifactId":"a","parts":[{"text":"one "}]}]}`
	taskDone    = `{"id":"t","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"},"artifacts":[{"artifactId":"a","parts":[{"text":"one "},{"text":"two"}]}]}`
	hasEnded    = `{"error":{"code":400,"message":"over","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"UNSUPPORTED_OPERATION"}]}}`
	stream      = "data: {\"task\":" + taskWorking + "}\n\n"
)

// TestBrokenStream checks that a broken stream is resumed, and that output is printed only
// once.
func TestBrokenStream(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		bodies []string
		calls  []string
	}{
		"subscribe": {
			[]string{stream, stream + "data: {\"task\":" + taskDone + "}\n\n"},
			[]string{"POST /message:stream", "POST /tasks/t:subscribe"},
		},
		"the task ended meanwhile": {
			[]string{stream, hasEnded, taskDone},
			[]string{"POST /message:stream", "POST /tasks/t:subscribe", "GET /tasks/t"},
		},
	} {
		url, calls := steps(t, tt.bodies...)
		code, out, errs := invoke(t, OS{}, "send", "--stream", "--url", url, "hi")
		if code != 0 || out != "one two\n" {
			t.Errorf("%s: exit %d, %q, %q", name, code, out, errs)
		}
		if diff := cmp.Diff(tt.calls, calls()); diff != "" {
			t.Errorf("%s: calls (-want +got):\n%s", name, diff)
		}
	}
	url, _ := steps(t, stream, stream)
	code, _, errs := invoke(t, OS{}, "send", "--url", url, "hi")
	if code != 1 || !strings.Contains(errs, "HTTP 500 Internal Server Error; the task continues as t") {
		t.Errorf("a stream that cannot be taken up: exit %d, %q", code, errs)
	}
}

// TestAnswerToAQuestion checks that output of the task before the message is not shown again,
// in whatever form the agent sends it.
func TestAnswerToAQuestion(t *testing.T) {
	t.Parallel()
	const (
		asked = `{"id":"t","contextId":"c","status":{"state":"TASK_STATE_INPUT_REQUIRED"},"artifacts":[{"artifactId":"a","parts":[{"text":"one "}]}]}`
		both  = `{"id":"t","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"},"artifacts":[{"artifactId":"a","parts":[{"text":"one "}]},{"artifactId":"b","parts":[{"text":"two"}]}]}`
		other = `{"id":"t","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"},"artifacts":[{"artifactId":"a","parts":[{"text":"two"}]}]}`
		more  = `{"artifactUpdate":{"taskId":"t","contextId":"c","artifact":{"artifactId":"b","parts":[{"text":"two"}]}}}`
		ends  = `{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"}}}`
	)
	frames := func(all ...string) string {
		var b strings.Builder
		for _, f := range all {
			b.WriteString("data: " + f + "\n\n")
		}
		return b.String()
	}
	task := func(s string) string { return `{"task":` + s + `}` }
	for name, tt := range map[string]struct{ known, stream, want string }{
		"in events":                                    {asked, frames(task(asked), more, ends), "two\n"},
		"in events after a late frame":                 {asked, frames(task(both)), "two\n"},
		"by a longer artifact":                         {asked, frames(task(taskDone)), "two\n"},
		"by another one of that name":                  {asked, frames(task(other)), "two\n"},
		"from an agent that keeps its tasks to itself": {hasEnded, frames(task(asked), more, ends), "one \ntwo\n"},
	} {
		for _, args := range [][]string{nil, {"--stream"}} {
			url, calls := steps(t, tt.known, tt.stream)
			code, out, errs := invoke(t, OS{}, append([]string{"send", "--url", url, "--task", "t", "hi"}, args...)...)
			if code != 0 || out != tt.want {
				t.Errorf("%s, %v: exit %d, %q, %q, want %q", name, args, code, out, errs, tt.want)
			}
			if diff := cmp.Diff([]string{"GET /tasks/t", "POST /message:stream"}, calls()); diff != "" {
				t.Errorf("%s: calls (-want +got):\n%s", name, diff)
			}
		}
	}
}

// TestWatchWithoutStreams checks that a task of an agent without streams is polled until its
// end.
func TestWatchWithoutStreams(t *testing.T) {
	t.Parallel()
	url, calls := steps(t, hasEnded, taskWorking, hasEnded, taskDone)
	code, out, errs := invoke(t, OS{}, "tasks", "watch", "--url", url, "t")
	if code != 0 || out != "one two\n" {
		t.Errorf("tasks watch = %d, %q, %q", code, out, errs)
	}
	if got := len(calls()); got != 4 {
		t.Errorf("%d calls, want 4", got)
	}
}

func TestNoSuchAgent(t *testing.T) {
	t.Parallel()
	const nobody = `no agent "nobody" at `
	many := strings.Repeat(`{"name":"a"},`, maxListed) + `{"name":"b"}`
	for body, want := range map[string]string{
		`{"agents":[{"name":"echo"},{"name":"x\u001b"}]}`:         "; available agents: echo, x\n",
		`{"agents":[` + many + `]}`:                               "; available agents: a" + strings.Repeat(", a", maxListed-1) + ", …\n",
		`{"agents":[]}`:                                           "\n",
		`{"agents":[{"name":"a"},{"name":"b","title":"nobody"}]}`: "; its name there is b\n",
		`{"agents":[{"name":"Nobody"},{"name":"c"}]}`:             "; its name there is Nobody\n",
		`<html>`: "\n",
		"":       "\n", // not found
	} {
		var key string
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/api/v1/agents" || body == "" {
				http.NotFound(w, r)
				return
			}
			key = r.Header.Get("Authorization")
			fmt.Fprint(w, body)
		}))
		t.Cleanup(srv.Close)
		at := strings.TrimPrefix(srv.URL, "http://")
		for _, args := range [][]string{{"send", "hi"}, {"card"}} {
			code, _, errs := invoke(t, OS{}, append(args, "--url", at, "--agent", "nobody", "--api-key", "k")...)
			if code != exitFailed || errs != "parley "+args[0]+": "+nobody+at+want {
				t.Errorf("%v, where the hub says %.40q: exit %d, %q, want %q", args, body, code, errs, want)
			}
		}
		if body != "" && key != "Bearer k" {
			t.Errorf("the list was asked for with %q, want the key", key)
		}
	}
}

func TestStandardInput(t *testing.T) {
	t.Parallel()
	sdk := startSDK(t.Cleanup)
	code, _, errs := invoke(t, OS{Stdin: strings.NewReader("\xff")}, "send", "--url", sdk.url, "-")
	if code != exitUsage || !strings.Contains(errs, "not UTF-8") {
		t.Errorf("binary input: exit %d, %q", code, errs)
	}
	bad := iotest.ErrReader(errors.New("no tape"))
	for _, args := range [][]string{{"send", "-"}, {"chat"}} {
		code, _, errs = invoke(t, OS{Stdin: bad}, append(args, "--url", sdk.url)...)
		if code != exitFailed || !strings.Contains(errs, "read standard input: no tape") {
			t.Errorf("%v with broken input: exit %d, %q", args, code, errs)
		}
	}
}

func TestProcess(t *testing.T) {
	t.Parallel()
	o := Process()
	if o.Stdin == nil || o.Stdout == nil || o.Stderr == nil || o.LookupEnv == nil || o.Signals == nil {
		t.Errorf("Process() = %+v, want all of it", o)
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	if isTerminal(null) {
		t.Error("the null device is no terminal")
	}
}

// TestInterruptedBeforeTheFirstEvent checks that a second interruption ends a command at once.
func TestInterruptedBeforeTheFirstEvent(t *testing.T) {
	t.Parallel()
	signals := make(chan os.Signal)
	mux := http.NewServeMux()
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	mux.HandleFunc("/.well-known/agent-card.json", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"name":"x","capabilities":{"streaming":true},"supportedInterfaces":[{"url":%q,"protocolBinding":"HTTP+JSON","protocolVersion":"1.0"}]}`, srv.URL)
	})
	mux.HandleFunc("/message:stream", func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body) // only then the server notices that the client has disconnected
		signals <- os.Interrupt
		signals <- os.Interrupt
		<-r.Context().Done()
	})
	o := OS{Signals: func() (<-chan os.Signal, func()) { return signals, func() {} }}
	code, _, errs := invoke(t, o, "send", "--url", srv.URL, "hi")
	if code != exitFailed || !strings.Contains(errs, "interrupted before the task had an id") {
		t.Errorf("send = %d, %q", code, errs)
	}
}

func TestGRPCFallback(t *testing.T) {
	t.Parallel()
	sdk := startSDK(t.Cleanup)
	serve := func(more string) string {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintf(w, `{"name":"x","supportedInterfaces":[{"url":"http://127.0.0.1:1","protocolBinding":"GRPC","protocolVersion":"1.0"}%s]}`, more)
		}))
		t.Cleanup(srv.Close)
		return srv.URL
	}
	both := serve(fmt.Sprintf(`,{"url":"%s/rpc","protocolBinding":"JSONRPC","protocolVersion":"1.0"}`, sdk.url))
	if code, out, errs := invoke(t, OS{}, "send", "--url", both, "hello"); code != 0 || out != "hello\n" {
		t.Errorf("with another binding: exit %d, %q, %q", code, out, errs)
	}
	code, _, errs := invoke(t, OS{}, "send", "--url", serve(""), "hello")
	if code != exitUnreachable || !strings.Contains(errs, "127.0.0.1:1 is not reachable") {
		t.Errorf("with gRPC alone: exit %d, %q", code, errs)
	}
}

func TestCardText(t *testing.T) {
	t.Parallel()
	got := cardText(&a2a.AgentCard{
		Name: "n", Version: "2", Description: "d", Provider: &a2a.AgentProvider{Org: "o", URL: "http://o"},
		SupportedInterfaces: []*a2a.AgentInterface{nil, a2a.NewAgentInterface("http://x/", a2a.TransportProtocolJSONRPC)},
		Capabilities: a2a.AgentCapabilities{
			Streaming: true, PushNotifications: true, ExtendedAgentCard: true, Extensions: []a2a.AgentExtension{{URI: "urn:e"}},
		},
		DefaultInputModes: []string{"text/plain", "image/png"}, DefaultOutputModes: []string{"text/plain"},
		SecuritySchemes: a2a.NamedSecuritySchemes{
			"a": a2a.APIKeySecurityScheme{Location: "header", Name: "X-Key"}, "b": a2a.HTTPAuthSecurityScheme{Scheme: "Bearer"},
			"c": a2a.OAuth2SecurityScheme{}, "d": a2a.OpenIDConnectSecurityScheme{}, "e": a2a.MutualTLSSecurityScheme{},
		},
		Skills: []a2a.AgentSkill{{ID: "s", Name: "S", Examples: []string{"do it"}}},
	})
	want := `n 2
d
by o, http://o

Interfaces
  JSONRPC   1.0  http://x/

Can do     extended card, push notifications, streaming, urn:e
Takes      text/plain, image/png
Gives      text/plain
Asks for   a (API key in header X-Key), b (HTTP Bearer), c (OAuth 2.0), d (OpenID Connect), e (mutual TLS)

Skills
  s: S
      "do it"
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("cardText() (-want +got):\n%s", diff)
	}
}
