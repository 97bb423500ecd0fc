package serve

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// notification is a server that runs in this process.
type notification struct {
	t    *testing.T
	addr string
	in   io.WriteCloser
	out  *json.Decoder
	end  chan error
}

func startServer(t *testing.T, o Options) *notification {
	t.Helper()
	in, command := io.Pipe()
	reply, out := io.Pipe()
	s := &notification{t: t, in: command, out: json.NewDecoder(bufio.NewReader(reply)), end: make(chan error, 1)}
	go func() { // ends with the input
		err := Run(context.Background(), o, in, out)
		out.CloseWithError(io.EOF)
		s.end <- err
	}()
	var hello Hello
	if err := s.out.Decode(&hello); err != nil {
		t.Fatalf("%s says nothing: %v", o.Kind, errors.Join(err, <-s.end))
	}
	s.addr = hello.Addr
	return s
}

func (s *notification) do(line string) Reply {
	s.t.Helper()
	if _, err := io.WriteString(s.in, line+"\n"); err != nil {
		s.t.Fatal(err)
	}
	var r Reply
	if err := s.out.Decode(&r); err != nil {
		s.t.Fatal(err)
	}
	return r
}

func (s *notification) stop() {
	s.t.Helper()
	s.in.Close()
	if err := <-s.end; err != nil {
		s.t.Errorf("the server ends with %v", err)
	}
}

// send sends a message over a connection of its own and returns the answer.
func (s *notification) send(text string) string {
	s.t.Helper()
	body := `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"` + text + `"}]}}}`
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, "http://"+s.addr, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("A2A-Version", "1.0")
	r.Close = true
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(b)
}

// TestSameTask checks that all servers answer with the same task.
func TestSameTask(t *testing.T) {
	t.Parallel()
	type message struct {
		Role  string
		Parts []struct{ Text string }
	}
	type answer struct {
		Result struct {
			Task struct {
				Status    struct{ State string }
				Artifacts []struct{ Parts []struct{ Text string } }
				History   []message
			}
		}
	}
	var first *answer
	for _, k := range []Kind{Bare, GoSDK, ParleyMemory, ParleySQLite} {
		s := startServer(t, Options{Kind: k, File: filepath.Join(t.TempDir(), "db")})
		body := s.send(Text(Say, "hello you"))
		s.stop()
		var got answer
		if err := json.Unmarshal([]byte(body), &got); err != nil {
			t.Fatalf("%s answers %s: %v", k, body, err)
		}
		if first == nil {
			first = &got
		}
		if diff := cmp.Diff(first, &got); diff != "" || !strings.Contains(body, `"hello you"`) {
			t.Errorf("%s answers with another task than %s (-want +got):\n%s%s", k, Bare, diff, body)
		}
	}
}

func TestCommands(t *testing.T) {
	t.Parallel()
	s := startServer(t, Options{Kind: ParleyMemory})
	defer s.stop()
	if r := s.do(string(GetStats)); r.Mallocs == 0 || r.Heap == 0 || r.Goroutines == 0 || r.Error != "" {
		t.Errorf("stats = %+v", r)
	}
	done := make(chan string, 1)
	go func() { done <- s.send(Text(Hold, "2")) }() // ends with the answer
	for _, line := range []string{"await 1", "release"} {
		if r := s.do(line); r.Error != "" {
			t.Errorf("%s: %s", line, r.Error)
		}
	}
	if got := <-done; strings.Count(got, ChunkText) != 2 {
		t.Errorf("a released task is %s, want two chunks", got)
	}
	for _, line := range []string{"", "dance", "await many", "profile", "profile /no/such/folder/file"} {
		if r := s.do(line); r.Error == "" {
			t.Errorf("%q is obeyed", line)
		}
	}
}

func TestOpenGate(t *testing.T) {
	t.Parallel()
	s := startServer(t, Options{Kind: ParleyMemory, Open: true})
	defer s.stop()
	if got := s.send(Text(Hold, "1")); strings.Count(got, ChunkText) != 1 {
		t.Errorf("a task that is not held is %s, want one chunk", got)
	}
}

func TestOwners(t *testing.T) {
	t.Parallel()
	s := startServer(t, Options{Kind: ParleyMemory, Owners: true})
	defer s.stop()
	if got := s.send(Text(Say, "hello")); strings.Contains(got, "COMPLETED") || !strings.Contains(got, "error") {
		t.Errorf("a call without an owner gets %s", got)
	}
}

func TestUnknownServer(t *testing.T) {
	t.Parallel()
	if err := Run(t.Context(), Options{Kind: "teapot"}, strings.NewReader(""), io.Discard); err == nil {
		t.Error("there is a server teapot")
	}
}

func TestAgent(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]a2a.TaskState{
		"say hello": {a2a.TaskStateSubmitted, a2a.TaskStateWorking, a2a.TaskStateCompleted},
		"chunks 0":  {a2a.TaskStateSubmitted, a2a.TaskStateWorking, a2a.TaskStateCompleted},
		"ask ":      {a2a.TaskStateSubmitted, a2a.TaskStateWorking, a2a.TaskStateInputRequired},
		"chunks x":  {a2a.TaskStateSubmitted, a2a.TaskStateWorking, a2a.TaskStateRejected},
		"dance":     {a2a.TaskStateSubmitted, a2a.TaskStateWorking, a2a.TaskStateRejected},
	} {
		ec := &a2asrv.ExecutorContext{TaskID: "t", Message: a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart(text))}
		var got []a2a.TaskState
		for ev, err := range (executor{newGate(true)}).Execute(t.Context(), ec) {
			if err != nil {
				t.Fatal(err)
			}
			switch ev := ev.(type) {
			case *a2a.Task:
				got = append(got, ev.Status.State)
			case *a2a.TaskStatusUpdateEvent:
				got = append(got, ev.Status.State)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("states of %q (-want +got):\n%s", text, diff)
		}
	}
	if len(ChunkText) != 64 {
		t.Errorf("a chunk has %d bytes", len(ChunkText))
	}
}
