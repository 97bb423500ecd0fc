package client_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/client"
)

// step is an answer of a scripted agent.
type step struct {
	status int // 0 means that the agent is unreachable
	kind   string
	body   string
	err    error // the error at the end of the body; nil for none
}

// script answers each request with the next step, without a network, so that time can be that
// of a synctest bubble. It records the requests.
type script struct {
	steps []step
	asked []string
}

// RoundTrip implements http.RoundTripper.
func (s *script) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		req.Body.Close()
	}
	_, call, _ := strings.Cut(req.URL.Path, "/tasks/")
	s.asked = append(s.asked, strings.TrimSpace(call+" "+req.Header.Get("Last-Event-ID")))
	if len(s.steps) == 0 {
		return nil, errors.New("the script is over")
	}
	next := s.steps[0]
	s.steps = s.steps[1:]
	if next.status == 0 {
		return nil, errors.New("no server listens")
	}
	var body io.Reader = strings.NewReader(next.body)
	if next.err != nil {
		body = io.MultiReader(body, &failing{next.err})
	}
	return &http.Response{
		StatusCode: next.status, Header: http.Header{"Content-Type": {next.kind}}, Body: io.NopCloser(body), Request: req,
	}, nil
}

type failing struct{ err error }

func (f *failing) Read([]byte) (int, error) { return 0, f.err }

// client returns a client of a scripted agent.
func (s *script) client(t *testing.T) *client.Client {
	t.Helper()
	c, err := client.New(&a2a.AgentCard{
		Name: "scripted", Capabilities: a2a.AgentCapabilities{Streaming: true},
		SupportedInterfaces: []*a2a.AgentInterface{a2a.NewAgentInterface("http://agent.test", rest)},
	}, client.Options{HTTP: &http.Client{Transport: s}})
	if err != nil {
		t.Fatalf("New() = %v", err)
	}
	return c
}

const (
	snapshotWorking = `{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}}`
	chunkOne        = `{"artifactUpdate":{"taskId":"t","contextId":"c","artifact":{"artifactId":"a","parts":[{"text":"one"}]}}}`
	chunkTwo        = `{"artifactUpdate":{"taskId":"t","contextId":"c","append":true,"artifact":{"artifactId":"a","parts":[{"text":"two"}]}}}`
	statusDone      = `{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"}}}`
	statusAsks      = `{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_INPUT_REQUIRED"}}}`
	overBody        = `{"error":{"code":400,"message":"over","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"UNSUPPORTED_OPERATION"}]}}`
)

var errReset = errors.New("connection reset")

// events is a stream of frames: "ID frame", or "- frame" for one without an id.
func events(err error, frames ...string) step {
	var b strings.Builder
	for _, f := range frames {
		id, data, _ := strings.Cut(f, " ")
		if id != "-" {
			fmt.Fprintf(&b, "id: %s\n", id)
		}
		fmt.Fprintf(&b, "data: %s\n\n", data)
	}
	return step{status: 200, kind: "text/event-stream", body: b.String(), err: err}
}

func reply(status int, body string) step {
	return step{status: status, kind: "application/json", body: body}
}

func taskIn(state a2a.TaskState) string {
	return fmt.Sprintf(`{"id":"t","contextId":"c","status":{"state":%q},"history":[{"messageId":"m","role":"ROLE_USER","parts":[]}]}`, state)
}

// kinds returns a summary of the events of a stream, and the error that ended it.
func kinds(t *testing.T, c *client.Client, from client.Position) ([]string, error) {
	t.Helper()
	var got []string
	for event, err := range c.Follow(t.Context(), from) {
		if err != nil {
			return got, err
		}
		switch e := event.(type) {
		case *a2a.Task:
			got = append(got, "task")
		case *a2a.TaskArtifactUpdateEvent:
			got = append(got, e.Artifact.Parts[0].Text())
		case *a2a.TaskStatusUpdateEvent:
			got = append(got, strings.ToLower(strings.TrimPrefix(string(e.Status.State), "TASK_STATE_")))
		}
	}
	return got, nil
}

func TestFollow(t *testing.T) {
	t.Parallel()
	working := "1 " + snapshotWorking
	half := events(errReset, "1 "+snapshotWorking)
	half.body += "id: 2\ndata: {\"artifactUp"
	long := strings.Replace(chunkOne, `"one"`, `"`+strings.Repeat("x", 100<<10)+`"`, 1)
	tests := []struct {
		name  string
		from  string
		steps []step
		want  string
		asked string
		took  time.Duration
		err   error
	}{
		{
			name: "to the end", steps: []step{events(nil, working, "2 "+chunkOne, "3 "+statusDone)},
			want: "task one completed", asked: "t:subscribe",
		},
		{
			name: "from a position", from: "2", steps: []step{events(nil, "3 "+statusDone)},
			want: "completed", asked: "t:subscribe 2",
		},
		{
			name: "taken up where it was cut", steps: []step{
				events(errReset, working, "2 "+chunkOne), events(nil, "3 "+chunkTwo), events(nil, "4 "+statusDone),
			},
			want: "task one two completed", asked: "t:subscribe, t:subscribe 2, t:subscribe 3",
		},
		{
			name: "half an event was not seen", steps: []step{half, events(nil, "2 "+chunkOne, "3 "+statusDone)},
			want: "task one completed", asked: "t:subscribe, t:subscribe 1",
		},
		{
			name: "without ids the task comes again", steps: []step{
				events(errReset, "- "+snapshotWorking), events(nil, "- "+snapshotWorking, "- "+statusDone),
			},
			want: "task task completed", asked: "t:subscribe, t:subscribe",
		},
		{
			name: "an event without an id leaves no place", steps: []step{
				events(errReset, working, "- "+chunkOne), events(nil, "2 "+snapshotWorking, "3 "+statusDone),
			},
			want: "task one task completed", asked: "t:subscribe, t:subscribe",
		},
		{
			name: "an id that is no header leaves no place", steps: []step{
				events(errReset, working, "\a "+chunkOne), events(nil, "2 "+snapshotWorking, "3 "+statusDone),
			},
			want: "task one task completed", asked: "t:subscribe, t:subscribe",
		},
		{
			name: "an event that is larger than a buffer", steps: []step{
				events(errReset, working, "2 "+long), events(nil, "3 "+statusDone),
			},
			want: "task " + strings.Repeat("x", 100<<10) + " completed", asked: "t:subscribe, t:subscribe 2",
		},
		{
			name: "an event that cannot be read is not passed over", steps: []step{
				events(nil, working, "2 {", "3 "+statusDone), reply(200, taskIn(a2a.TaskStateCompleted)),
			},
			want: "task completed task", asked: "t:subscribe, t",
		},
		{
			name: "a break after the end is none", steps: []step{events(errReset, working, "2 "+statusDone)},
			want: "task completed", asked: "t:subscribe",
		},
		{
			name: "a break after a question is one", steps: []step{
				events(errReset, working, "2 "+statusAsks), events(nil, "3 "+statusDone),
			},
			want: "task input_required completed", asked: "t:subscribe, t:subscribe 2",
		},
		{
			name: "nothing is left", from: "3", steps: []step{{status: 204}},
			asked: "t:subscribe 3",
		},
		{
			name: "the task has ended", steps: []step{reply(400, overBody), reply(200, taskIn(a2a.TaskStateCompleted))},
			want: "task", asked: "t:subscribe, t",
		},
		{
			name: "the agent comes back", steps: []step{
				events(errReset, working), {}, reply(503, ""), {}, events(nil, "2 "+statusDone),
			},
			want: "task completed", asked: "t:subscribe, t:subscribe 1, t:subscribe 1, t:subscribe 1, t:subscribe 1",
			took: 1300 * time.Millisecond,
		},
		{
			name: "the agent does not come back", steps: []step{events(errReset, working), {}, {}, {}, {}, {}},
			want: "task", asked: "t:subscribe" + strings.Repeat(", t:subscribe 1", 5),
			took: 4 * time.Second, err: client.ErrUnreachable,
		},
		{
			name: "a stream that only repeats", steps: []step{
				events(nil, "- "+snapshotWorking), events(nil, "- "+snapshotWorking), events(nil, "- "+snapshotWorking),
				events(nil, "- "+snapshotWorking), events(nil, "- "+snapshotWorking), events(nil, "- "+snapshotWorking),
			},
			want: "task task task task task task", asked: "t:subscribe" + strings.Repeat(", t:subscribe", 5),
			took: 4 * time.Second, err: client.ErrCut,
		},
		{
			name: "an error of the agent is final", steps: []step{events(errReset, working), reply(403, "")},
			want: "task", asked: "t:subscribe, t:subscribe 1", err: a2a.ErrUnauthorized,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &script{steps: tt.steps}
				c := s.client(t)
				begin := time.Now()
				got, err := kinds(t, c, client.Position{Task: "t", EventID: tt.from})
				if !errors.Is(err, tt.err) {
					t.Errorf("Follow() ends with %v, want %v", err, tt.err)
				}
				if diff := cmp.Diff(tt.want, strings.Join(got, " ")); diff != "" {
					t.Errorf("Follow() (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(tt.asked, strings.Join(s.asked, ", ")); diff != "" {
					t.Errorf("requests (-want +got):\n%s", diff)
				}
				if took := time.Since(begin); took != tt.took {
					t.Errorf("Follow() took %v, want %v", took, tt.took)
				}
			})
		})
	}
}

func TestFollowStops(t *testing.T) {
	t.Parallel()
	gone := errors.New("the caller is gone")
	synctest.Test(t, func(t *testing.T) {
		s := &script{steps: []step{events(errReset, "1 "+snapshotWorking), {}, {}, {}}}
		c := s.client(t)
		ctx, cancel := context.WithTimeoutCause(t.Context(), 200*time.Millisecond, gone)
		defer cancel()
		var last error
		for _, err := range c.Follow(ctx, client.Position{Task: "t"}) {
			last = err
		}
		if !errors.Is(last, gone) {
			t.Errorf("Follow() ends with %v, want the cause of the cancellation", last)
		}
		s.steps = []step{events(errReset, "1 "+snapshotWorking)}
		for _, err := range c.Follow(t.Context(), client.Position{Task: "t"}) {
			if err != nil {
				t.Fatalf("Follow() = %v", err)
			}
			break
		}
		if len(s.steps) != 0 || len(s.asked) != 4 {
			t.Errorf("after the reader broke out: %d requests, want no more than 4", len(s.asked))
		}
	})
}

// TestCut checks that a cut stream has the position to continue from, over either binding.
func TestCut(t *testing.T) {
	t.Parallel()
	frame := func(binding a2a.TransportProtocol, data string) string {
		if binding == rest {
			return data
		}
		return `{"jsonrpc":"2.0","id":"1","result":` + data + `}`
	}
	for _, binding := range []a2a.TransportProtocol{rpc, rest} {
		t.Run(string(binding), func(t *testing.T) {
			t.Parallel()
			s := &script{steps: []step{
				events(errReset, "1 "+frame(binding, snapshotWorking), "2 "+frame(binding, chunkOne)),
				events(nil, "3 "+frame(binding, statusDone)),
				{status: 204},
			}}
			c, err := client.New(&a2a.AgentCard{
				Name: "x", Capabilities: a2a.AgentCapabilities{Streaming: true},
				SupportedInterfaces: []*a2a.AgentInterface{a2a.NewAgentInterface("http://agent.test", binding)},
			}, client.Options{HTTP: &http.Client{Transport: s}})
			if err != nil {
				t.Fatalf("New() = %v", err)
			}
			var last error
			for _, err := range c.Stream(t.Context(), textRequest("x")) {
				last = err
			}
			var cut *client.Cut
			if !errors.As(last, &cut) || !errors.Is(last, client.ErrCut) || !errors.Is(last, errReset) {
				t.Fatalf("Stream() ends with %v, want a Cut by %v", last, errReset)
			}
			if want := (client.Position{Task: "t", EventID: "2"}); cut.Position != want {
				t.Errorf("Cut at %+v, want %+v", cut.Position, want)
			}
			if got, err := kinds(t, c, cut.Position); err != nil || strings.Join(got, " ") != "completed" {
				t.Errorf("Follow(%+v) = %v, %v, want the rest", cut.Position, got, err)
			}
			cut.EventID = "3"
			if got, err := kinds(t, c, cut.Position); err != nil || got != nil {
				t.Errorf("Follow(%+v) = %v, %v, want nothing", cut.Position, got, err)
			}
			if got := s.asked[1:]; !strings.HasSuffix(got[0], "2") || !strings.HasSuffix(got[1], "3") {
				t.Errorf("asked for %q, want the ids 2 and 3", got)
			}
		})
	}
}

func TestWait(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		steps []step
		want  a2a.TaskState
		asked string
		took  time.Duration
	}{
		{
			"to the end",
			[]step{
				events(errReset, "1 "+snapshotWorking), events(nil, "2 "+statusDone), reply(200, taskIn(a2a.TaskStateCompleted)),
			},
			a2a.TaskStateCompleted, "t:subscribe, t:subscribe 1, t", 0,
		},
		{
			"to a question",
			[]step{
				events(errReset, "1 "+snapshotWorking, "2 "+statusAsks), reply(200, taskIn(a2a.TaskStateInputRequired)),
			},
			a2a.TaskStateInputRequired, "t:subscribe, t", 0,
		},
		{
			"a task that has ended",
			[]step{reply(400, overBody), reply(200, taskIn(a2a.TaskStateFailed))},
			a2a.TaskStateFailed, "t:subscribe, t", 0,
		},
		{
			"an agent that does not stream",
			[]step{
				reply(400, overBody), reply(200, taskIn(a2a.TaskStateWorking)),
				reply(400, overBody), reply(200, taskIn(a2a.TaskStateWorking)),
				reply(400, overBody), reply(200, taskIn(a2a.TaskStateCompleted)),
			},
			a2a.TaskStateCompleted, "t:subscribe, t, t:subscribe, t, t:subscribe, t", 3 * time.Second,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &script{steps: tt.steps}
				c := s.client(t)
				begin := time.Now()
				task, err := c.Wait(t.Context(), "t")
				if err != nil {
					t.Fatalf("Wait() = %v", err)
				}
				if task.Status.State != tt.want || len(task.History) != 1 {
					t.Errorf("Wait() = %s with %d messages, want %s with one", task.Status.State, len(task.History), tt.want)
				}
				if diff := cmp.Diff(tt.asked, strings.Join(s.asked, ", ")); diff != "" {
					t.Errorf("requests (-want +got):\n%s", diff)
				}
				if took := time.Since(begin); took != tt.took {
					t.Errorf("Wait() took %v, want %v", took, tt.took)
				}
			})
		})
	}
}

func TestWaitErrors(t *testing.T) {
	t.Parallel()
	missing := `{"error":{"code":404,"message":"no","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"TASK_NOT_FOUND"}]}}`
	synctest.Test(t, func(t *testing.T) {
		s := &script{steps: []step{reply(404, missing), reply(404, missing)}}
		if task, err := s.client(t).Wait(t.Context(), "t"); task != nil || !errors.Is(err, a2a.ErrTaskNotFound) {
			t.Errorf("Wait() = %v, %v, want not found", task, err)
		}
		s = &script{steps: []step{reply(400, overBody), reply(200, taskIn(a2a.TaskStateWorking))}}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		_, err := s.client(t).Wait(ctx, "t")
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "wait for task t, which is TASK_STATE_WORKING") {
			t.Errorf("Wait() = %v, want a deadline error that names the task", err)
		}
	})
}

// TestWaitForTheSDK runs Wait against the official SDK's server.
func TestWaitForTheSDK(t *testing.T) {
	t.Parallel()
	eachBinding(t, func(t *testing.T, c *client.Client) {
		res, err := c.Send(t.Context(), textRequest("echo hi"))
		if err != nil {
			t.Fatalf("Send() = %v", err)
		}
		task, err := c.Wait(t.Context(), res.TaskInfo().TaskID)
		if err != nil || task.Status.State != a2a.TaskStateCompleted || text(task) != "hi" {
			b, _ := json.Marshal(task)
			t.Errorf("Wait() = %s, %v, want the echo", bytes.TrimSpace(b), err)
		}
	})
}

func TestBindingsThatTheClientDoesNotSpeak(t *testing.T) {
	t.Parallel()
	o := client.Options{Bindings: []a2a.TransportProtocol{rest, a2a.TransportProtocolGRPC}}
	card := &a2a.AgentCard{SupportedInterfaces: []*a2a.AgentInterface{a2a.NewAgentInterface("http://agent.test", rest)}}
	if _, err := client.New(card, o); !errors.Is(err, client.ErrNoTransport) || !strings.Contains(err.Error(), "GRPC") {
		t.Errorf("New() = %v, want ErrNoTransport for GRPC", err)
	}
	// No request is sent, because the caller's options are wrong.
	if _, err := client.Dial(t.Context(), "http://127.0.0.1:1", o); !errors.Is(err, client.ErrNoTransport) {
		t.Errorf("Dial() = %v, want ErrNoTransport", err)
	}
}
