package promptkit

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/AltairaLabs/PromptKit/runtime/a2a"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

// PromptKit's own client calls a hub with each of its calls and decodes each of its types.
func TestClient(t *testing.T) {
	t.Parallel()
	h := hubtest.Start(t, hubtest.Options{Config: "default_agent: echo\n" + research})
	for name, f := range map[string]func(*testing.T, *hubtest.Hub){
		"card": clientCard, "send": clientSend, "stream": clientStream, "get and cancel": clientCancel, "list": clientList,
		"ended": clientEnded, "parts": clientParts, "ids": clientIDs, "artifacts": clientArtifacts, "modes": clientModes,
		"subscribe": clientSubscribe, "envelopes": clientEnvelopes, "frames": clientFrames,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f(t, h)
		})
	}
}

// The card of PromptKit's page, with its human-readable name and the tag that A2A requires.
func clientCard(t *testing.T, h *hubtest.Hub) {
	card, err := of(h, "research").Discover(within(t))
	if err != nil {
		t.Fatal(err)
	}
	want := &a2a.AgentCard{
		Name: "Research Agent", Description: "Searches academic papers on a given topic", Version: "1.0.0",
		Capabilities: a2a.AgentCapabilities{Streaming: true},
		Skills: []a2a.AgentSkill{
			{ID: "search_papers", Name: "Search Papers", Description: "Search for academic papers on a given topic", Tags: []string{"research", "papers"}},
			{ID: "read_table", Name: "Read Table", Description: "Reads a table", Tags: []string{"read_table"}, InputModes: []string{"text/csv"}, OutputModes: []string{"application/json"}},
		},
		DefaultInputModes: []string{"text/plain"}, DefaultOutputModes: []string{"text/plain", "application/json"},
	}
	unsaid := cmpopts.IgnoreFields(a2a.AgentCapabilities{}, "PushNotifications", "ExtendedAgentCard", "Extensions")
	ifaces := cmpopts.IgnoreFields(a2a.AgentCard{}, "SupportedInterfaces")
	if diff := cmp.Diff(want, card, unsaid, ifaces, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("card (-want +got):\n%s", diff)
	}
	if hub, err := of(h, "").Discover(within(t)); err != nil || hub.Name != "echo" {
		t.Errorf("card of the hub: %+v, %v", hub, err)
	}
}

func clientSend(t *testing.T, h *hubtest.Hub) {
	if task := send(t, of(h, ""), user(text("one two")), a2a.TaskStateCompleted); answer(task) != "one two" {
		t.Errorf("artifacts %+v", task.Artifacts)
	}
}

// events streams a message and returns the events, states and the text of artifacts.
func events(t *testing.T, c *a2a.Client, r *a2a.SendMessageRequest) (all []a2a.StreamEvent, states []a2a.TaskState, text string) {
	t.Helper()
	ch, err := c.SendMessageStream(within(t), r)
	if err != nil {
		t.Fatal(err)
	}
	for ev := range ch {
		all = append(all, ev)
		if ev.StatusUpdate != nil {
			states = append(states, ev.StatusUpdate.Status.State)
		} else {
			text += textOf(ev.ArtifactUpdate.Artifact.Parts)
		}
	}
	return all, states, text
}

// The channel of PromptKit's client gets the events of its own server: working first, then
// chunks that append, then the end.
func clientStream(t *testing.T, h *hubtest.Hub) {
	all, states, text := events(t, of(h, ""), user(text("one two three")))
	if diff := cmp.Diff([]a2a.TaskState{a2a.TaskStateWorking, a2a.TaskStateCompleted}, states); diff != "" || text != "one two three" {
		t.Errorf("text %q, states (-want +got):\n%s", text, diff)
	}
	for i, ev := range all {
		switch u := ev.ArtifactUpdate; {
		case i == 0 || i == len(all)-1:
			if ev.StatusUpdate == nil || ev.StatusUpdate.TaskID == "" || ev.StatusUpdate.ContextID == "" {
				t.Errorf("event %d: %+v", i, ev)
			}
		case u == nil || !u.Append || u.TaskID != all[0].StatusUpdate.TaskID || u.ContextID != all[0].StatusUpdate.ContextID:
			t.Errorf("event %d: %+v", i, ev)
		}
	}
}

func clientCancel(t *testing.T, h *hubtest.Hub) {
	c := of(h, "slow")
	ch, err := c.SendMessageStream(within(t), user(text("600 seconds")))
	if err != nil {
		t.Fatal(err)
	}
	id := (<-ch).StatusUpdate.TaskID
	<-ch // its progress: working
	if task, err := c.GetTask(within(t), id); err != nil || task.ID != id || task.Status.State != a2a.TaskStateWorking {
		t.Errorf("GetTask = %+v, %v", task, err)
	}
	if err := c.CancelTask(within(t), id); err != nil {
		t.Errorf("CancelTask: %v", err)
	}
	var last a2a.StreamEvent
	for ev := range ch {
		last = ev
	}
	if last.StatusUpdate == nil || last.StatusUpdate.Status.State != a2a.TaskStateCanceled {
		t.Errorf("the stream ends with %+v", last)
	}
	refused(t, c.CancelTask(within(t), id), -32001)
	_, err = c.GetTask(within(t), "no-such-task")
	refused(t, err, -32001)
}

// The tasks of a list have their artifacts.
func clientList(t *testing.T, h *hubtest.Hub) {
	c := of(h, "")
	one := send(t, c, user(text("first")), a2a.TaskStateCompleted)
	again := user(text("second"))
	again.Message.ContextID = one.ContextID
	two := send(t, c, again, a2a.TaskStateCompleted)
	tasks, err := c.ListTasks(within(t), &a2a.ListTasksRequest{ContextID: one.ContextID})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, task := range tasks {
		got[task.ID] = answer(task)
	}
	if diff := cmp.Diff(map[string]string{one.ID: "first", two.ID: "second"}, got); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
}

func clientEnded(t *testing.T, h *hubtest.Hub) {
	c := of(h, "")
	task := send(t, c, user(text("x")), a2a.TaskStateCompleted)
	more := user(text("more"))
	more.Message.TaskID, more.Message.ContextID = task.ID, task.ContextID
	_, err := c.SendMessage(within(t), more)
	refused(t, err, -32004)
	if after, err := c.GetTask(within(t), task.ID); err != nil || len(after.History) != len(task.History) {
		t.Errorf("a refused message is in the history: %+v, %v", after, err)
	}
}

// Each member of a part is returned unchanged.
func clientParts(t *testing.T, h *hubtest.Hub) {
	parts := []a2a.Part{
		{Text: ptr("hello"), Metadata: map[string]any{"k": "v"}, MediaType: "text/plain"},
		{Raw: []byte("\x89PNG\r\n\x1a\n"), MediaType: "image/png", Filename: "a.png"},
		{Raw: []byte("RIFF....WAVE"), MediaType: "audio/wav", Filename: "a.wav"},
		{URL: ptr("https://example.com/b.pdf"), MediaType: "application/pdf", Filename: "b.pdf"},
		{Data: map[string]any{"n": 1.5, "list": []any{"x"}}, MediaType: "application/json"},
	}
	task := send(t, of(h, ""), user(parts...), a2a.TaskStateCompleted)
	var got []a2a.Part
	for _, a := range task.Artifacts {
		got = append(got, a.Parts...)
	}
	if diff := cmp.Diff(parts, got); diff != "" {
		t.Errorf("artifacts (-want +got):\n%s", diff)
	}
	// A converter of PromptKit, which accepts all parts except data, accepts them.
	if _, err := a2a.MessageToMessage(&a2a.Message{Role: a2a.RoleAgent, Parts: got[:4]}); err != nil {
		t.Error(err)
	}
}

func clientIDs(t *testing.T, h *hubtest.Hub) {
	c := of(h, "")
	r := user(text("x"))
	r.Message.MessageID, r.Message.ContextID, r.Message.Metadata = "mine", "ctx-of-mine", map[string]any{"k": "v"}
	task := send(t, c, r, a2a.TaskStateCompleted)
	want := a2a.Message{
		MessageID: "mine", ContextID: "ctx-of-mine", TaskID: task.ID, Role: a2a.RoleUser,
		Parts: r.Message.Parts, Metadata: r.Message.Metadata,
	}
	if diff := cmp.Diff(want, task.History[0]); diff != "" || task.ContextID != "ctx-of-mine" {
		t.Errorf("context %q, message (-want +got):\n%s", task.ContextID, diff)
	}
	r = user(text("x"))
	r.Message.MessageID = ""
	task = send(t, c, r, a2a.TaskStateCompleted)
	if m := task.History[0]; m.MessageID == "" || m.ContextID != task.ContextID {
		t.Errorf("a message without an id: %+v", m)
	}
}

func clientArtifacts(t *testing.T, h *hubtest.Hub) {
	task := send(t, of(h, "report"), user(text("two words")), a2a.TaskStateCompleted)
	if len(task.Artifacts) != 2 {
		t.Fatalf("artifacts %+v", task.Artifacts)
	}
	for i, want := range []a2a.Artifact{
		{ArtifactID: "report", Name: "report.md", Description: "The words of the message and their lengths"},
		{ArtifactID: "chart", Name: "chart.png", Description: "A bar for each word, as high as the word is long"},
	} {
		got := task.Artifacts[i]
		content, err := a2a.PartToContentPart(&got.Parts[0])
		if err != nil {
			t.Error(err)
		}
		if kind := map[string]string{"report": "text", "chart": "image"}[got.ArtifactID]; content.Type != kind {
			t.Errorf("%s is %s, want %s", got.ArtifactID, content.Type, kind)
		}
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(a2a.Artifact{}, "Parts")); diff != "" {
			t.Errorf("artifact %d (-want +got):\n%s", i, diff)
		}
	}
}

// The media types of a skill override the agent's.
func clientModes(t *testing.T, h *hubtest.Hub) {
	c := of(h, "research")
	for _, tt := range []struct {
		skill, mode string
		code        int
	}{
		{"search_papers", "text/plain", 0},
		{"search_papers", "text/csv", -32005},
		{"read_table", "text/csv", 0},
		{"read_table", "text/plain", -32005},
	} {
		r := user(a2a.Part{Text: ptr("a,b"), MediaType: tt.mode})
		r.Metadata = map[string]any{"skillId": tt.skill}
		_, err := c.SendMessage(within(t), r)
		switch {
		case tt.code != 0:
			refused(t, err, tt.code)
		case err != nil:
			t.Errorf("%s with %s: %v", tt.skill, tt.mode, err)
		}
	}
}

// PromptKit's client has no call for tasks/subscribe. Its reader of events decodes the hub's
// events: the status of a running task, then the changes.
func clientSubscribe(t *testing.T, h *hubtest.Hub) {
	c := of(h, "slow")
	ctx, cancel := context.WithCancel(within(t))
	defer cancel()
	ch, err := c.SendMessageStream(ctx, user(text("600 seconds")))
	if err != nil {
		t.Fatal(err)
	}
	id := (<-ch).StatusUpdate.TaskID
	cancel() // the task continues
	subscribe := `{"jsonrpc":"2.0","id":7,"method":"tasks/subscribe","params":{"id":"` + id + `"}}`
	res := post(t, h, subscribe)
	got := make(chan a2a.StreamEvent)
	go func() { defer close(got); a2a.ReadSSE(within(t), res.Body, got) }()
	if first := <-got; first.StatusUpdate == nil || first.StatusUpdate.Status.State != a2a.TaskStateWorking || first.StatusUpdate.TaskID != id {
		t.Errorf("a running task begins with %+v", first)
	}
	if err := c.CancelTask(within(t), id); err != nil {
		t.Fatal(err)
	}
	var last a2a.StreamEvent
	for ev := range got {
		last = ev
	}
	if last.StatusUpdate == nil || last.StatusUpdate.Status.State != a2a.TaskStateCanceled {
		t.Errorf("a canceled task ends with %+v", last)
	}
	ended := frames(t, post(t, h, subscribe))
	if len(ended) != 1 || !strings.Contains(string(ended[0]), `"state":"canceled"`) {
		t.Errorf("of a task that has ended: %s", ended)
	}
	unknown := rpc(t, h, strings.Replace(subscribe, id, "none", 1))
	if unknown.Error == nil || unknown.Error.Code != -32001 {
		t.Errorf("an unknown task: %+v", unknown)
	}
}

func clientEnvelopes(t *testing.T, h *hubtest.Hub) {
	message := `"params":{"message":{"messageId":"m","role":"user","parts":[{"text":"x"}]}}`
	for _, tt := range []struct {
		body string
		id   any
		code int
	}{
		{`{"jsonrpc":"2.0","id":1,"method":"message/send",` + message + `}`, 1.0, 0},
		{`{"jsonrpc":"2.0","id":"one","method":"message/send",` + message + `}`, "one", 0},
		{`{"id":2,"method":"message/send",` + message + `}`, 2.0, -32600},
		{`{"jsonrpc":"2.0","id":`, nil, -32700},
		{`{"jsonrpc":"2.0","id":3,"method":"message/send","params":{}}`, 3.0, -32602},
		{`{"jsonrpc":"2.0","id":4,"method":"message/sing","params":{}}`, 4.0, -32601},
		{`{"jsonrpc":"2.0","id":5,"method":"tasks/get","params":{"id":"none"}}`, 5.0, -32001},
	} {
		got := rpc(t, h, tt.body)
		code := 0
		if got.Error != nil {
			code = got.Error.Code
		}
		if got.JSONRPC != "2.0" || got.ID != tt.id || code != tt.code || (code == 0) == (got.Result == nil) {
			t.Errorf("%s: %+v, want id %v and code %d", tt.body, got, tt.id, tt.code)
		}
	}
}

// Each event of a stream is in an envelope with the id of the request, and has only members of
// PromptKit's types.
func clientFrames(t *testing.T, h *hubtest.Hub) {
	res := post(t, h, `{"jsonrpc":"2.0","id":"s1","method":"message/stream","params":{"message":{"role":"user","parts":[{"text":"one two"}]}}}`)
	if kind := res.Header.Get("Content-Type"); kind != "text/event-stream" {
		t.Errorf("content type %q", kind)
	}
	all := frames(t, res)
	for i, b := range all {
		var envelope a2a.JSONRPCResponse
		strict(t, b, &envelope)
		if envelope.JSONRPC != "2.0" || envelope.ID != "s1" || envelope.Error != nil {
			t.Errorf("event %d: %s", i, b)
		}
		var members map[string]json.RawMessage
		if err := json.Unmarshal(envelope.Result, &members); err != nil {
			t.Fatal(err)
		}
		if members["artifact"] != nil {
			strict(t, envelope.Result, new(a2a.TaskArtifactUpdateEvent))
		} else {
			strict(t, envelope.Result, new(a2a.TaskStatusUpdateEvent))
		}
	}
	if len(all) < 4 {
		t.Errorf("%d events", len(all))
	}
}
