package reading_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/agent/remote"
	"github.com/parley-a2a/parley/client"
	"github.com/parley-a2a/parley/internal/testing/hubtest"
	"github.com/parley-a2a/parley/push"
)

// TestIntegersAsDoubles sends integers as callers write them whose JSON passes through doubles.
func TestIntegersAsDoubles(t *testing.T) {
	t.Parallel()
	n := builtinHub(t)
	for name, s := range map[string]struct{ path, version, body string }{
		"JSON-RPC":  {"/a2a/echo", "1.0", `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"1","role":1.0,"parts":[{"text":"hi"}],"metadata":{"parley.budget":999.0,"parley.hops":7.0}},"configuration":{"historyLength":1.0}}}`},
		"params":    {"/a2a/echo", "1.0", `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"2","role":"ROLE_USER","parts":[{"text":"hi"}]},"metadata":{"parley.budget":9.99e2,"parley.hops":7.0}}}`},
		"HTTP+JSON": {"/v1/a2a/echo/message:send", "1.0", `{"message":{"messageId":"3","role":"ROLE_USER","parts":[{"text":"hi"}],"metadata":{"parley.budget":999.0}}}`},
		"0.3":       {"/a2a/echo", "0.3", `{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"kind":"message","messageId":"4","role":"user","parts":[{"kind":"text","text":"hi"}],"metadata":{"parley.budget":999.0}},"configuration":{"historyLength":2.0}}}`},
		"list":      {"/a2a/echo", "1.0", `{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{"pageSize":5.0,"historyLength":0.0,"status":3.0}}`},
	} {
		if status, out := n.do(t, http.MethodPost, s.path, s.version, s.body); status != http.StatusOK || bytes.Contains(out, []byte(`"error"`)) {
			t.Errorf("%s: status %d, %s", name, status, out)
		}
	}
	if _, out := n.do(t, http.MethodPost, "/a2a/echo", "1.0", strings.Replace(samples["list"].body, `5`, `5.5`, 1)); !bytes.Contains(out, []byte("pageSize")) {
		t.Errorf("a page of 5.5 tasks: %s, want an error that names pageSize", out)
	}
}

// TestOneBadTaskInAList reads a list in which one task cannot be read. The others are listed, and this
// one says why.
func TestOneBadTaskInAList(t *testing.T) {
	t.Parallel()
	good := `{"id":"good","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"},"artifacts":[{"artifactId":"a","parts":[{"data":null}]}]}`
	bad := `{"id":"bad","contextId":"c","status":{"state":"TASK_STATE_FAILED"},"artifacts":[{"artifactId":"a","parts":[{"what":1}]}]}`
	var s *httptest.Server
	s = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if strings.HasSuffix(r.URL.Path, "agent-card.json") {
			fmt.Fprint(w, (&far{dialect: "1.0 JSON-RPC", url: s.URL}).card())
			return
		}
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":1,"result":{"tasks":[%s,%s,{"id":5},%s],"nextPageToken":"","pageSize":50.0,"totalSize":3.0}}`, good, bad, good)
	}))
	t.Cleanup(s.Close)
	c, err := client.Dial(t.Context(), s.URL, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	page, err := c.List(t.Context(), &a2a.ListTasksRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if len(page.Tasks) != 3 || page.TotalSize != 3 || page.Tasks[1].ID != "bad" || page.Tasks[1].Status.Message == nil {
		t.Fatalf("the page is %+v", page)
	}
	if says := page.Tasks[1].Status.Message.Parts[0].Text(); !strings.Contains(says, "cannot be read: artifacts[0].parts[0]") {
		t.Errorf("the task says %q", says)
	}
}

// TestWebhookMadeAfterTheEnd registers a webhook for a task that has ended: it gets the last state once.
func TestWebhookMadeAfterTheEnd(t *testing.T) {
	t.Parallel()
	n := builtinHub(t)
	got := make(chan string, 10)
	hook := httptest.NewServer(&push.Receiver{Handle: func(_ context.Context, m *push.Notification) error {
		got <- fmt.Sprint(m.TaskID, " ", m.State)
		return nil
	}})
	defer hook.Close()
	send := func() string {
		_, out := n.do(t, http.MethodPost, "/a2a/echo", "1.0", `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"`+a2a.NewMessageID()+`","role":"ROLE_USER","parts":[{"text":"hi"}]}}}`)
		var answer struct{ Result struct{ Task result } }
		if err := json.Unmarshal(out, &answer); err != nil || answer.Result.Task.ID == "" {
			t.Fatalf("the answer is %s", out)
		}
		return answer.Result.Task.ID
	}
	for range 2 {
		id := send()
		create := func() {
			config := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"CreateTaskPushNotificationConfig","params":{"taskId":%q,"id":"w","url":%q}}`, id, hook.URL)
			if _, out := n.do(t, http.MethodPost, "/a2a/echo", "1.0", config); bytes.Contains(out, []byte(`"error"`)) {
				t.Fatalf("%s", out)
			}
		}
		create()
		select {
		case said := <-got:
			if said != id+" TASK_STATE_COMPLETED" {
				t.Errorf("the webhook got %s, want the end of %s", said, id)
			}
		case <-time.After(time.Minute):
			t.Fatal("the webhook was not called")
		}
		create() // it replaces one that has fired; a call now would be in the way of the next task's
	}
}

// TestSkillsHaveTags reads the card of an agent whose skills have no tags: the protocol requires one.
func TestSkillsHaveTags(t *testing.T) {
	t.Parallel()
	hub := &parley.Hub{Push: push.Options{Off: true}}
	hub.Handle(&a2a.AgentCard{Name: "far", Skills: []a2a.AgentSkill{{ID: "cook"}, {ID: "eat", Tags: []string{"food"}}}}, &remote.Agent{URL: "http://127.0.0.1:1"})
	_, out := serve(t, hub).do(t, http.MethodGet, "/a2a/far/.well-known/agent-card.json", "", "")
	var card struct{ Skills []struct{ Tags []string } }
	if err := json.Unmarshal(out, &card); err != nil || fmt.Sprint(card.Skills) != "[{[cook]} {[food]}]" {
		t.Errorf("the skills are %v in %s", card.Skills, out)
	}
}

// TestMessagesOfV03HaveARole sends messages without a role, in both shapes of 0.3.
func TestMessagesOfV03HaveARole(t *testing.T) {
	t.Parallel()
	n := builtinHub(t)
	for path, body := range map[string]string{
		"/a2a/echo":        `{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"kind":"message","messageId":"m","parts":[{"kind":"text","text":"hi"}]}}}`,
		"/v1/message:send": `{"message":{"messageId":"m","content":[{"text":"hi"}]}}`,
	} {
		if _, out := n.do(t, http.MethodPost, path, "0.3", body); !bytes.Contains(out, []byte("role")) || !bytes.Contains(out, []byte(`"error"`)) {
			t.Errorf("%s: %s, want an error that names the role", path, out)
		}
	}
}

// TestStreamlessAgent has an agent without the streams that its card declares. The hub learns that from
// the first message, and sends each further message once.
func TestStreamlessAgent(t *testing.T) {
	t.Parallel()
	for _, dialect := range dialects {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			f := &far{dialect: dialect, way: "streamless", artifacts: []string{`{"artifactId":"a","parts":[{"kind":"text","text":"ok"}]}`}}
			n := startHub(t, f.start(t))
			count := func() int {
				f.mu.Lock()
				defer f.mu.Unlock()
				return f.sends
			}
			for i := range 3 {
				before := count()
				if got := n.send(t); got.Status.State != "TASK_STATE_COMPLETED" {
					t.Errorf("message %d: the task is %s %q", i, got.Status.State, got.says())
				}
				if sent := count() - before; i > 0 && sent != 1 {
					t.Errorf("message %d was sent %d times, want once", i, sent)
				}
			}
		})
	}
}

// TestCardWithQuery has an agent whose card has its address in a query, as those of LangGraph.
func TestCardWithQuery(t *testing.T) {
	t.Parallel()
	f := &far{dialect: "1.0 JSON-RPC", way: "blocking", artifacts: []string{`{"artifactId":"a","parts":[{"text":"ok"}]}`}}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet && r.URL.Query().Get("assistant_id") != "x" {
			w.WriteHeader(http.StatusUnprocessableEntity)
			return
		}
		f.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	f.url = s.URL
	h := hubtest.Start(t, hubtest.Options{Config: fmt.Sprintf("agents:\n- {name: far, url: %q}\n", s.URL+"/.well-known/agent-card.json?assistant_id=x")})
	if got := (&near{url: h.URL()}).send(t); got.Status.State != "TASK_STATE_COMPLETED" || got.parts() != `[{"text":"ok"}]` {
		t.Errorf("the task is %s %q with %s", got.Status.State, got.says(), got.parts())
	}
}
