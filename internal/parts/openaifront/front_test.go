package openaifront_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type yielder = func(a2a.Event, error) bool

// seen records the messages that the agents of a hub got.
type seen struct {
	mu   sync.Mutex
	msgs []*a2a.Message
}

func (s *seen) add(m *a2a.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.msgs = append(s.msgs, m)
}

func (s *seen) last() *a2a.Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.msgs[len(s.msgs)-1]
}

// hub is a hub with agents for chat clients.
type hub struct {
	URL  string
	t    *testing.T
	seen seen
	// gate lets the agent slow continue.
	gate chan struct{}
	key  string
}

func start(t *testing.T, authenticator auth.Authenticator) *hub {
	t.Helper()
	h := &hub{t: t, gate: make(chan struct{})}
	hub := &parley.Hub{Auth: authenticator, Limits: parley.Limits{Body: 1 << 20}}
	h.agents(hub)
	h.URL, _ = hubtest.Run(t, hub)
	return h
}

func (h *hub) agents(hub *parley.Hub) {
	for name, run := range map[string]func(context.Context, *a2asrv.ExecutorContext, yielder){
		"talker": talk, "asker": ask, "program": program, "painter": paint, "breaker": fail, "slow": h.slow, "silent": func(_ context.Context, x *a2asrv.ExecutorContext, yield yielder) {
			yield(a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart("bare")), nil)
		},
	} {
		card := &a2a.AgentCard{Name: name, Description: "It is the " + name + ".", Version: "1", Skills: []a2a.AgentSkill{{ID: name + "-skill", Description: "It can."}}}
		hub.Handle(card, agent.Func(func(ctx context.Context, x *a2asrv.ExecutorContext, yield yielder) {
			h.seen.add(x.Message)
			run(ctx, x, yield)
		}))
	}
}

func status(x *a2asrv.ExecutorContext, s a2a.TaskState, text string) a2a.Event {
	if text == "" {
		return a2a.NewStatusUpdateEvent(x, s, nil)
	}
	return a2a.NewStatusUpdateEvent(x, s, a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart(text)))
}

func piece(x *a2asrv.ExecutorContext, id a2a.ArtifactID, appended bool, parts ...*a2a.Part) a2a.Event {
	ev := a2a.NewArtifactUpdateEvent(x, id, parts...)
	ev.Append = appended
	return ev
}

// talk sends the words of the last part one after the other, in two artifacts.
func talk(_ context.Context, x *a2asrv.ExecutorContext, yield yielder) {
	yield(status(x, a2a.TaskStateWorking, "thinking"), nil)
	for i, word := range strings.SplitAfter(x.Message.Parts[len(x.Message.Parts)-1].Text(), " ") {
		yield(piece(x, "a", i > 0, a2a.NewTextPart(word)), nil)
	}
	yield(piece(x, "b", false, a2a.NewTextPart("Bye.")), nil)
	cost := a2a.NewDataPart(map[string]any{"usage": map[string]any{"input_tokens": 3, "output_tokens": 4}})
	cost.Metadata = map[string]any{"mimeType": "application/vnd.protolabs.cost-v1+json"}
	yield(piece(x, "cost", false, cost), nil)
	yield(status(x, a2a.TaskStateCompleted, "done"), nil)
}

// ask asks for a city and a day.
func ask(_ context.Context, x *a2asrv.ExecutorContext, yield yielder) {
	text := agent.Text(x.Message)
	switch {
	case x.StoredTask == nil:
		yield(piece(x, "a", false, a2a.NewTextPart("Hm.")), nil)
		yield(status(x, a2a.TaskStateInputRequired, "Which city?"), nil)
	case text == "Oslo":
		yield(status(x, a2a.TaskStateInputRequired, "Which day?"), nil)
	default:
		yield(status(x, a2a.TaskStateCompleted, "Rain on "+text+"."), nil)
	}
}

// program sends its question in an artifact, too, as command agents do.
func program(_ context.Context, x *a2asrv.ExecutorContext, yield yielder) {
	yield(piece(x, "a", false, a2a.NewTextPart("Which city?\n")), nil)
	yield(status(x, a2a.TaskStateInputRequired, "Which city?"), nil)
}

// paint answers with a picture and data alone.
func paint(_ context.Context, x *a2asrv.ExecutorContext, yield yielder) {
	picture := &a2a.Part{Content: a2a.Raw("PNG"), MediaType: "image/png", Filename: "a.png"}
	yield(piece(x, "a", false, picture, a2a.NewDataPart(map[string]any{"n": 1})), nil)
	yield(status(x, a2a.TaskStateCompleted, ""), nil)
}

// fail ends in the state that its message names, after a word.
func fail(_ context.Context, x *a2asrv.ExecutorContext, yield yielder) {
	yield(piece(x, "a", false, a2a.NewTextPart("So ")), nil)
	switch agent.Text(x.Message) {
	case "reject":
		yield(status(x, a2a.TaskStateRejected, ""), nil)
	case "whole":
		yield(piece(x, "a", false, a2a.NewTextPart("So be it")), nil)
		yield(piece(x, "a", false, a2a.NewTextPart("No")), nil)
		yield(status(x, a2a.TaskStateCompleted, ""), nil)
	default:
		yield(status(x, a2a.TaskStateFailed, "the agent is tired"), nil)
	}
}

func (h *hub) slow(ctx context.Context, x *a2asrv.ExecutorContext, yield yielder) {
	yield(piece(x, "a", false, a2a.NewTextPart("first ")), nil)
	select {
	case <-h.gate:
	case <-ctx.Done():
		return
	}
	yield(piece(x, "a", true, a2a.NewTextPart("last")), nil)
	yield(status(x, a2a.TaskStateCompleted, ""), nil)
}

// do sends a request and returns the status, the header and the body.
func (h *hub) do(method, path, body string) (int, http.Header, string) {
	h.t.Helper()
	req, err := http.NewRequestWithContext(h.t.Context(), method, h.URL+path, strings.NewReader(body))
	if err != nil {
		h.t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if h.key != "" {
		req.Header.Set("Authorization", "Bearer "+h.key)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		h.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		h.t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, string(b)
}

// reply holds the checked members of an answer.
type reply struct {
	ID, Object, Model string
	Choices           []struct {
		Message, Delta struct {
			Role, Content string
			Parts         []json.RawMessage `json:"a2a_parts"`
		}
		FinishReason *string `json:"finish_reason"`
	}
	Usage    map[string]int
	Metadata map[string]string
	Error    *struct{ Message, Type, Param, Code string }
}

func (h *hub) chat(body string) *reply {
	h.t.Helper()
	code, _, b := h.do("POST", "/v1/chat/completions", body)
	r := new(reply)
	if err := json.Unmarshal([]byte(b), r); err != nil || code != http.StatusOK {
		h.t.Fatalf("%s: %d %s", body, code, b)
	}
	return r
}

func (r *reply) text() string { return r.Choices[0].Message.Content }

// streamed sends a request for a stream and returns its chunks; the last one is nil if the
// stream ended with the event [DONE].
func (h *hub) streamed(body string) []*reply {
	h.t.Helper()
	code, header, b := h.do("POST", "/v1/chat/completions", body)
	if code != http.StatusOK || header.Get("Content-Type") != "text/event-stream" {
		h.t.Fatalf("%s: %d %v %s", body, code, header, b)
	}
	var chunks []*reply
	for s := bufio.NewScanner(strings.NewReader(b)); s.Scan(); {
		data, found := strings.CutPrefix(s.Text(), "data: ")
		switch {
		case !found:
			continue
		case data == "[DONE]":
			chunks = append(chunks, nil)
			continue
		}
		r := new(reply)
		if err := json.Unmarshal([]byte(data), r); err != nil {
			h.t.Fatalf("chunk %s: %v", data, err)
		}
		chunks = append(chunks, r)
	}
	return chunks
}

func one(model, text string) string {
	return fmt.Sprintf(`{"model":%q,"messages":[{"role":"user","content":%q}]}`, model, text)
}

func TestModels(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	code, _, b := h.do("GET", "/v1/models", "")
	var list struct {
		Object string
		Data   []struct{ ID, Object, OwnedBy, Description string }
	}
	if err := json.Unmarshal([]byte(b), &list); err != nil || code != http.StatusOK || list.Object != "list" || len(list.Data) != 14 {
		t.Fatalf("models: %d %s", code, b)
	}
	ids := map[string]string{}
	for _, m := range list.Data {
		ids[m.ID] = m.Description
	}
	if ids["talker"] != "It is the talker." || ids["talker/talker-skill"] != "It can." {
		t.Errorf("models are %v", ids)
	}
	for _, id := range []string{"talker", "talker/talker-skill", "talker%2Ftalker-skill", "talker-skill"} {
		if code, _, b := h.do("GET", "/v1/models/"+id, ""); code != http.StatusOK || !strings.Contains(b, `"object":"model"`) {
			t.Errorf("model %s: %d %s", id, code, b)
		}
	}
	for _, id := range []string{"talkre", "talker/asker-skill", ""} {
		if code, _, b := h.do("GET", "/v1/models/"+id, ""); code != http.StatusNotFound && code != http.StatusBadRequest {
			t.Errorf("model %q: %d %s", id, code, b)
		}
	}
}

func TestChat(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	for _, model := range []string{"talker", "talker/talker-skill", "TALKER-skill"} {
		r := h.chat(one(model, "Good day to you"))
		if r.text() != "Good day to you\nBye." || r.Object != "chat.completion" || r.Model != model || *r.Choices[0].FinishReason != "stop" {
			t.Errorf("%s answers %+v", model, r)
		}
		if !cmp.Equal(r.Usage, map[string]int{"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}) {
			t.Errorf("usage is %+v", r.Usage)
		}
		if r.Metadata["state"] != "completed" || r.ID != "chatcmpl-"+r.Metadata["task_id"] || r.Metadata["context_id"] == "" {
			t.Errorf("metadata is %v of %s", r.Metadata, r.ID)
		}
	}
	if r := h.chat(one("silent", "?")); r.text() != "bare" {
		t.Errorf("a bare message answers %q", r.text())
	}
	r := h.chat(one("painter", "?"))
	if want := "[a.png: image/png, 3 bytes]\n{\"n\":1}"; r.text() != want || len(r.Choices[0].Message.Parts) != 2 {
		t.Errorf("a picture is %q with %s", r.text(), r.Choices[0].Message.Parts)
	}
	if r := h.chat(one("breaker", "whole")); r.text() != "No" {
		t.Errorf("an artifact that is sent again is %q", r.text())
	}
}

func TestStream(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	chunks := h.streamed(`{"model":"talker","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":[{"type":"text","text":"Good day"}]}]}`)
	var deltas []string
	for _, c := range chunks {
		switch {
		case c == nil:
			deltas = append(deltas, "[DONE]")
		case len(c.Choices) == 0:
			deltas = append(deltas, fmt.Sprint("usage ", c.Usage["total_tokens"]))
		case c.Choices[0].FinishReason != nil:
			deltas = append(deltas, *c.Choices[0].FinishReason+" "+c.Metadata["state"])
		default:
			deltas = append(deltas, c.Choices[0].Delta.Role+c.Choices[0].Delta.Content)
		}
	}
	want := []string{"assistant", "Good ", "day", "\nBye.", "stop completed", "usage 7", "[DONE]"}
	if diff := cmp.Diff(want, deltas); diff != "" {
		t.Errorf("stream mismatch (-want +got):\n%s", diff)
	}
	chunks = h.streamed(`{"model":"breaker","stream":true,"messages":[{"role":"user","content":"x"}]}`)
	last := chunks[len(chunks)-1]
	if last == nil || last.Error == nil || last.Error.Code != "task_failed" || last.Error.Message != "the agent is tired" {
		t.Errorf("a stream that fails ends with %+v", last)
	}
}

// TestQuestions checks that a question is an answer, and that the next message continues the
// task that asked.
func TestQuestions(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	first := h.chat(one("asker", "Weather?"))
	if first.text() != "Hm.\n\nWhich city?" || first.Metadata["state"] != "input-required" || *first.Choices[0].FinishReason != "stop" {
		t.Fatalf("the question is %+v", first)
	}
	second := h.chat(`{"model":"asker","messages":[{"role":"user","content":"Weather?"},{"role":"assistant","content":"Hm.\n\nWhich city?"},{"role":"user","content":"Oslo"}]}`)
	if second.text() != "Which day?" || second.Metadata["task_id"] != first.Metadata["task_id"] {
		t.Fatalf("the second question is %+v", second)
	}
	third := h.chat(`{"model":"asker","messages":[{"role":"user","content":"Weather?"},{"role":"assistant","content":"Hm.\n\nWhich city?"},
		{"role":"user","content":"Oslo"},{"role":"assistant","content":[{"type":"text","text":"Which day? "}]},{"role":"user","content":"Monday"}]}`)
	if third.text() != "Rain on Monday." || third.Metadata["task_id"] != first.Metadata["task_id"] || third.Metadata["state"] != "completed" {
		t.Fatalf("the answer is %+v", third)
	}
	other := h.chat(`{"model":"asker","messages":[{"role":"user","content":"Weather?"},{"role":"assistant","content":"Never mind."},{"role":"user","content":"Oslo"}]}`)
	if other.Metadata["task_id"] == first.Metadata["task_id"] || other.Metadata["state"] != "input-required" {
		t.Errorf("another conversation continues the task: %+v", other)
	}
	named := h.chat(fmt.Sprintf(`{"model":"asker","metadata":{"task_id":%q},"messages":[{"role":"user","content":"Tuesday"}]}`, other.Metadata["task_id"]))
	if named.text() != "Rain on Tuesday." {
		t.Errorf("a task that is named answers %+v", named)
	}
	once := h.chat(one("program", "Weather?"))
	if once.text() != "Which city?\n" || once.Metadata["state"] != "input-required" {
		t.Errorf("the question of a program is %+v", once)
	}
	again := h.chat(`{"model":"program","messages":[{"role":"user","content":"Weather?"},{"role":"assistant","content":"Which city?\n"},{"role":"user","content":"Oslo"}]}`)
	if again.Metadata["task_id"] != once.Metadata["task_id"] {
		t.Errorf("the answer to a program goes to another task: %+v", again)
	}
}

// TestConversations checks that the list of messages is the conversation, and that the hub
// keeps it if a user is given.
func TestConversations(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	const talk = `"messages":[{"role":"system","content":"Be kind."},{"role":"user","content":[{"type":"text","text":"Look:"},{"type":"image_url","image_url":{"url":"data:image/png;base64,eA=="}}]},
		{"role":"assistant","content":"Nice.","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}]},
		{"role":"tool","tool_call_id":"c","content":"ok"},{"role":"assistant","content":"Done."},{"role":"user","content":"And now?"}]`
	const transcript = "Earlier in this conversation:\nsystem: Be kind.\nuser: Look:\nuser: [image/png, 1 bytes]\nassistant: Nice.\nassistant: (calls f with {\"a\":1})\ntool: ok\nassistant: Done.\n"
	received := func() []string {
		var texts []string
		for _, p := range h.seen.last().Parts {
			texts = append(texts, p.Text())
		}
		return texts
	}
	h.chat(`{"model":"talker",` + talk + `}`)
	if diff := cmp.Diff([]string{transcript, "And now?"}, received()); diff != "" {
		t.Errorf("the agent received (-want +got):\n%s", diff)
	}
	first := h.chat(`{"model":"talker","user":"ann",` + talk + `}`)
	if diff := cmp.Diff([]string{transcript, "And now?"}, received()); diff != "" {
		t.Errorf("without the conversation the agent received (-want +got):\n%s", diff)
	}
	second := h.chat(`{"model":"talker","user":"ann",` + talk + `}`)
	if diff := cmp.Diff([]string{"And now?"}, received()); diff != "" {
		t.Errorf("with the conversation the agent received (-want +got):\n%s", diff)
	}
	if first.Metadata["context_id"] != second.Metadata["context_id"] || first.Metadata["task_id"] == second.Metadata["task_id"] {
		t.Errorf("contexts are %v and %v", first.Metadata, second.Metadata)
	}
	if other := h.chat(`{"model":"talker","user":"bob",` + talk + `}`); other.Metadata["context_id"] == first.Metadata["context_id"] {
		t.Error("two users share a context")
	}
	if named := h.chat(`{"model":"talker","metadata":{"context_id":"mine"},` + talk + `}`); named.Metadata["context_id"] != "mine" {
		t.Errorf("the context is %v", named.Metadata)
	}
	question := h.chat(`{"model":"asker","user":"ann","messages":[{"role":"user","content":"Weather?"}]}`)
	answer := h.chat(`{"model":"asker","user":"ann","messages":[{"role":"user","content":"Monday"}]}`)
	if answer.text() != "Rain on Monday." || answer.Metadata["task_id"] != question.Metadata["task_id"] {
		t.Errorf("the answer is %+v", answer)
	}
}

func TestMessageToAgent(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	h.chat(`{"model":"talker","temperature":0.50,"seed":null,"n":1,"tools":[],"messages":[{"role":"user","content":[
		{"type":"image_url","image_url":{"url":"https://a.example/b.png","detail":"low"}},{"type":"text","text":"What?"}]}]}`)
	m := h.seen.last()
	want := a2a.ContentParts{
		{Content: a2a.URL("https://a.example/b.png"), MediaType: "image/png", Metadata: map[string]any{"detail": "low"}}, a2a.NewTextPart("What?"),
	}
	if diff := cmp.Diff(want, m.Parts); diff != "" {
		t.Errorf("parts mismatch (-want +got):\n%s", diff)
	}
}

// TestErrors checks that errors have OpenAI's shape and name the parameter.
func TestErrors(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	const ok = `"messages":[{"role":"user","content":"a"}]`
	for _, tt := range []struct {
		body       string
		code       int
		kind, name string
		message    string
	}{
		{`{`, 400, "invalid_request_error/parse_error", "", ""},
		{`[]`, 400, "invalid_request_error/invalid_request", "", "the body must be a JSON object"},
		{`{` + ok + `}`, 400, "invalid_request_error/invalid_params", "model", "model: is required"},
		{`{"model":7,` + ok + `}`, 400, "invalid_request_error/invalid_params", "model", "model: must be a string"},
		{`{"model":"talkre",` + ok + `}`, 404, "invalid_request_error/model_not_found", "model", "The model `talkre` does not exist; did you mean `talker`?"},
		{`{"model":"talker"}`, 400, "invalid_request_error/invalid_params", "messages", "messages: must have at least one message"},
		{`{"model":"talker","messages":{}}`, 400, "invalid_request_error/invalid_params", "messages", ""},
		{`{"model":"talker","messages":[7]}`, 400, "invalid_request_error/invalid_params", "messages[0]", ""},
		{`{"model":"talker","messages":[{"role":7}]}`, 400, "invalid_request_error/invalid_params", "messages[0].role", ""},
		{`{"model":"talker","messages":[{"role":"user","content":7}]}`, 400, "invalid_request_error/invalid_params", "messages[0]", "messages[0]: content must be a string or a list of parts"},
		{`{"model":"talker","messages":[{"role":"user","content":[{"type":"film"}]}]}`, 400, "invalid_request_error/invalid_params", "messages[0].content[0].type", ""},
		{`{"model":"talker","messages":[{"role":"user","content":"a"},{"role":"user","content":[{"type":"file","file":{"file_id":"f"}}]}]}`, 400, "invalid_request_error/invalid_params", "messages[1].content[0].file.file_id", ""},
		{`{"model":"talker","messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"}]}`, 400, "invalid_request_error/invalid_params", "messages", ""},
		{`{"model":"talker","messages":[{"role":"user"}]}`, 400, "invalid_request_error/invalid_params", "messages", "messages: say nothing"},
		{`{"model":"talker","model":"talker",` + ok + `}`, 400, "invalid_request_error/invalid_params", "model", "model: appears twice"},
		{`{"model":"talker","n":2,` + ok + `}`, 400, "invalid_request_error/invalid_params", "n", "n: is not supported: there is one choice; send the request again for another one"},
		{`{"model":"talker","tools":[{}],` + ok + `}`, 400, "invalid_request_error/invalid_params", "tools", ""},
		{`{"model":"talker","logprobs":true,` + ok + `}`, 400, "invalid_request_error/invalid_params", "logprobs", ""},
		{`{"model":"talker","audio":{},` + ok + `}`, 400, "invalid_request_error/invalid_params", "audio", ""},
		{`{"model":"talker","response_format":{"type":"json_object"},` + ok + `}`, 400, "invalid_request_error/invalid_params", "response_format", ""},
		{`{"model":"talker","stream":"yes",` + ok + `}`, 400, "invalid_request_error/invalid_params", "stream", ""},
		{`{"model":"talker","stream_options":7,` + ok + `}`, 400, "invalid_request_error/invalid_params", "stream_options", ""},
		{`{"model":"talker","metadata":{"a":1},` + ok + `}`, 400, "invalid_request_error/invalid_params", "metadata", ""},
		{`{"model":"talker","metadata":{"task_id":"nobodys"},` + ok + `}`, 404, "invalid_request_error/task_not_found", "", ""},
		{one("breaker", "x"), 422, "agent_error/task_failed", "", "the agent is tired"},
		{one("breaker", "reject"), 422, "agent_error/task_rejected", "", "the agent gave no reason"},
		{`{"model":"talker","messages":[{"role":"user","content":"` + strings.Repeat("a", 2<<20) + `"}]}`, 413, "invalid_request_error/request_too_large", "", ""},
	} {
		code, _, b := h.do("POST", "/v1/chat/completions", tt.body)
		var r reply
		name := tt.body[:min(len(tt.body), 90)]
		if err := json.Unmarshal([]byte(b), &r); err != nil || r.Error == nil {
			t.Errorf("%s: %d %s", name, code, b)
			continue
		}
		if e := r.Error; code != tt.code || e.Type+"/"+e.Code != tt.kind || e.Param != tt.name || tt.message != "" && e.Message != tt.message {
			t.Errorf("%s: %d %s, want %d %s about %q: %s", name, code, b, tt.code, tt.kind, tt.name, tt.message)
		}
	}
	if code, header, b := h.do("GET", "/v1/chat/completions", ""); code != http.StatusMethodNotAllowed || header.Get("Allow") != "POST" || !strings.Contains(b, `"type"`) {
		t.Errorf("GET: %d %v %s", code, header, b)
	}
}

// keys authenticates callers by the name in the key.
type keys struct{}

func (keys) Authenticate(_ context.Context, r *auth.Request) (*auth.Principal, error) {
	for _, v := range r.Header("Authorization") {
		if name, ok := strings.CutPrefix(v, "Bearer key-"); ok {
			return &auth.Principal{ID: name}, nil
		}
	}
	return nil, auth.ErrUnauthenticated
}

// TestCallers checks that callers need a key, and have conversations of their own.
func TestCallers(t *testing.T) {
	t.Parallel()
	h := start(t, keys{})
	code, header, b := h.do("POST", "/v1/chat/completions", one("asker", "a"))
	if code != http.StatusUnauthorized || !strings.Contains(b, `"code":"invalid_api_key"`) || header.Get("Www-Authenticate") == "" {
		t.Errorf("without a key: %d %s", code, b)
	}
	const ask = `{"model":"asker","user":"u","messages":[{"role":"user","content":"Weather?"}]}`
	h.key = "key-ann"
	first := h.chat(ask)
	h.key = "key-bob"
	second := h.chat(ask)
	if first.Metadata["context_id"] == second.Metadata["context_id"] || second.Metadata["state"] != "input-required" {
		t.Errorf("two callers share a conversation: %v, %v", first.Metadata, second.Metadata)
	}
	again := h.chat(fmt.Sprintf(`{"model":"asker","metadata":{"context_id":%q},"messages":[{"role":"user","content":"Oslo"}]}`, first.Metadata["context_id"]))
	if again.Metadata["task_id"] == first.Metadata["task_id"] {
		t.Error("a caller continues the task of another one")
	}
}

// TestClientGoesAway checks that a disconnected client does not affect the task.
func TestClientGoesAway(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "POST", h.URL+"/v1/chat/completions", strings.NewReader(`{"model":"slow","user":"u","stream":true,"messages":[{"role":"user","content":"a"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	id := ""
	for s := bufio.NewScanner(resp.Body); s.Scan() && !strings.Contains(s.Text(), "first"); {
		if _, rest, found := strings.Cut(s.Text(), "chatcmpl-"); found {
			id, _, _ = strings.Cut(rest, `"`)
		}
	}
	watched, err := http.Get(h.URL + "/v1/a2a/tasks/" + id + ":subscribe")
	if err != nil || watched.StatusCode != http.StatusOK {
		t.Fatalf("subscribe to %q: %v, %v", id, watched, err)
	}
	defer watched.Body.Close()
	cancel()
	close(h.gate)
	b, err := io.ReadAll(watched.Body)
	if err != nil || !strings.Contains(string(b), "TASK_STATE_COMPLETED") || !strings.Contains(string(b), `"last"`) {
		t.Errorf("the task went on with %s, %v", b, err)
	}
}
