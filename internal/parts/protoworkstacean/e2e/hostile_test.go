package protoworkstacean

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

// lie is an invalid answer to a message, with the result for the hub's caller.
type lie struct{ body, state, reply string }

// evil are invalid answers to a message, by the name of the agent that sends them.
var evil = map[string]lie{
	"text":          {`{"jsonrpc":"2.0","result":"done"}`, "failed", "run message: must be an object"},
	"list":          {`{"jsonrpc":"2.0","result":[]}`, "failed", "run message: must be an object"},
	"no-id":         {`{"jsonrpc":"2.0","result":{"status":{"state":"completed"}}}`, "failed", "task.id: is required"},
	"number-id":     {`{"jsonrpc":"2.0","result":{"id":7,"contextId":"c","status":{"state":"completed"}}}`, "failed", "task.id: must be a string"},
	"no-state":      {`{"jsonrpc":"2.0","result":{"id":"t","contextId":"c","status":{}}}`, "failed", "task.status.state: is required"},
	"state":         {`{"jsonrpc":"2.0","result":{"id":"t","contextId":"c","status":{"state":"done"}}}`, "failed", "task.status.state: \"done\" is not a state that can be followed"},
	"state-list":    {`{"jsonrpc":"2.0","result":{"id":"t","contextId":"c","status":{"state":["completed"]}}}`, "failed", "task.status.state: must be a state"},
	"context":       {`{"jsonrpc":"2.0","result":{"id":"t","contextId":5,"status":{"state":"completed"}}}`, "failed", "task.contextId: must be a string"},
	"artifacts":     {`{"jsonrpc":"2.0","result":{"id":"t","contextId":"c","status":{"state":"completed"},"artifacts":{"a":1}}}`, "failed", "task.artifacts: must be a list"},
	"part-text":     {`{"jsonrpc":"2.0","result":{"id":"t","contextId":"c","status":{"state":"completed"},"artifacts":[{"artifactId":"a","parts":[{"kind":"text","text":5}]}]}}`, "failed", "task.artifacts[0].parts[0].text: must be a string"},
	"part-kind":     {`{"jsonrpc":"2.0","result":{"id":"t","contextId":"c","status":{"state":"completed"},"artifacts":[{"artifactId":"a","parts":[{"kind":"poem","text":"x"}]}]}}`, "failed", "task.artifacts[0].parts[0].kind: must be text, file or data"},
	"neither":       {`{"jsonrpc":"2.0"}`, "failed", "answered without a result"},
	"error-text":    {`{"jsonrpc":"2.0","error":"no"}`, "failed", "answered without a result"},
	"error-code":    {`{"jsonrpc":"2.0","error":{"code":"x","message":7}}`, "failed", "answered without a result"},
	"web-page":      {`<html><body>502</body></html>`, "failed", "answered with a web page"},
	"cut":           {`{"jsonrpc":"2.0","result":{"id":"t","conte`, "failed", "answered with invalid JSON: unexpected end at byte 42"},
	"two":           {`{"jsonrpc":"2.0","result":{"id":"t","contextId":"c","status":{"state":"completed"}}}{}`, "failed", "unexpected data after the value at byte 84"},
	"empty":         {``, "failed", "answered with nothing"},
	"message-parts": {`{"jsonrpc":"2.0","result":{"id":"t","contextId":"c","status":{"state":"completed"},"message":{"parts":"x"}}}`, "failed", "task.status.message.parts: must be a list of parts"},
	// An HTTP response belongs to one request, so the hub ignores the id in it. The document's
	// agents send none.
	"other-rpc-id":     {`{"jsonrpc":"2.0","id":"of-another-request","result":{"id":"t","contextId":"c","status":{"state":"completed"},"artifacts":[{"artifactId":"a","parts":[{"kind":"text","text":"once"}]}]}}`, "completed", "once"},
	"null-rpc-id":      {`{"jsonrpc":"2.0","id":null,"result":{"id":"t","contextId":"c","status":{"state":"completed"},"artifacts":[{"artifactId":"a","parts":[{"kind":"text","text":"once"}]}]}}`, "completed", "once"},
	"object-rpc-id":    {`{"jsonrpc":"2.0","id":{},"result":{"id":"t","contextId":"c","status":{"state":"completed"},"artifacts":[{"artifactId":"a","parts":[{"kind":"text","text":"once"}]}]}}`, "completed", "once"},
	"rpc-id-twice":     {`{"jsonrpc":"2.0","id":"1","id":"2","result":{"id":"t","contextId":"c","status":{"state":"completed"},"artifacts":[{"artifactId":"a","parts":[{"kind":"text","text":"once"}]}]}}`, "completed", "once"},
	"result-twice":     {`{"jsonrpc":"2.0","result":{"id":"t","contextId":"c","status":{"state":"completed"},"artifacts":[{"artifactId":"a","parts":[{"kind":"text","text":"once"}]}]},"result":{"id":"t","contextId":"c","status":{"state":"completed"},"artifacts":[{"artifactId":"a","parts":[{"kind":"text","text":"again"}]}]}}`, "completed", "once"},
	"result-and-error": {`{"jsonrpc":"2.0","result":{"id":"t","contextId":"c","status":{"state":"completed"},"artifacts":[{"artifactId":"a","parts":[{"kind":"text","text":"once"}]}]},"error":{"code":-32603,"message":"no"}}`, "failed", "no"},
	"task-id-twice":    {`{"jsonrpc":"2.0","result":{"id":"t","id":"u","contextId":"c","status":{"state":"completed"}}}`, "failed", "twice"},
	"state-twice":      {`{"jsonrpc":"2.0","result":{"id":"t","contextId":"c","status":{"state":"completed","state":"failed"}}}`, "failed", "twice"},
	"answer-twice":     {`{"jsonrpc":"2.0","id":"1","result":{"id":"t","contextId":"c","status":{"state":"completed"},"artifacts":[{"artifactId":"a","parts":[{"kind":"text","text":"once"}]}]}}{"jsonrpc":"2.0","id":"1","result":{"id":"t","contextId":"c","status":{"state":"completed"},"artifacts":[{"artifactId":"a","parts":[{"kind":"text","text":"once"}]}]}}`, "failed", "unexpected data after the value"},
}

// lying starts a hub with an agent for each lie of a table. The agent sends the lie as the
// answer to a method when the message is the name of the lie, and performs all other messages.
func lying(t *testing.T, method string, table map[string]lie) *hub {
	t.Helper()
	kind := map[bool]string{false: "application/json", true: "text/event-stream"}[method == "message/stream"]
	quinn := startAgent(t, fake{Streams: true, AnyContext: true, Raw: func(w http.ResponseWriter, _ *http.Request, call *rpcRequest) bool {
		l, found := table[call.Params.Message.text()]
		if found = found && call.Method == method; found {
			w.Header().Set("Content-Type", kind)
			io.WriteString(w, l.body)
		}
		return found
	}})
	agents := "agents:\n"
	for name := range table {
		agents += fmt.Sprintf("  - {name: %s, url: %q, streaming: %v}\n", name, quinn.URL+"/a2a", method == "message/stream")
	}
	return startHub(t, settings{Agents: agents})
}

// believes sends each lie of a table. It checks the reply to the caller, that one task is
// stored for each message, and that the agent performs the next message.
func (h *hub) believes(t *testing.T, table map[string]lie) {
	t.Helper()
	for name, tt := range table {
		t.Run(name, func(t *testing.T) {
			got := h.chat(map[string]any{"agent": name, "message": name})
			if got.State != tt.state || !strings.Contains(got.Reply, tt.reply) {
				t.Errorf("the reply is %+v, want %s with %q", got, tt.state, tt.reply)
			}
			if next := h.chat(map[string]any{"agent": name, "message": "hi"}); next.Reply != "re: hi" {
				t.Errorf("the next reply is %+v", next)
			}
		})
	}
	h.stores(t, 2*len(table))
}

// stores checks the number of tasks in the hub.
func (h *hub) stores(t *testing.T, want int) {
	t.Helper()
	if n := member(h.call("/v1/a2a/tasks", ""), "totalSize"); n != float64(want) {
		t.Errorf("the hub has %v tasks, want %d", n, want)
	}
}

// TestHostileAgents: an agent that answers with wrong types, states and orders fails its task
// with the reason, and has no other effect.
func TestHostileAgents(t *testing.T) {
	t.Parallel()
	lying(t, "message/send", evil).believes(t, evil)
}

// TestHostileStreams: a stream with events of another task, or without events, counts as
// broken, and the hub requests the task, which this agent does not know. A repeated end, and a
// status after it, change nothing.
func TestHostileStreams(t *testing.T) {
	t.Parallel()
	status := func(task, state, final string) string {
		return `data: {"jsonrpc":"2.0","result":{"kind":"status-update","taskId":"` + task + `","contextId":"c","status":{"state":"` + state + `"},"final":` + final + "}}\n\n"
	}
	artifact := `data: {"jsonrpc":"2.0","result":{"kind":"artifact-update","taskId":"t1","contextId":"c","artifact":{"artifactId":"a","parts":[{"kind":"text","text":"once"}]}}}` + "\n\n"
	streams := map[string]lie{
		"other-task":  {status("t1", "working", "false") + status("t2", "completed", "true"), "failed", "has lost the task"},
		"twice":       {artifact + status("t1", "completed", "true") + status("t1", "completed", "true"), "completed", "once"},
		"after-end":   {artifact + status("t1", "completed", "true") + status("t1", "working", "false"), "completed", "once"},
		"wrong-state": {status("t1", "working", "false") + status("t1", "resting", "false"), "failed", "has lost the task"},
		// The id of an answer is ignored, as in answers that are not streams.
		"other-rpc-ids": {
			strings.ReplaceAll(status("t1", "working", "false"), `"2.0"`, `"2.0","id":"1"`) + strings.ReplaceAll(artifact+status("t1", "completed", "true"), `"2.0"`, `"2.0","id":"2"`), "completed", "once",
		},
		"other-artifact": {status("t1", "working", "false") + strings.ReplaceAll(artifact, "t1", "t2"), "failed", "has lost the task"},
		"task-id-twice":  {status("t1", "working", "false") + strings.Replace(artifact, `"taskId":"t1"`, `"taskId":"t1","taskId":"t2"`, 1), "failed", "has lost the task"},
		"no-json":        {status("t1", "working", "false") + "data: {\n\n", "failed", "has lost the task"},
	}
	lying(t, "message/stream", streams).believes(t, streams)
}

// nextCard is the card of an agent at the second call.
type nextCard struct {
	card   string
	skills []string // in the hub afterwards; nil means ofTheCard
	error  string   // the hub's error in reading it
	fails  string   // the error of a call
	waits  [2]bool  // the hub does not request a stream: at once, and after its restart
}

// change makes a call with the first card, one with the next one, and one with the first one
// again, and continues a task of the first call.
func (n *nextCard) change(t *testing.T, first string, restart bool) {
	t.Parallel()
	quinn := startAgent(t, fake{Card: first, Streams: true, Key: "ava-secret"})
	h := startHub(t, settings{
		Agents: "agents:\n  - {name: quinn, url: \"" + quinn.URL + "/a2a\", apiKeyEnv: AVA_API_KEY, skills: [{name: pinned, description: of the file}]}\n",
		Env:    []string{"AVA_API_KEY=ava-secret"},
	})
	look := func(card, reason string, skills ...string) {
		t.Helper()
		quinn.setCard(card)
		known := h.call("/api/v1/agents/quinn/refresh", "{}")
		if got, _ := member(known, "agent", "remote", "health", "error").(string); !strings.Contains(got, reason) || (got == "") != (reason == "") {
			t.Errorf("the hub knows the error %q of the card, want %q", got, reason)
		}
		if diff := cmp.Diff(skills, h.skillsOf("quinn")); diff != "" {
			t.Errorf("skills (-want +got):\n%s", diff)
		}
	}
	call := func(fails string) string {
		t.Helper()
		got := h.chat(map[string]any{"agent": "quinn", "message": "hi"})
		if fails == "" && got.Reply != "re: hi" || fails != "" && (got.State != "failed" || !strings.Contains(got.Reply, fails)) {
			t.Errorf("the reply is %+v, want it to fail with %q", got, fails)
		}
		return quinn.last(t).Call.Method
	}
	look(first, "", ofTheCard...)
	asked := h.chat(map[string]any{"agent": "quinn", "message": "input-required which?"})
	quinn.setCard(n.card)
	if restart {
		h.Restart()
	}
	look(n.card, n.error, n.skills...)
	wait := n.waits[0]
	if restart {
		wait = n.waits[1]
	}
	if got := call(n.fails); n.fails == "" && (got == "message/send") != wait {
		t.Errorf("the message came by %s", got)
	}
	look(first, "", ofTheCard...)
	call("")
	ids := map[string]any{"agent": "quinn", "message": "this", "contextId": asked.ContextID, "taskId": asked.TaskID}
	if got := h.chat(ids); got.Reply != "re: this" || got.TaskID != asked.TaskID {
		t.Errorf("the task of before goes on with %+v", got)
	}
	h.stores(t, 3)
	for _, r := range quinn.requests(http.MethodPost) {
		if r.Path != "/a2a" {
			t.Errorf("POST %s %s", r.Path, r.Call.Method)
		}
	}
}

// ofTheCard are the skills of an agent whose first card is known.
var ofTheCard = []string{"first: of the card", "pinned: of the file"}

// TestChangingCards: the card has changed at the second call. The hub calls the configured URL
// all the same, as the document requires, and sends no message and no key to another host.
func TestChangingCards(t *testing.T) {
	t.Parallel()
	other := startAgent(t, fake{})
	first := ownCard("true", cardSkill("first", "of the card"))
	for name, tt := range map[string]nextCard{
		"skills vanish":   {card: ownCard("true", ""), skills: ofTheCard[1:]},
		"skills are 7":    {card: strings.Replace(first, `"skills":[`, `"skills":7,"x":[`, 1), skills: ofTheCard[1:]},
		"URL moves":       {card: strings.ReplaceAll(first, "http://127.0.0.1:7870/elsewhere", other.URL+"/a2a")},
		"interface moves": {card: strings.Replace(first, `"skills"`, `"supportedInterfaces":[{"url":"`+other.URL+`/a2a","protocolBinding":"JSONRPC","protocolVersion":"1.0"}],"skills"`, 1)},
		"other binding":   {card: strings.Replace(first, "JSONRPC", "HTTP+JSON", 1)},
		"gRPC alone":      {card: strings.NewReplacer("JSONRPC", "GRPC", "http://127.0.0.1:7870/elsewhere", "127.0.0.1:1").Replace(first), fails: "is not reachable"},
		"streaming ends":  {card: strings.Replace(first, `"streaming":true`, `"streaming":false`, 1), waits: [2]bool{true, true}},
		"name is 7":       {card: strings.Replace(first, `"Quinn"`, "7", 1), error: "read card: name: must be a string", waits: [2]bool{false, true}},
		"no JSON":         {card: `{"name":"Quinn",`, error: "no agent card: invalid JSON", waits: [2]bool{false, true}},
		"web page":        {card: `<html></html>`, error: "no agent card: it is a web page", waits: [2]bool{false, true}},
		"list":            {card: `[]`, error: "read card: must be an object", waits: [2]bool{false, true}},
		"gone":            {error: "no agent card", waits: [2]bool{false, true}},
	} {
		if tt.skills == nil {
			tt.skills = ofTheCard
		}
		t.Run(name, func(t *testing.T) { tt.change(t, first, false) })
		t.Run(name+" and the hub restarts", func(t *testing.T) { tt.change(t, first, true) })
	}
	t.Cleanup(func() {
		if all := append(other.requests(http.MethodPost), other.requests(http.MethodGet)...); len(all) != 0 {
			t.Errorf("the other host has got %+v", all)
		}
	})
}

// TestSameIDs: two requests with the same id on one connection are two requests, and each
// answer belongs to its request.
func TestSameIDs(t *testing.T) {
	t.Parallel()
	h := startHub(t, settings{Config: "agents:\n  - {name: waiter, command: [cat]}\n"})
	var all []hubtest.Request
	for _, text := range []string{"one", "two"} {
		body := strings.Replace(literal(text, ""), `"2.0",`, `"2.0","id":"same",`, 1)
		all = append(all, hubtest.Request{URL: h.URL() + "/a2a", Body: body})
	}
	again := strings.Replace(literal("three", ""), `"2.0",`, `"2.0","id":"same","id":"other",`, 1)
	got, err := hubtest.Pipelined(t.Context(), append(all, hubtest.Request{URL: h.URL() + "/a2a", Body: again}, all[0])...)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"one", "two", "", "one"} {
		var a answer
		if err := json.Unmarshal([]byte(got[i]), &a); err != nil {
			t.Fatal(err)
		}
		if want == "" {
			if a.Error == nil || a.Error.Code != -32600 || !strings.Contains(a.Error.Message, "id: appears twice") || string(a.ID) != "null" {
				t.Errorf("a request with two ids is answered with %s", got[i])
			}
		} else if string(a.ID) != `"same"` || a.Result == nil || len(a.Result.Artifacts) != 1 || a.Result.Artifacts[0].Parts[0].Text != want {
			t.Errorf("request %d is answered with %s, want %q", i, got[i], want)
		}
	}
	h.stores(t, 3)
}
