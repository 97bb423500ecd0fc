package scripted_test

import (
	"context"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/internal/agents/scripted"
	"github.com/parley-a2a/parley/internal/store/memstore"
)

// held is a script whose runs wait before their answer until their hub ends, while it is set.
type held struct {
	*scripted.Script
	began chan struct{} // nil for runs that answer
}

func (h *held) Execute(ctx context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	if h.began == nil {
		return h.Script.Execute(ctx, ec)
	}
	return func(func(a2a.Event, error) bool) {
		h.began <- struct{}{}
		<-ctx.Done()
	}
}

// TestInterruptedOften checks that a script answers however often its hub ended before.
func TestInterruptedOften(t *testing.T) {
	t.Parallel()
	s, err := scripted.Parse("answers.yaml", []byte(script))
	if err != nil {
		t.Fatal(err)
	}
	store := new(memstore.Store)
	serve := func(x *held, f func(*parley.Hub)) {
		h := &parley.Hub{Store: store, Limits: parley.Limits{DrainTimeout: time.Nanosecond}}
		h.Handle(&a2a.AgentCard{Name: "script", Description: "-", Version: "1", Skills: []a2a.AgentSkill{{ID: "x"}}}, x)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- h.Run(ctx) }()
		f(h)
		cancel()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	const message = `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"your name"}]},"configuration":{"returnImmediately":true}}`
	var id string
	for n := range 5 {
		x := &held{s, make(chan struct{}, 1)}
		serve(x, func(h *parley.Hub) {
			if n == 0 {
				id = created(t, post(h, message))
			}
			select {
			case <-x.began:
			case <-time.After(time.Minute):
				t.Fatalf("run %d has not begun", n+1)
			}
		})
	}
	serve(&held{Script: s}, func(h *parley.Hub) {
		got := call(h, httptest.NewRequest("GET", "http://127.0.0.1/v1/a2a/tasks/"+id+":subscribe", nil))
		if !strings.Contains(got, "TASK_STATE_COMPLETED") || !strings.Contains(got, `"Ada"`) {
			t.Errorf("the task ends with %s", got)
		}
	})
}

func post(h *parley.Hub, body string) string {
	r := httptest.NewRequest("POST", "http://127.0.0.1/v1/a2a/script/message:send", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	return call(h, r)
}

// call returns the answer to a request of this machine.
func call(h *parley.Hub, r *http.Request) string {
	r.RemoteAddr = "127.0.0.1:1"
	w := httptest.NewRecorder()
	h.Handler().ServeHTTP(w, r)
	return w.Body.String()
}

// created returns the id of the task in an answer.
func created(t *testing.T, answer string) string {
	t.Helper()
	_, rest, _ := strings.Cut(answer, `"id":"`)
	id, _, found := strings.Cut(rest, `"`)
	if !found {
		t.Fatalf("the answer is %s, want a task", answer)
	}
	return id
}
