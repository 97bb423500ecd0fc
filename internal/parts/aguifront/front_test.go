package aguifront_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/llm"
	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type yielder = func(a2a.Event, error) bool

// hub is a hub with agents for AG-UI clients. It records the messages of the agents.
type hub struct {
	URL string
	t   *testing.T

	mu   sync.Mutex // guards the fields below
	msgs []*a2a.Message
	meta map[string]any
}

func start(t *testing.T) *hub {
	t.Helper()
	h := &hub{t: t}
	var p parley.Hub
	for name, run := range map[string]agent.Func{
		"talker": talk, "worker": work, "asker": ask, "program": program, "tooler": tool, "breaker": fail, "plain": plain,
	} {
		card := &a2a.AgentCard{Name: name, Version: "1", Skills: []a2a.AgentSkill{{ID: name + "-skill"}}}
		p.Handle(card, agent.Func(func(ctx context.Context, x *a2asrv.ExecutorContext, yield yielder) {
			h.mu.Lock()
			h.msgs, h.meta = append(h.msgs, x.Message), x.Metadata
			h.mu.Unlock()
			run(ctx, x, yield)
		}))
	}
	h.URL, _ = hubtest.Run(t, &p)
	return h
}

func status(x *a2asrv.ExecutorContext, s a2a.TaskState, parts ...*a2a.Part) a2a.Event {
	if len(parts) == 0 {
		return a2a.NewStatusUpdateEvent(x, s, nil)
	}
	return a2a.NewStatusUpdateEvent(x, s, a2a.NewMessage(a2a.MessageRoleAgent, parts...))
}

func piece(x *a2asrv.ExecutorContext, id a2a.ArtifactID, appended bool, parts ...*a2a.Part) a2a.Event {
	ev := a2a.NewArtifactUpdateEvent(x, id, parts...)
	ev.Append = appended
	return ev
}

func text(s string) *a2a.Part { return a2a.NewTextPart(s) }

// extension is a part of one of the extensions.
func extension(name, data string) *a2a.Part {
	var v any
	if err := json.Unmarshal([]byte(data), &v); err != nil {
		panic(err)
	}
	p := a2a.NewDataPart(v)
	p.Metadata = map[string]any{"mimeType": "application/vnd.protolabs." + name + "+json"}
	return p
}

func talk(_ context.Context, x *a2asrv.ExecutorContext, yield yielder) {
	yield(status(x, a2a.TaskStateWorking, text("thinking")), nil)
	yield(piece(x, "a", false, text("Good ")), nil)
	yield(piece(x, "b", false, text("Other")), nil)
	yield(piece(x, "a", true, text("day")), nil)
	yield(piece(x, "b", false, text("New")), nil)
	yield(piece(x, "c", false, &a2a.Part{Content: a2a.Raw("x"), MediaType: "image/png"}), nil)
	yield(status(x, a2a.TaskStateCompleted, text("done")), nil)
}

// work reports its tools, its effects and its costs.
func work(_ context.Context, x *a2asrv.ExecutorContext, yield yielder) {
	for i, p := range []*a2a.Part{
		extension("tool-call-v1", `{"toolCallId":"c1","name":"look","phase":"started","args":{"at":1}}`),
		extension("tool-call-v1", `{"toolCallId":"c1","name":"look","phase":"completed","result":{"sky":"blue"}}`),
		extension("tool-call-v1", `{"toolCallId":"c2","name":"leap","phase":"failed","error":"too high"}`),
		extension("tool-call-v1", `{"toolCallId":"c3","name":"odd","phase":"thinking"}`),
		extension("worldstate-delta-v1", `{"deltas":[{"domain":"repo","path":"open/issues","op":"inc","value":2}]}`),
		extension("worldstate-delta-v1", `{"deltas":[{"domain":"repo","path":"open.issues","op":"inc","value":1},{"domain":"repo","path":"a~b","op":"push","value":"x"}]}`),
		extension("worldstate-delta-v1", `{"deltas":[{"domain":"mood","path":"","op":"set","value":"good"}]}`),
		extension("worldstate-delta-v1", `{"deltas":[{"domain":"mood","op":"melt"}]}`),
		extension("cost-v1", `{"usage":{"input_tokens":3,"output_tokens":4}}`),
	} {
		yield(piece(x, a2a.ArtifactID(fmt.Sprint("p", i)), false, p), nil)
	}
	yield(status(x, a2a.TaskStateCompleted), nil)
}

func ask(_ context.Context, x *a2asrv.ExecutorContext, yield yielder) {
	switch {
	case x.StoredTask == nil:
		yield(status(x, a2a.TaskStateInputRequired, text("Which city?")), nil)
	case x.Message.Parts[0].Data() != nil:
		yield(status(x, a2a.TaskStateAuthRequired, text("May I?")), nil)
	default:
		yield(status(x, a2a.TaskStateCompleted, text("Rain in "+agent.Text(x.Message))), nil)
	}
}

// program sends its question in an artifact, too, as command agents do.
func program(_ context.Context, x *a2asrv.ExecutorContext, yield yielder) {
	yield(piece(x, "a", false, text("Which city?\n")), nil)
	yield(status(x, a2a.TaskStateInputRequired, text("Which city?")), nil)
}

// tool asks its caller to perform a tool.
func tool(_ context.Context, x *a2asrv.ExecutorContext, yield yielder) {
	if r, ok := llm.ClientResultOf(x.Message.Parts[0]); ok {
		b, _ := json.Marshal(r)
		yield(status(x, a2a.TaskStateCompleted, text(string(b))), nil)
		return
	}
	call := &llm.ClientCall{ID: "c1", Name: "read", Args: map[string]any{"path": "a"}, Consent: "May I read?"}
	yield(status(x, a2a.TaskStateInputRequired, call.Part(), (&llm.ClientCall{ID: "c2", Name: "list"}).Part()), nil)
}

func fail(_ context.Context, x *a2asrv.ExecutorContext, yield yielder) {
	yield(piece(x, "a", false, text("So ")), nil)
	if agent.Text(x.Message) == "reject" {
		yield(status(x, a2a.TaskStateRejected), nil)
		return
	}
	yield(status(x, a2a.TaskStateFailed, text("it is tired")), nil)
}

func plain(_ context.Context, x *a2asrv.ExecutorContext, yield yielder) {
	yield(piece(x, "a", false, text("You said "+agent.Text(x.Message))), nil)
	yield(status(x, a2a.TaskStateCompleted), nil)
}

func (h *hub) post(path, body string) (int, string) {
	h.t.Helper()
	req, err := http.NewRequestWithContext(h.t.Context(), http.MethodPost, h.URL+path, strings.NewReader(body))
	if err != nil {
		h.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		h.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		h.t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

// run returns the events of a run, with the id of its task replaced by T.
func (h *hub) run(agentName, body string) []string {
	h.t.Helper()
	code, b := h.post("/ag-ui/"+agentName, body)
	if code != http.StatusOK {
		h.t.Fatalf("%s %s: %d %s", agentName, body, code, b)
	}
	var events []string
	id := ""
	for s := bufio.NewScanner(strings.NewReader(b)); s.Scan(); {
		data, found := strings.CutPrefix(s.Text(), "data: ")
		if !found {
			continue
		}
		if strings.Contains(strings.ReplaceAll(data, `\"`, ""), `":null`) {
			h.t.Errorf("event with null: %s", data)
		}
		var ev struct{ Metadata struct{ TaskID string } }
		if json.Unmarshal([]byte(data), &ev) == nil && ev.Metadata.TaskID != "" {
			id = ev.Metadata.TaskID
		}
		if id != "" {
			data = strings.ReplaceAll(data, id, "T")
		}
		events = append(events, data)
	}
	return events
}

// runInput is a run with one message.
func runInput(thread, run, words string) string {
	return fmt.Sprintf(`{"threadId":%q,"runId":%q,"state":{},"tools":[],"context":[],"messages":[{"id":"m","role":"user","content":%q}]}`, thread, run, words)
}

func (h *hub) want(name string, got, want []string) {
	h.t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		h.t.Errorf("%s mismatch (-want +got):\n%s", name, diff)
	}
}

func started(thread, run string) string {
	return fmt.Sprintf(`{"metadata":{"contextId":%q,"taskId":"T"},"protocolVersion":"1.0","runId":%q,"threadId":%q,"type":"RUN_STARTED"}`, thread, run, thread)
}

func finished(thread, run, outcome string) string {
	return fmt.Sprintf(`{"outcome":%s,"runId":%q,"threadId":%q,"type":"RUN_FINISHED"}`, outcome, run, thread)
}

func TestTexts(t *testing.T) {
	t.Parallel()
	h := start(t)
	want := []string{
		started("t1", "r1"),
		`{"activityType":"a2a-task","content":{"state":"working","taskId":"T","text":"thinking"},"messageId":"T:status","replace":true,"type":"ACTIVITY_SNAPSHOT"}`,
		`{"messageId":"T:1:a","role":"assistant","type":"TEXT_MESSAGE_START"}`,
		`{"delta":"Good ","messageId":"T:1:a","type":"TEXT_MESSAGE_CONTENT"}`,
		`{"messageId":"T:1:b","role":"assistant","type":"TEXT_MESSAGE_START"}`,
		`{"delta":"Other","messageId":"T:1:b","type":"TEXT_MESSAGE_CONTENT"}`,
		`{"delta":"day","messageId":"T:1:a","type":"TEXT_MESSAGE_CONTENT"}`,
		`{"messageId":"T:1:b","type":"TEXT_MESSAGE_END"}`,
		`{"messageId":"T:1:b:2","role":"assistant","type":"TEXT_MESSAGE_START"}`,
		`{"delta":"New","messageId":"T:1:b:2","type":"TEXT_MESSAGE_CONTENT"}`,
		`{"name":"a2a.part","type":"CUSTOM","value":{"artifactId":"c","part":{"raw":"eA==","mediaType":"image/png"}}}`,
		`{"messageId":"T:1:a","type":"TEXT_MESSAGE_END"}`,
		`{"messageId":"T:1:b:2","type":"TEXT_MESSAGE_END"}`,
		finished("t1", "r1", `{"type":"success"}`),
	}
	for range 2 { // the second time it is the same run
		h.want("events", h.run("talker", runInput("t1", "r1", "hi")), want)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.msgs) != 1 {
		t.Errorf("the agent was asked %d times", len(h.msgs))
	}
}

func TestTools(t *testing.T) {
	t.Parallel()
	h := start(t)
	body := strings.Replace(runInput("t1", "r1", "hi"), `"state":{}`, `"state":{"repo":{"stars":5}}`, 1)
	h.want("events", h.run("worker", body), []string{
		started("t1", "r1"),
		`{"toolCallId":"c1","toolCallName":"look","type":"TOOL_CALL_START"}`,
		`{"delta":"{\"at\":1}","toolCallId":"c1","type":"TOOL_CALL_ARGS"}`,
		`{"toolCallId":"c1","type":"TOOL_CALL_END"}`,
		`{"content":"{\"sky\":\"blue\"}","messageId":"c1:result","role":"tool","toolCallId":"c1","type":"TOOL_CALL_RESULT"}`,
		`{"toolCallId":"c2","toolCallName":"leap","type":"TOOL_CALL_START"}`,
		`{"toolCallId":"c2","type":"TOOL_CALL_END"}`,
		`{"content":"too high","messageId":"c2:result","role":"tool","toolCallId":"c2","type":"TOOL_CALL_RESULT"}`,
		`{"name":"a2a.part","type":"CUSTOM","value":{"artifactId":"p3","part":{"data":{"name":"odd","phase":"thinking","toolCallId":"c3"},"metadata":{"mimeType":"application/vnd.protolabs.tool-call-v1+json"}}}}`,
		`{"snapshot":{"repo":{"open":{"issues":2},"stars":5}},"type":"STATE_SNAPSHOT"}`,
		`{"delta":[{"op":"add","path":"/repo/open/issues","value":3},{"op":"add","path":"/repo/a~0b","value":["x"]}],"type":"STATE_DELTA"}`,
		`{"delta":[{"op":"add","path":"/mood","value":"good"}],"type":"STATE_DELTA"}`,
		`{"name":"a2a.part","type":"CUSTOM","value":{"artifactId":"p7","part":{"data":{"deltas":[{"domain":"mood","op":"melt"}]},"metadata":{"mimeType":"application/vnd.protolabs.worldstate-delta-v1+json"}}}}`,
		`{"name":"a2a.part","type":"CUSTOM","value":{"artifactId":"p8","part":{"data":{"usage":{"input_tokens":3,"output_tokens":4}},"metadata":{"mimeType":"application/vnd.protolabs.cost-v1+json"}}}}`,
		`{"outcome":{"type":"success"},"runId":"r1","threadId":"t1","type":"RUN_FINISHED","usage":[{"inputTokens":3,"outputTokens":4}]}`,
	})
}

// TestInterrupts checks that a question is an interrupt, and that the answer resumes its task.
func TestInterrupts(t *testing.T) {
	t.Parallel()
	h := start(t)
	question := []string{
		`{"messageId":"T:1:status","role":"assistant","type":"TEXT_MESSAGE_START"}`,
		`{"delta":"Which city?","messageId":"T:1:status","type":"TEXT_MESSAGE_CONTENT"}`,
		`{"messageId":"T:1:status","type":"TEXT_MESSAGE_END"}`,
	}
	h.want("question", h.run("asker", runInput("t1", "r1", "Weather?")), slices.Concat([]string{started("t1", "r1")}, question, []string{
		finished("t1", "r1", `{"interrupts":[{"id":"T:2","message":"Which city?","reason":"input_required"}],"type":"interrupt"}`),
	}))
	events := h.run("asker", `{"threadId":"t1","runId":"r2","messages":[],"resume":[{"interruptId":"x:2","status":"resolved","payload":{"city":"Oslo"}}]}`)
	if last := events[len(events)-1]; !strings.Contains(last, `"message":"May I?","reason":"auth_required"`) {
		t.Errorf("the second question is %s", last)
	}
	events = h.run("asker", `{"threadId":"t1","runId":"r3","messages":[],"resume":[{"interruptId":"x:2","status":"resolved","payload":"Oslo"}]}`)
	if !slices.ContainsFunc(events, func(e string) bool { return strings.Contains(e, `"delta":"Rain in Oslo"`) }) {
		t.Errorf("the answer is %s", events)
	}
	h.run("asker", runInput("t2", "r1", "Weather?"))
	events = h.run("asker", runInput("t2", "r2", "Bergen")) // from a client without support for interrupts
	if !slices.ContainsFunc(events, func(e string) bool { return strings.Contains(e, `"delta":"Rain in Bergen"`) }) {
		t.Errorf("the answer in words is %s", events)
	}
	h.want("question of a program", h.run("program", runInput("t3", "r1", "Weather?")), []string{
		started("t3", "r1"),
		`{"messageId":"T:1:a","role":"assistant","type":"TEXT_MESSAGE_START"}`,
		`{"delta":"Which city?\n","messageId":"T:1:a","type":"TEXT_MESSAGE_CONTENT"}`,
		`{"messageId":"T:1:a","type":"TEXT_MESSAGE_END"}`,
		finished("t3", "r1", `{"interrupts":[{"id":"T:3","message":"Which city?","reason":"input_required"}],"type":"interrupt"}`),
	})
}

func TestDeclined(t *testing.T) {
	t.Parallel()
	h := start(t)
	_, b := h.post("/ag-ui/asker", runInput("t1", "r1", "Weather?"))
	_, rest, _ := strings.Cut(b, `"interrupts":[{"id":"`)
	id, _, _ := strings.Cut(rest, `"`)
	resume := fmt.Sprintf(`{"threadId":"t1","runId":"r2","messages":[],"resume":[{"interruptId":%q,"status":"cancelled"}]}`, id)
	h.want("declined", h.run("asker", resume), []string{started("t1", "r2"), finished("t1", "r2", `{"type":"cancelled"}`)})
	if code, b := h.post("/ag-ui/asker", resume); code != http.StatusBadRequest || !strings.Contains(b, "TASK_NOT_CANCELABLE") {
		t.Errorf("declined again: %d %s", code, b)
	}
	if code, b := h.post("/ag-ui/asker", strings.Replace(resume, id, "nobodys:1", 1)); code != http.StatusNotFound {
		t.Errorf("a missing item, declined: %d %s", code, b)
	}
}

// TestClientTools checks that calls of the client's tools are pending, and that their results
// are sent to the agent.
func TestClientTools(t *testing.T) {
	t.Parallel()
	h := start(t)
	h.want("calls", h.run("tooler", runInput("t1", "r1", "go"))[1:], []string{
		`{"messageId":"T:1:status","role":"assistant","type":"TEXT_MESSAGE_START"}`,
		`{"delta":"May I read?","messageId":"T:1:status","type":"TEXT_MESSAGE_CONTENT"}`,
		`{"toolCallId":"c1","toolCallName":"read","type":"TOOL_CALL_START"}`,
		`{"delta":"{\"path\":\"a\"}","toolCallId":"c1","type":"TOOL_CALL_ARGS"}`,
		`{"toolCallId":"c1","type":"TOOL_CALL_END"}`,
		`{"toolCallId":"c2","toolCallName":"list","type":"TOOL_CALL_START"}`,
		`{"delta":"{}","toolCallId":"c2","type":"TOOL_CALL_ARGS"}`,
		`{"toolCallId":"c2","type":"TOOL_CALL_END"}`,
		`{"messageId":"T:1:status","type":"TEXT_MESSAGE_END"}`,
		finished("t1", "r1", `{"pendingToolCallIds":["c1","c2"],"type":"success"}`),
	})
	const before = `{"threadId":"t1","runId":"r2","messages":[{"id":"m","role":"user","content":"go"},{"id":"n","role":"assistant","toolCalls":[{"id":"c1","type":"function","function":{"name":"read","arguments":"{}"}}]},`
	events := h.run("tooler", before+`{"id":"o","role":"tool","toolCallId":"c1","content":"{\"n\":1}"}]}`)
	if !slices.ContainsFunc(events, func(e string) bool { return strings.Contains(e, `{\"ID\":\"c1\",\"Result\":{\"n\":1},`) }) {
		t.Errorf("the result is %s", events)
	}
	h.run("tooler", runInput("t3", "r1", "go"))
	events = h.run("tooler", `{"threadId":"t3","runId":"r2","messages":[{"id":"o","role":"tool","toolCallId":"c1","content":"","error":"it is private"}]}`)
	if !slices.ContainsFunc(events, func(e string) bool { return strings.Contains(e, `\"Rejected\":true,\"Reason\":\"it is private\"`) }) {
		t.Errorf("the refusal is %s", events)
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	h := start(t)
	for words, want := range map[string]string{
		"x":      `{"code":"task_failed","message":"it is tired","type":"RUN_ERROR"}`,
		"reject": `{"code":"task_rejected","message":"the agent gave no reason","type":"RUN_ERROR"}`,
	} {
		events := h.run("breaker", runInput("t-"+words, "r", words))
		if got := events[len(events)-1]; got != want {
			t.Errorf("%s ends with %s, want %s", words, got, want)
		}
	}
}

// TestThreads checks that a run without a message returns the thread.
func TestThreads(t *testing.T) {
	t.Parallel()
	h := start(t)
	h.run("plain", runInput("t1", "r1", "one"))
	h.run("plain", runInput("t1", "r2", "two"))
	events := h.run("plain", `{"threadId":"t1","runId":"r3","messages":[{"id":"a","role":"assistant","content":"Hello!"}]}`)
	var snapshot struct {
		Messages []struct{ ID, Role, Content string }
	}
	if err := json.Unmarshal([]byte(events[1]), &snapshot); err != nil || len(events) != 3 {
		t.Fatalf("the thread is %s", events)
	}
	var lines []string
	for _, m := range snapshot.Messages {
		lines = append(lines, m.Role+": "+m.Content)
	}
	h.want("thread", lines, []string{"user: one", "assistant: You said one", "user: two", "assistant: You said two"})
	h.want("empty thread", h.run("plain", `{"threadId":"t9","runId":"r","messages":[]}`)[1:2], []string{`{"messages":[],"type":"MESSAGES_SNAPSHOT"}`})
}

// TestMessageToAgent checks that the agent gets the new messages, preceded by those that it
// does not know.
func TestMessageToAgent(t *testing.T) {
	t.Parallel()
	h := start(t)
	const thread = `{"threadId":"t1","runId":"R","forwardedProps":{"a":1},"tools":[{"name":"f","description":"d"}],"messages":[
		{"id":"1","role":"system","content":"Be kind."},{"id":"2","role":"user","content":"one"},
		{"id":"3","role":"assistant","toolCalls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},
		{"id":"4","role":"tool","toolCallId":"c","content":"ok"},{"id":"5","role":"reasoning","content":"hm"},{"id":"6","role":"activity","activityType":"x","content":{"a":1}},
		{"id":"7","role":"assistant","content":"Done."},
		{"id":"8","role":"user","content":[{"type":"text","text":"two"},{"type":"image","source":{"type":"data","value":"eA==","mimeType":"image/png"}},{"type":"document","source":{"type":"url","value":"https://a.example/b"}}]}]}`
	fresh := a2a.ContentParts{text("two"), {Content: a2a.Raw("x"), MediaType: "image/png"}, {Content: a2a.URL("https://a.example/b")}}
	earlier := text("Earlier in this conversation:\nsystem: Be kind.\nuser: one\nassistant: (calls f with {})\ntool: \"ok\"\nassistant: Done.\n")
	earlier.Metadata = map[string]any{"parley/earlier": true}
	for run, want := range map[string]a2a.ContentParts{"r1": append(a2a.ContentParts{earlier}, fresh...)} {
		h.run("plain/plain-skill", strings.Replace(thread, `"R"`, `"`+run+`"`, 1))
		if diff := cmp.Diff(want, h.last().Parts); diff != "" {
			t.Errorf("%s: parts mismatch (-want +got):\n%s", run, diff)
		}
	}
	h.run("plain", strings.Replace(thread, `"R"`, `"r2"`, 1))
	if diff := cmp.Diff(fresh, h.last().Parts); diff != "" {
		t.Errorf("in a thread that is known: parts mismatch (-want +got):\n%s", diff)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if got, _ := h.meta["ag-ui"].(map[string]any); got["forwardedProps"] == nil || got["tools"] == nil {
		t.Errorf("the metadata of the request is %v", h.meta)
	}
}

func (h *hub) last() *a2a.Message {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.msgs[len(h.msgs)-1]
}

func TestErrors(t *testing.T) {
	t.Parallel()
	h := start(t)
	msg := func(m string) string { return `{"threadId":"t","runId":"r","messages":[` + m + `]}` }
	part := func(p string) string { return msg(`{"id":"m","role":"user","content":[` + p + `]}`) }
	for body, want := range map[string]string{
		`{`:                               "PARSE_ERROR",
		`[]`:                              "the body must be a JSON object",
		`{"runId":"r","messages":[]}`:     "threadId: is required",
		`{"threadId":"t","messages":[]}`:  "runId: is required",
		`{"threadId":7}`:                  "threadId: must be a string",
		`{"messages":{}}`:                 "messages: must be a list",
		`{"messages":[7]}`:                "messages[0]: has members of wrong types",
		`{"resume":[{"status":"maybe"}]}`: "resume[0].status: must be resolved or cancelled",
		msg(`{"id":"m","content":"a"},{"role":"user","content":"b"}`): "messages[0].role: is required",
		msg(`{"role":"user","content":7}`):                            "messages[0].content: must be a string or a list of parts",
		msg(`{"role":"tool","content":"a"}`):                          "messages[0].toolCallId: is required",
		part(`{"type":"film"}`):                                       "messages[0].content[0].type: must be text, image, audio, video or document",
		part(`{"type":"image"}`):                                      "messages[0].content[0].source: is required",
		part(`{"type":"image","source":{"type":"data","value":"!"}}`): "messages[0].content[0].source.value: is not valid base64",
		part(`{"type":"image","source":{"type":"url"}}`):              "messages[0].content[0].source.value: is required",
		part(`{"type":"image","source":{"type":"file","value":"f"}}`): "messages[0].content[0].source.type: is not supported",
		part(`{"type":"image","source":{"type":"dream"}}`):            "messages[0].content[0].source.type: must be data or url",
		runInput(strings.Repeat("t", 300), "r", "hi"):                 "message.contextId: longer than 256 bytes",
	} {
		if code, b := h.post("/ag-ui/plain", body); code != http.StatusBadRequest || !strings.Contains(b, want) {
			t.Errorf("%.90s: %d %s, want %s", body, code, b, want)
		}
	}
	for path, want := range map[string]int{"/ag-ui/nobody": 404, "/ag-ui/%ff": 404, "/ag-ui/plain/other-skill": 400, "/ag-ui": 200, "/ag-ui/": 200, "/ag-uix": 404} {
		if code, b := h.post(path, runInput("t-"+path, "r", "hi")); code != want {
			t.Errorf("%s: %d %s, want %d", path, code, b, want)
		}
	}
}
