package httpfront_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/front/httpfront"
	"github.com/parley-a2a/parley/internal/outbound/card"
	"github.com/parley-a2a/parley/internal/testing/dialecttest"
	"github.com/parley-a2a/parley/task"
)

// TestProfiles checks that the caller's profile, then the agent's, supplies the dialect that a
// call does not name.
func TestProfiles(t *testing.T) {
	t.Parallel()
	h := startHub(t, httpfront.Config{Auth: byKey(), Profiles: httpfront.Profiles{
		Callers: map[string]string{"bot": dialecttest.Gateway, "kit": dialecttest.Derived, "odd": "morse"},
		Agents:  map[task.Agent]string{"ask": dialecttest.Derived},
	}}, everyone()...)
	tests := []struct {
		who, path, call, want string
	}{
		{"bot", "/", rpc("ListTasks", `{}`), `"pageSize":20`},
		{"bot", "/", rpc("GetTask", `{"id":"x"}`), `-32001`},
		{"ann", "/", rpc("ListTasks", `{}`), `-32009`},
		{"odd", "/", rpc("ListTasks", `{}`), `-32009`},
		{"kit", "/", rpc("ListTasks", `{}`), `-32009`},
		// The errors of v0.3 have an object as their data.
		{"kit", "/a2a", rpc("tasks/get", `{"id":"x"}`), `"data":[`},
		{"ann", "/a2a", rpc("tasks/get", `{"id":"x"}`), `"data":{`},
		{"ann", "/a2a/ask", rpc("tasks/get", `{"id":"x"}`), `"data":[`},
		{"bot", "/a2a/ask", rpc("tasks/get", `{"id":"x"}`), `"data":[`},
	}
	for _, tt := range tests {
		got := h.do("POST", tt.path, tt.call, "Authorization: Bearer "+tt.who)
		if !strings.Contains(got.body, tt.want) {
			t.Errorf("%s on %s: %s\ngot %s\nwant %s", tt.who, tt.path, tt.call, got.body, tt.want)
		}
	}
}

// TestDialectOfATask checks that the dialect of a task is remembered for its owner, and reveals
// nothing to other callers.
func TestDialectOfATask(t *testing.T) {
	t.Parallel()
	h := startHub(t, httpfront.Config{Auth: byKey()}, everyone()...)
	ann, bob := "Authorization: Bearer ann", "Authorization: Bearer bob"
	made := h.do("POST", "/a2a/ask", rpc("message/send", `{"message":{"role":"user","parts":[{"text":"hi"}]}}`), ann)
	_, rest, _ := strings.Cut(made.body, `"result":{"id":"`)
	id, _, ok := strings.Cut(rest, `"`)
	if !ok {
		t.Fatalf("made %s", made.body)
	}
	get := rpc("tasks/get", `{"id":"`+id+`"}`)
	if got := h.do("POST", "/a2a", get, ann); !strings.Contains(got.body, `"input_required"`) {
		t.Errorf("its owner gets %s", got.body)
	}
	theirs := h.do("POST", "/a2a", get, bob).body
	if none := h.do("POST", "/a2a", rpc("tasks/get", `{"id":"nothing"}`), bob).body; theirs != none {
		t.Errorf("another caller gets %s, and for no task %s", theirs, none)
	}
}

// TestExtendedCardOfV03 checks that the extended card of v0.3 has the keys of v0.3, on both of
// its paths.
func TestExtendedCardOfV03(t *testing.T) {
	t.Parallel()
	h := extendedHub(t, engine.ExtendedCards{Token: cardToken}, httpfront.Config{Auth: auth.Anyone()})
	token := "Authorization: Bearer " + cardToken
	for name, got := range map[string]*answer{
		"JSON-RPC":  h.do("POST", "/a2a", rpc("agent/getAuthenticatedExtendedCard", `{}`), token),
		"HTTP+JSON": h.do("GET", "/v1/card", "", token),
	} {
		if got.code != 200 || !strings.Contains(got.body, `"supportsAuthenticatedExtendedCard":true`) || !strings.Contains(got.body, "for insiders") {
			t.Errorf("%s: %s", name, got)
		}
		if got.header.Get("Cache-Control") != "private, no-store" {
			t.Errorf("%s may be kept: %q", name, got.header.Get("Cache-Control"))
		}
	}
	// The token authorizes nothing else.
	if got := h.do("POST", "/a2a", rpc("tasks/get", `{"id":"x"}`), token); got.code == 200 && strings.Contains(got.body, `"result"`) {
		t.Errorf("a task by the token of the card: %s", got)
	}
}

func TestJobErrors(t *testing.T) {
	t.Parallel()
	const body = `{"taskId":"j","message":{"role":"user","parts":[{"kind":"text","text":"hi"}]}}`
	h := startHub(t, httpfront.Config{Auth: byKey()}, everyone()...)
	if got := h.do("POST", "/tasks/send", body); got.code != 401 || !strings.Contains(got.body, `"code":"execution_failed"`) || got.header.Get("WWW-Authenticate") == "" {
		t.Errorf("without a key: %s", got)
	}
	key := "Authorization: Bearer ann"
	if got := h.do("POST", "/tasks/send", body, key, "Content-Type: text/plain"); got.code != 415 || !strings.Contains(got.body, `"invalid_request"`) {
		t.Errorf("another content type: %s", got)
	}
	if got := h.do("POST", "/a2a/nobody/tasks/send", body, key); got.code != 404 || !strings.Contains(got.body, `"task_not_found"`) {
		t.Errorf("another agent: %s", got)
	}
	strict := startHub(t, httpfront.Config{Engine: startEngineWith(t, engine.Config{NoClientIDs: true}, everyone()...)})
	if got := strict.do("POST", "/tasks/send", body); got.code != 400 || !strings.Contains(got.body, `"j","code":"execution_failed"`) {
		t.Errorf("without ids of callers: %s", got)
	}
}

// TestClientIDs checks who may choose the id of a new task: callers over HTTP+JSON that name no
// version or activate the extension, and all of them at a hub with ClientIDs; none if the operator disables it. For others the task is unknown
// (specification §3.4.2).
func TestClientIDs(t *testing.T) {
	t.Parallel()
	const activated = "A2A-Extensions: " + card.ClientTaskIDs
	chosen := httpfront.Choices{ClientIDs: true}
	rest := func(path string, headers ...string) func(*hub, string) *answer {
		return func(h *hub, id string) *answer { return h.do("POST", path, withTask(id, message("hi")), headers...) }
	}
	for name, tt := range map[string]struct {
		send      func(h *hub, id string) *answer
		plain, as bool // accepted by a hub, and with ClientIDs
	}{
		"no version":           {rest("/v1/a2a/message:send"), true, true},
		"no version, stream":   {rest("/v1/a2a/message:stream"), true, true},
		"version":              {rest("/v1/a2a/message:send", v1), false, true},
		"version, stream":      {rest("/v1/a2a/message:stream", v1), false, true},
		"version in the query": {rest("/v1/a2a/message:send?A2A-Version=1.0"), false, true},
		"version, activated":   {rest("/v1/a2a/message:send", v1, activated), true, true},
		"v1.0 over JSON-RPC": {func(h *hub, id string) *answer {
			return h.do("POST", "/a2a", rpc("SendMessage", withTask(id, message("hi"))), v1, activated)
		}, false, false},
		"v0.3 over HTTP+JSON": {func(h *hub, id string) *answer {
			return h.do("POST", "/v1/message:send", `{"message":{"messageId":"m","role":"ROLE_USER","taskId":"`+id+`","content":[{"text":"hi"}]}}`)
		}, false, false},
	} {
		for at, want := range map[*hub]bool{
			startHub(t, httpfront.Config{}, everyone()...):                                                                              tt.plain,
			startHub(t, httpfront.Config{Choices: chosen}, everyone()...):                                                               tt.as,
			startHub(t, httpfront.Config{Choices: chosen, Engine: startEngineWith(t, engine.Config{NoClientIDs: true}, everyone()...)}): false,
		} {
			got := tt.send(at, "mine")
			if accepted := got.code == 200 && strings.Contains(got.body, `"id":"mine"`); accepted != want || !want && !strings.Contains(got.body, "Task not found") {
				t.Errorf("%s: %s, want accepted %t", name, got, want)
			}
		}
	}
}

// TestClientIDsAreDeclared checks that the card of a hub that accepts ids of callers declares
// it. Answers to a caller that names the extension list it as active, where it is.
func TestClientIDsAreDeclared(t *testing.T) {
	t.Parallel()
	named := "A2A-Extensions: https://x.example/other, " + card.ClientTaskIDs
	for no, active := range map[bool]string{false: card.ClientTaskIDs, true: ""} {
		h := startHub(t, httpfront.Config{Engine: startEngineWith(t, engine.Config{NoClientIDs: no}, everyone()...)})
		for _, path := range []string{"/.well-known/agent-card.json", "/a2a/ask/.well-known/agent.json"} {
			var got struct {
				Capabilities struct{ Extensions []a2a.AgentExtension }
			}
			if err := json.Unmarshal([]byte(h.do("GET", path, "").body), &got); err != nil {
				t.Fatal(err)
			}
			var want []a2a.AgentExtension
			if !no {
				want = append(want, card.ClientTaskIDsExtension())
			}
			if diff := cmp.Diff(want, got.Capabilities.Extensions); diff != "" {
				t.Errorf("%s, refused %v: extensions (-want +got):\n%s", path, no, diff)
			}
		}
		rest := h.do("POST", "/v1/a2a/message:send", message("hi"), v1, named)
		rpc := h.do("POST", "/a2a", rpc("SendMessage", message("hi")), v1, named)
		if got := rest.header.Get("A2A-Extensions"); got != active {
			t.Errorf("HTTP+JSON, refused %v: active are %q, want %q", no, got, active)
		}
		if got := rpc.header.Get("A2A-Extensions"); got != "" {
			t.Errorf("JSON-RPC, refused %v: active are %q, want none", no, got)
		}
	}
}

// TestJobOnce checks that a job is performed once, however often and however concurrently it
// arrives.
func TestJobOnce(t *testing.T) {
	t.Parallel()
	h := startHub(t, httpfront.Config{}, everyone()...)
	answers := make([]string, 20)
	var wg sync.WaitGroup
	for i := range answers {
		wg.Go(func() {
			answers[i] = h.do("POST", "/tasks/send", `{"taskId":"j","message":{"role":"user","parts":[{"kind":"text","text":"hi"}]}}`).body
		})
	}
	wg.Wait()
	for i, got := range answers {
		if got != answers[0] || !strings.Contains(got, `"state":3`) {
			t.Errorf("answer %d: %s, the first: %s", i, got, answers[0])
		}
	}
	list := h.do("GET", "/v1/a2a/tasks?historyLength=9", "").body
	if n := strings.Count(list, `"ROLE_USER"`); n != 1 || !strings.Contains(list, `"totalSize":1`) {
		t.Errorf("%d messages in %s", n, list)
	}
}

// TestJobContinues checks that another job of a context that waits for its caller continues the
// task, and is answered under its own id.
func TestJobContinues(t *testing.T) {
	t.Parallel()
	h := startHub(t, httpfront.Config{}, everyone()...)
	send := func(id, text string) string {
		return h.do("POST", "/a2a/ask/tasks/send", fmt.Sprintf(
			`{"taskId":%q,"contextId":"c","message":{"role":"user","parts":[{"kind":"text","text":%q}]}}`, id, text)).body
	}
	for range 2 {
		if got := send("j1", "weather"); !strings.Contains(got, `"j1","contextId":"c","state":2`) {
			t.Errorf("first %s", got)
		}
	}
	if got := send("j2", "Oslo"); !strings.Contains(got, `"j2","contextId":"c","state":3`) || !strings.Contains(got, "sunny in Oslo") {
		t.Errorf("then %s", got)
	}
}

// TestGatewayByProfile checks clients of a gateway that use v1.0 or v0.3, but still identify
// tasks by the ids of their messages and continue by the context. The profile of the key
// identifies them.
func TestGatewayByProfile(t *testing.T) {
	t.Parallel()
	h := startHub(t, httpfront.Config{Auth: byKey(), Profiles: httpfront.Profiles{Callers: map[string]string{"bot": dialecttest.Gateway}}}, everyone()...)
	bot, ann := "Authorization: Bearer bot", "Authorization: Bearer ann"
	says := func(id, city string) string {
		return `{"message":{"messageId":"` + id + `","contextId":"travel","role":"ROLE_USER","parts":[{"text":"` + city + `"}]}}`
	}
	for _, who := range []string{bot, ann} {
		h.do("POST", "/a2a/ask", rpc("SendMessage", says("m1", "weather")), v1, who)
		h.do("POST", "/v1/a2a/ask/message:send", says("m2", "Oslo"), who)
	}
	get := map[string]func(id, who string) *answer{
		"v1.0":      func(id, who string) *answer { return h.do("POST", "/a2a", rpc("GetTask", `{"id":"`+id+`"}`), v1, who) },
		"v1.0 REST": func(id, who string) *answer { return h.do("GET", "/v1/a2a/tasks/"+id, "", who) },
		"v0.3": func(id, who string) *answer {
			return h.do("POST", "/a2a", rpc("tasks/get", `{"id":"`+id+`"}`), "A2A-Version: 0.3", who)
		},
		"v0.3 REST": func(id, who string) *answer { return h.do("GET", "/v1/tasks/"+id, "", who) },
	}
	for name, get := range get {
		for _, id := range []string{"m1", "m2"} {
			if got := get(id, bot).body; !strings.Contains(got, "sunny in Oslo") || !strings.Contains(strings.ToLower(got), "completed") {
				t.Errorf("%s: a client of a gateway gets %s by %s, want the task that has ended", name, got, id)
			}
			if got := get(id, ann).body; !strings.Contains(got, "Task not found") {
				t.Errorf("%s: another caller gets %s by %s", name, got, id)
			}
		}
	}
}

// TestGatewayByItsKey checks that the key in X-Api-Key on the path "/" identifies callers of
// a gateway. They name no version, and some of their calls have no other distinguishing
// mark.
func TestGatewayByItsKey(t *testing.T) {
	t.Parallel()
	keys, key := keyring(t)
	h := startHub(t, httpfront.Config{Auth: keys}, everyone()...)
	mine := "X-Api-Key: " + key
	send := h.do("POST", "/", rpc("SendMessage", `{"message":{"role":"user","parts":[{"text":"hi"}]},"metadata":{"skill":"ask"}}`), mine)
	if send.code != 200 || !strings.Contains(send.body, `"state":"inputRequired"`) {
		t.Fatalf("SendMessage: %s", send)
	}
	tests := []struct {
		name, path, call, want string
		header                 []string
	}{
		{"list", "/", rpc("ListTasks", `{}`), `"state":"inputRequired"`, []string{mine}},
		{"list, page of 20", "/", rpc("ListTasks", `{}`), `"pageSize":20`, []string{mine}},
		{"card", "/", rpc("GetExtendedAgentCard", `{}`), `"extendedAgentCard":true`, []string{mine}},
		{"card without keys of v0.3", "/", rpc("GetExtendedAgentCard", `{}`), `"result":{"name":"echo"`, []string{mine}},
		{"no such task", "/", rpc("GetTask", `{"id":"x"}`), `-32001`, []string{mine}},
		{"role of v1.0", "/", rpc("SendMessage", message("hi")), `-32009`, []string{mine}},
		{"other path", "/a2a", rpc("ListTasks", `{}`), `-32009`, []string{mine}},
		{"bearer", "/", rpc("ListTasks", `{}`), `-32009`, []string{"Authorization: Bearer " + key}},
		{"v1.0", "/", rpc("ListTasks", `{}`), `"TASK_STATE_INPUT_REQUIRED"`, []string{mine, v1}},
		{"card of v1.0", "/", rpc("GetExtendedAgentCard", `{}`), `-32004`, []string{mine, v1}},
		{"no key", "/", rpc("ListTasks", `{}`), `-32000`, nil},
	}
	for _, tt := range tests {
		if got := h.do("POST", tt.path, tt.call, tt.header...); !strings.Contains(got.body, tt.want) {
			t.Errorf("%s: got %s, want %s", tt.name, got.body, tt.want)
		}
	}
}
