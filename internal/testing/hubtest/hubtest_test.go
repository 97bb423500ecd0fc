package hubtest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/parley-a2a/parley/internal/agents/builtin"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/front/httpfront"
	"github.com/parley-a2a/parley/internal/store/memstore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(M{M: m}) }

const hello = `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hello"}]}}`

// answer contains the fields of a task that the tests read.
type answer struct {
	Task struct {
		ID     string
		Status struct{ State string }
	}
}

// A killed hub has its address and its tasks after the next start.
func TestKilledHubComesBack(t *testing.T) {
	t.Parallel()
	h := Start(t, Options{})
	var before answer
	if err := Call(t.Context(), Request{URL: h.URL() + "/v1/a2a/message:send", Body: hello}, &before); err != nil {
		t.Fatal(err)
	}
	pid := h.Process().PID()
	h.Kill()
	if err := Call(t.Context(), Request{URL: h.URL() + "/readyz"}, nil); err == nil || Status(err) != 0 {
		t.Errorf("a killed hub answers: %v", err)
	}
	h.Kill() // a second Kill does nothing
	h.Restart()
	if h.Process().PID() == pid || h.Took() <= 0 {
		t.Errorf("process %d after %d, which took %v", h.Process().PID(), pid, h.Took())
	}
	var after answer
	if err := Call(t.Context(), Request{URL: h.URL() + "/v1/a2a/tasks/" + before.Task.ID}, &after.Task); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, after); diff != "" || after.Task.ID == "" {
		t.Errorf("the task has changed (-before +after):\n%s", diff)
	}
	if n := strings.Count(h.Output(), "msg=ready"); n != 2 {
		t.Errorf("the hub said %d times that it is ready:\n%s", n, h.Output())
	}
	h.Stop()
}

// A hub is ready as soon as Start returns.
func TestStartedHubIsReady(t *testing.T) {
	t.Parallel()
	h := Start(t, Options{Config: "log: {format: json}\n"})
	for range 3 {
		if err := Call(t.Context(), Request{URL: h.URL() + "/readyz"}, nil); err != nil {
			t.Error(err)
		}
		h.Restart()
	}
	for line := range strings.Lines(h.Output()) {
		if !json.Valid([]byte(line)) {
			t.Errorf("with JSON logs the hub writes %q", line)
		}
	}
}

func TestHubThatDoesNotStart(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ config, want string }{
		"a broken file":    {"nonsense: 1\n", "nonsense"},
		"an address taken": {"", "in use"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := New(t, Options{Config: c.config})
			if c.config == "" {
				l, err := net.Listen("tcp", h.Addr())
				if err != nil {
					t.Fatal(err)
				}
				defer l.Close()
			}
			if err := h.Start(); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("Start = %v, want that with %q", err, c.want)
			}
			h.Configure("")
		})
	}
}

func TestStartTwice(t *testing.T) {
	t.Parallel()
	h := Start(t, Options{})
	if err := h.Start(); err == nil || !strings.Contains(err.Error(), "it runs") {
		t.Errorf("Start of a hub that runs = %v", err)
	}
}

// Start returns an error at once if the hub is killed while it starts.
func TestKilledWhileItStarts(t *testing.T) {
	t.Parallel()
	h := New(t, Options{})
	ended := make(chan error, 1)
	go func() { ended <- h.Start() }() // ends with the process
	for h.Process() == nil {
		select {
		case err := <-ended:
			t.Fatalf("Start = %v before there is a process", err)
		case <-time.After(time.Millisecond):
		}
	}
	h.Kill()
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "ended without saying") {
		t.Errorf("Start = %v", err)
	}
}

// Await finds text that was written before or is written after the call.
func TestAwait(t *testing.T) {
	t.Parallel()
	p := Launch(t, Command{Args: []string{"version"}})
	for range 2 {
		if err := p.Await(t.Context(), "nothing like this", "parley"); err != nil {
			t.Error(err)
		}
		<-p.Done()
	}
	if err := p.Await(t.Context(), "nothing like this"); err == nil || !strings.Contains(err.Error(), "nothing like this") {
		t.Errorf("Await = %v", err)
	}
	if err := p.Interrupt(); err != nil {
		t.Errorf("Interrupt of what has ended well = %v", err)
	}
	bad := Launch(t, Command{Args: []string{"no such command"}})
	if err := bad.Interrupt(); err == nil || !strings.Contains(err.Error(), "exit code") {
		t.Errorf("Interrupt of what has ended badly = %v", err)
	}
	h := Start(t, Options{})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := h.Process().Await(ctx, "nothing like this"); err == nil || !strings.Contains(err.Error(), "deadline") {
		t.Errorf("Await with a deadline = %v", err)
	}
}

func TestParley(t *testing.T) {
	t.Parallel()
	h := Start(t, Options{})
	if out, err := h.Parley(t.Context(), "send", "hello"); err != nil || out != "hello\n" {
		t.Errorf("send = %q, %v", out, err)
	}
	if _, err := h.Parley(t.Context(), "tasks", "get", "nobody"); err == nil || !strings.Contains(err.Error(), "Task not found") {
		t.Errorf("tasks get of no task = %v", err)
	}
}

// Environment variables of the user who runs the test do not reach the command.
func TestEnvironment(t *testing.T) {
	t.Setenv("PARLEY_URL", "http://elsewhere")
	t.Setenv("OTHER_THING", "1")
	got := environment([]string{"PARLEY_URL=http://here"})
	text := strings.Join(got, "\n")
	if strings.Contains(text, "elsewhere") || !strings.Contains(text, "OTHER_THING=1") || got[len(got)-1] != "PARLEY_URL=http://here" {
		t.Errorf("environment = %v", got)
	}
}

// Binary returns the command named by the variable.
func TestBinaryThatIsNamed(t *testing.T) {
	t.Setenv(binaryEnv, "/named")
	if got := Binary(t); got != "/named" {
		t.Errorf("Binary = %q", got)
	}
}

func TestOutputIsBounded(t *testing.T) {
	t.Parallel()
	o := newOutput()
	early := o.wait([]string{"first"})
	fmt.Fprint(o, "first ")
	if !<-early {
		t.Error("what was said is not heard")
	}
	for range 10 {
		fmt.Fprint(o, strings.Repeat("x", kept/5))
	}
	fmt.Fprint(o, "last")
	if got := o.String(); len(got) != kept || !strings.HasSuffix(got, "xlast") {
		t.Errorf("%d bytes are kept, ending in %q", len(got), got[len(got)-8:])
	}
	o.end()
	if <-o.wait([]string{"more"}) {
		t.Error("what was not said is heard")
	}
}

func TestEvents(t *testing.T) {
	t.Parallel()
	stream := "event: behind\nid: 1\ndata: one\n\n: still here\n\nid:2\r\ndata:{\ndata:}\r\n\r\nid: 3\ndata: cut"
	var got []Event
	var end error
	for ev, err := range Events(strings.NewReader(stream)) {
		if end = err; err == nil {
			got = append(got, ev)
		}
	}
	want := []Event{{ID: "1", Name: "behind", Data: "one"}, {ID: "2", Data: "{}"}}
	if diff := cmp.Diff(want, got); diff != "" || end != io.EOF {
		t.Errorf("events end with %v (-want +got):\n%s", end, diff)
	}
}

func TestCall(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		if r.URL.Path != "/" {
			w.WriteHeader(http.StatusTeapot)
		}
		fmt.Fprintf(w, "%q", r.Method+" "+string(b)+" "+r.Header.Get("X-Thing")+" "+r.Header.Get("Content-Type"))
	}))
	defer srv.Close()
	for _, c := range []struct {
		r    Request
		want string
	}{
		{Request{}, "GET   application/json"},
		{Request{Body: "{}", Header: []string{"X-Thing", "yes"}}, "POST {} yes application/json"},
		{Request{Method: http.MethodDelete}, "DELETE   application/json"},
	} {
		c.r.URL = srv.URL
		var got string
		if err := Call(t.Context(), c.r, &got); err != nil || got != c.want {
			t.Errorf("Call = %q, %v, want %q", got, err, c.want)
		}
	}
	err := Call(t.Context(), Request{URL: srv.URL + "/tea"}, nil)
	if Status(err) != http.StatusTeapot || !strings.Contains(err.Error(), "status 418") {
		t.Errorf("Call = %v", err)
	}
}

// Serve serves the parts until stop.
func TestServe(t *testing.T) {
	t.Parallel()
	e := engine.New(engine.Config{Store: new(memstore.Store)})
	echo := builtin.Agents()[0]
	if err := e.Register(engine.Agent{Name: echo.Name, Card: echo.Card, Executor: echo.Executor}); err != nil {
		t.Fatal(err)
	}
	addr, grpc, stop := Serve(t, Parts{Engine: e, Front: httpfront.New(httpfront.Config{Engine: e})})
	var got answer
	if err := Call(t.Context(), Request{URL: "http://" + addr + "/v1/a2a/message:send", Body: hello}, &got); err != nil || got.Task.ID == "" || grpc != "" {
		t.Errorf("send = %+v, %v; gRPC at %q", got, err, grpc)
	}
	http.DefaultClient.CloseIdleConnections()
	stop()
	if err := Call(t.Context(), Request{URL: "http://" + addr + "/readyz"}, nil); err == nil {
		t.Error("it serves after stop")
	}
}
