package interop

import (
	"context"
	"encoding/json"
	"iter"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	a2agrpc "github.com/a2aproject/a2a-go/v2/a2agrpc/v1"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/a2aproject/a2a-go/v2/a2asrv/taskstore"
	"google.golang.org/grpc"
)

// stranger is an agent as somebody who knows only the SDK writes it: it answers with
// the parts of the message, asks back when it is told to ask, answers with a bare
// message when it is told to be brief, and works until it is canceled when it is
// told to wait.
type stranger struct{}

func (stranger) Execute(ctx context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		words := ec.Message.Parts[0].Text()
		if words == "brief" {
			yield(a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart("in short: yes")), nil)
			return
		}
		if ec.StoredTask == nil && !yield(a2a.NewSubmittedTask(ec, ec.Message), nil) {
			return
		}
		state := func(s a2a.TaskState, text string) bool {
			return yield(a2a.NewStatusUpdateEvent(ec, s, a2a.NewMessageForTask(a2a.MessageRoleAgent, ec, a2a.NewTextPart(text))), nil)
		}
		switch words {
		case "ask":
			state(a2a.TaskStateInputRequired, "which one?")
		case "wait":
			if state(a2a.TaskStateWorking, "waiting") {
				<-ctx.Done()
			}
		default:
			if yield(a2a.NewArtifactEvent(ec, ec.Message.Parts...), nil) {
				state(a2a.TaskStateCompleted, "done")
			}
		}
	}
}

func (stranger) Cancel(_ context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		yield(a2a.NewStatusUpdateEvent(ec, a2a.TaskStateCanceled, nil), nil)
	}
}

// startSDK serves the stranger with the Go SDK alone and returns the URL of a card
// that names one binding.
func startSDK(t *testing.T, binding a2a.TransportProtocol) string {
	t.Helper()
	store := taskstore.NewInMemory(&taskstore.InMemoryStoreConfig{
		Authenticator: func(context.Context) (string, error) { return "somebody", nil },
	})
	handler := a2asrv.NewHandler(stranger{}, a2asrv.WithTaskStore(store))
	mux := http.NewServeMux()
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	i := a2a.NewAgentInterface(srv.URL+"/here", binding)
	switch binding {
	case a2a.TransportProtocolJSONRPC:
		mux.Handle("/here", a2asrv.NewJSONRPCHandler(handler))
	case a2a.TransportProtocolHTTPJSON:
		mux.Handle("/here/", http.StripPrefix("/here", a2asrv.NewRESTHandler(handler)))
	case a2a.TransportProtocolGRPC:
		i.URL = serveGRPC(t, handler)
	}
	mux.Handle(a2asrv.WellKnownAgentCardPath, a2asrv.NewStaticAgentCardHandler(&a2a.AgentCard{
		Name: "stranger", Description: "An agent of another maker", Version: "1",
		SupportedInterfaces: []*a2a.AgentInterface{i},
		Capabilities:        a2a.AgentCapabilities{Streaming: true},
		DefaultInputModes:   []string{"text/plain"}, DefaultOutputModes: []string{"text/plain"},
		Skills: []a2a.AgentSkill{},
	}))
	return srv.URL
}

func serveGRPC(t *testing.T, handler a2asrv.RequestHandler) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer()
	a2agrpc.NewHandler(handler).RegisterWith(s)
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() {
		s.Stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String()
}

// commands are what a person does with the agent of a stranger.
var commands = []struct {
	name string
	run  func(t *testing.T, url string)
}{
	{"send", func(t *testing.T, url string) {
		out, errs, code := parley(t, "send", "--url", url, "hello out there")
		if out != "hello out there\n" || code != 0 {
			t.Errorf("parley send: exit code %d, %q, %q; want the reply", code, out, errs)
		}
	}},
	{"stream", func(t *testing.T, url string) {
		out, errs, code := parley(t, "send", "--url", url, "--stream", "hello out there")
		if out != "hello out there\n" || code != 0 {
			t.Errorf("parley send --stream: exit code %d, %q, %q; want the reply", code, out, errs)
		}
	}},
	{"message", func(t *testing.T, url string) {
		out, errs, code := parley(t, "send", "--url", url, "brief")
		if out != "in short: yes\n" || code != 0 {
			t.Errorf("parley send: exit code %d, %q, %q; want the message", code, out, errs)
		}
	}},
	{"file", func(t *testing.T, url string) {
		dir := t.TempDir()
		image := filepath.Join(dir, "a.png")
		want := "\x89PNG\r\n\x1a\n\x00\xff"
		if err := os.WriteFile(image, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		out, errs, code := parley(t, "send", "--url", url, "--file", image, "--json", "see")
		if code != 0 {
			t.Fatalf("parley send: exit code %d, %q", code, errs)
		}
		task := printedTask(t, out)
		parts := task.Artifacts[0].Parts
		if got := parts[len(parts)-1]; string(got.Raw) != want || got.MediaType != "image/png" || got.Filename != "a.png" {
			t.Errorf("the image came back as %+v", got)
		}
	}},
	{"follow up", func(t *testing.T, url string) {
		out, errs, code := parley(t, "send", "--url", url, "--json", "ask")
		if code != 3 {
			t.Fatalf("parley send: exit code %d, %q, %q; want 3, for a question", code, out, errs)
		}
		task := printedTask(t, out)
		out, errs, code = parley(t, "send", "--url", url, "--task", task.ID, "the red one")
		if out != "the red one\n" || code != 0 {
			t.Errorf("parley send --task: exit code %d, %q, %q; want the reply", code, out, errs)
		}
	}},
	{"get", func(t *testing.T, url string) {
		out, _, _ := parley(t, "send", "--url", url, "--json", "again")
		task := printedTask(t, out)
		out, errs, code := parley(t, "tasks", "get", "--url", url, "--json", task.ID)
		var again struct{ ID string }
		if err := json.Unmarshal([]byte(out), &again); err != nil || again.ID != task.ID || code != 0 {
			t.Errorf("parley tasks get: exit code %d, %q, %q; want the task %s", code, out, errs, task.ID)
		}
		if _, errs, code := parley(t, "tasks", "get", "--url", url, "none"); code != 1 || !strings.Contains(errs, "not found") {
			t.Errorf("parley tasks get none: exit code %d, %q; want 1", code, errs)
		}
	}},
	{"list", func(t *testing.T, url string) {
		context := a2a.NewContextID()
		var want []string
		for _, words := range []string{"a", "b", "c"} {
			out, errs, code := parley(t, "send", "--url", url, "--context", context, "--json", words)
			if code != 0 {
				t.Fatalf("parley send: exit code %d, %q", code, errs)
			}
			want = append([]string{printedTask(t, out).ID}, want...)
		}
		out, errs, code := parley(t, "tasks", "list", "--url", url, "--context", context)
		var got []string
		for line := range strings.Lines(out) {
			id, _, _ := strings.Cut(line, "\t")
			got = append(got, id)
		}
		if strings.Join(got, " ") != strings.Join(want, " ") || code != 0 {
			t.Errorf("parley tasks list: exit code %d, %v, %q; want %v", code, got, errs, want)
		}
	}},
	{"cancel", func(t *testing.T, url string) {
		out, errs, code := parley(t, "send", "--url", url, "--detach", "wait")
		id := strings.TrimSpace(out)
		if code != 0 || id == "" {
			t.Fatalf("parley send --detach: exit code %d, %q", code, errs)
		}
		out, errs, code = parley(t, "tasks", "cancel", "--url", url, id)
		if out != "canceled\n" || code != 0 {
			t.Errorf("parley tasks cancel: exit code %d, %q, %q; want canceled", code, out, errs)
		}
		out, _, _ = parley(t, "send", "--url", url, "--json", "done")
		if _, errs, code := parley(t, "tasks", "cancel", "--url", url, printedTask(t, out).ID); code != 1 || !strings.Contains(errs, "cancel") {
			t.Errorf("parley tasks cancel of a finished task: exit code %d, %q; want 1", code, errs)
		}
	}},
}

// printedTask reads what --json prints.
func printedTask(t *testing.T, out string) task {
	t.Helper()
	var ev event
	if err := json.Unmarshal([]byte(out), &ev); err != nil || ev.Task == nil {
		t.Fatalf("printed %q, want a task (%v)", out, err)
	}
	return *ev.Task
}

// TestServers lets the command call servers that are made with the Go SDK alone.
func TestServers(t *testing.T) {
	t.Parallel()
	for _, binding := range []a2a.TransportProtocol{
		a2a.TransportProtocolJSONRPC, a2a.TransportProtocolHTTPJSON, a2a.TransportProtocolGRPC,
	} {
		t.Run("go server/"+string(binding), func(t *testing.T) {
			t.Parallel()
			url := startSDK(t, binding)
			for _, c := range commands {
				t.Run(c.name, func(t *testing.T) { c.run(t, url) })
			}
		})
	}
}
