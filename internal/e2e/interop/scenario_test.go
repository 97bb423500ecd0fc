package interop

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image/png"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"
)

// timeout is the time limit of a scenario.
const timeout = 2 * time.Minute

// caller is a client that calls a hub through one peer.
type caller struct {
	testing.TB
	// book records the outcomes of its scenarios.
	book    *ledger
	peer    *peer
	binding string
	client  client
	ctx     context.Context
}

// ofAgent reports whether the binding has an address for each agent.
func (c *caller) ofAgent() bool { return c.peer.speaks != v03 || c.binding != "GRPC" }

// zeroIsAll reports whether the encoding does not distinguish a history length of zero from
// none, as in the proto of v0.3.
func (c *caller) zeroIsAll() bool { return c.peer.speaks == v03 && c.binding != "JSONRPC" }

// decode decodes the SDK's output.
func decode[T any](c *caller, b json.RawMessage) T {
	c.Helper()
	var v T
	if err := json.Unmarshal(b, &v); err != nil {
		c.Fatalf("decode %s: %v", b, err)
	}
	return v
}

// do makes a call that must succeed.
func (c *caller) do(agent, op string, params any) json.RawMessage {
	c.Helper()
	b, err := c.client.do(c.ctx, call{Op: op, Agent: agent, Params: params})
	if err != nil {
		c.Fatalf("%s to %s with %v: %v", op, agent, params, err)
	}
	return b
}

// send sends a message that must be answered by a task.
func (c *caller) send(agent string, params obj) task {
	c.Helper()
	ev := decode[event](c, c.do(agent, "send", params))
	if ev.Task == nil {
		c.Fatalf("send to %s gives no task", agent)
	}
	return *ev.Task
}

// begin sends a message and does not wait for the answer.
func (c *caller) begin(agent, words string) task {
	c.Helper()
	r := textMessage(words)
	r["configuration"] = obj{"returnImmediately": true}
	return c.send(agent, r)
}

func (c *caller) get(agent, id string) task {
	c.Helper()
	return decode[task](c, c.do(agent, "get", obj{"id": id}))
}

func (c *caller) list(agent string, params obj) page {
	c.Helper()
	return decode[page](c, c.do(agent, "list", params))
}

// events reads a stream to its end.
func (c *caller) events(agent, op string, params obj) []event {
	c.Helper()
	var all []event
	for b, err := range c.client.stream(c.ctx, call{Op: op, Agent: agent, Params: params}) {
		if err != nil {
			c.Fatalf("%s to %s: %v", op, agent, err)
		}
		all = append(all, decode[event](c, b))
	}
	return all
}

// refused makes a call that must be refused for the given reason.
func (c *caller) refused(want string, cl call) {
	c.Helper()
	var err error
	if cl.Op == "stream" || cl.Op == "subscribe" {
		for b, e := range c.client.stream(c.ctx, cl) {
			if err = e; err == nil {
				c.Errorf("%s gives %s, want %s", cl.Op, b, want)
			}
		}
	} else {
		_, err = c.client.do(c.ctx, cl)
	}
	var r *refusal
	if !errors.As(err, &r) || !r.is(want) {
		c.Errorf("%s with %v: error %v, want %s", cl.Op, cl.Params, err, want)
	}
}

// wantState fails unless t has the given state.
func (c *caller) wantState(t task, want string) {
	c.Helper()
	if t.Status.State != "TASK_STATE_"+want {
		c.Fatalf("task %s is %s, want %s", t.ID, t.Status.State, want)
	}
}

// textMessage returns a request with one text part.
func textMessage(words string) obj { return with(obj{}, obj{"text": words}) }

// with returns a request whose message has these members and parts.
func with(members obj, parts ...obj) obj {
	m := obj{"messageId": a2a.NewMessageID(), "role": "ROLE_USER", "parts": parts}
	for k, v := range members {
		m[k] = v
	}
	return obj{"message": m}
}

// follow returns a request that continues a task.
func follow(id, words string) obj { return with(obj{"taskId": id}, obj{"text": words}) }

// scenario is a use of a hub by a foreign client, as one test.
type scenario struct {
	name string
	// group is its column in the table of README.md.
	group string
	// only is the only version of the protocol in which it is meaningful; empty means all.
	only string
	// needs are the calls that it makes, separated by spaces; a peer that does not offer one of
	// them skips it.
	needs string
	run   func(*caller)
}

// scenarios are all uses of a hub by foreign clients. Each has its own contexts, so that they
// may run concurrently. They are written in v1.0; spoken converts them for other peers.
var scenarios = []scenario{
	{name: "send", group: "send", needs: "send", run: sendScenario},
	{name: "unicode", group: "send", needs: "send", run: unicodeScenario},
	{name: "context", group: "send", needs: "send", run: contextScenario},
	{name: "return immediately", group: "send", needs: "send immediate cancel", run: immediateScenario},
	{name: "many at once", group: "send", needs: "send", run: manyScenario},
	{name: "stream", group: "stream", needs: "stream get", run: streamScenario},
	{name: "leave a stream", group: "stream", needs: "stream get cancel", run: leaveScenario},
	{name: "subscribe", group: "stream", needs: "send immediate subscribe cancel", run: subscribeScenario},
	{name: "two readers", group: "stream", needs: "send immediate subscribe cancel", run: readersScenario},
	{name: "interview", group: "turns", needs: "send", run: interviewScenario},
	{name: "interview in streams", group: "turns", needs: "stream get", run: interviewStreamScenario},
	{name: "metadata", group: "turns", needs: "send", run: metadataScenario},
	{name: "image from agent", group: "files and data", needs: "send", run: imageOutScenario},
	{name: "image to agent", group: "files and data", needs: "send", run: imageInScenario},
	{name: "data", group: "files and data", needs: "send", run: dataScenario},
	{name: "get", group: "tasks", needs: "send get", run: getScenario},
	{name: "history length", group: "tasks", needs: "send get", run: historyScenario},
	{name: "cancel", group: "tasks", needs: "send immediate get cancel", run: cancelScenario},
	{name: "list in pages", group: "list", needs: "send list", run: pagesScenario},
	{name: "list with filters", group: "list", needs: "send list", run: filterScenario},
	{name: "push configs", group: "webhooks", needs: "send createPush getPush", run: pushConfigsScenario},
	{name: "push inline", group: "webhooks", needs: "send immediate read", run: pushInlineScenario},
	{name: "push later", group: "webhooks", needs: "send createPush read", run: pushLaterScenario},
	{name: "push refused", group: "webhooks", needs: "send createPush getPush", run: pushRefusedScenario},
	{name: "unknown task", group: "errors", needs: "send get cancel", run: unknownScenario},
	{name: "finished task", group: "errors", needs: "send cancel", run: finishedScenario},
	{name: "bad parameters", group: "errors", needs: "send get", run: badScenario},
	{name: "bad lists", group: "errors", needs: "list", run: badListScenario},
	{name: "version", group: "errors", only: v1, needs: "send", run: versionScenario},
	{name: "refused streams", group: "errors", needs: "send stream subscribe", run: refusedStreamsScenario},
}

func sendScenario(c *caller) {
	t := c.send("echo", textMessage("hello out there"))
	c.wantState(t, "COMPLETED")
	if len(t.Artifacts) != 1 || text(t.Artifacts[0].Parts) != "hello out there" {
		c.Errorf("artifacts = %+v, want one with the text", t.Artifacts)
	}
	if t.ID == "" || t.ContextID == "" || t.Status.Message != nil && text(t.Status.Message.Parts) != "" {
		c.Errorf("task = %+v, want ids, and the text in its artifact only", t)
	}
	if len(t.History) == 0 || text(t.History[0].Parts) != "hello out there" || t.History[0].Role != "ROLE_USER" {
		c.Errorf("history = %+v, want the message first", t.History)
	}
}

func streamScenario(c *caller) {
	all := c.events("echo", "stream", textMessage("one two three"))
	if len(all) < 4 || all[0].Task == nil {
		c.Fatalf("stream = %+v, want a task, chunks and an end", all)
	}
	var b strings.Builder
	last := ""
	for _, ev := range all[1:] {
		switch {
		case ev.ArtifactUpdate != nil:
			b.WriteString(text(ev.ArtifactUpdate.Artifact.Parts))
		case ev.StatusUpdate != nil:
			last = ev.StatusUpdate.Status.State
			if ev.StatusUpdate.TaskID != all[0].Task.ID || ev.StatusUpdate.ContextID != all[0].Task.ContextID {
				c.Errorf("event %+v is of another task than %+v", ev.StatusUpdate, all[0].Task)
			}
		}
	}
	if b.String() != "one two three" || last != "TASK_STATE_COMPLETED" {
		c.Errorf("the stream says %q and ends with %s, want the text and COMPLETED", b.String(), last)
	}
	t := c.get("echo", all[0].Task.ID)
	if got := text(t.Artifacts[0].Parts); got != "one two three" {
		c.Errorf("the artifact afterwards is %q", got)
	}
}

func unicodeScenario(c *caller) {
	words := "tab\tline\nquote\" back\\slash <b>&amp; \u00e4\u4e2d\U0001f600 \u2028 " + strings.Repeat("long ", 20_000)
	t := c.send("echo", textMessage(words))
	if got := text(t.Artifacts[0].Parts); got != words {
		c.Errorf("the text came back changed: %d bytes instead of %d", len(got), len(words))
	}
}

func interviewScenario(c *caller) {
	t := c.send("interview", textMessage("ask 2"))
	c.wantState(t, "INPUT_REQUIRED")
	first := text(t.Status.Message.Parts)
	next := c.send("interview", follow(t.ID, "Ada"))
	c.wantState(next, "INPUT_REQUIRED")
	if got := text(next.Status.Message.Parts); got == first || next.ID != t.ID || next.ContextID != t.ContextID {
		c.Errorf("second turn = %+v, want another question in the same task", next)
	}
	// A request that names the context as well must have the same result.
	last := with(obj{"taskId": t.ID, "contextId": t.ContextID}, obj{"text": "engines"})
	done := c.send("interview", last)
	c.wantState(done, "COMPLETED")
	if got := text(done.Artifacts[0].Parts); !strings.Contains(got, "Ada") || !strings.Contains(got, "engines") {
		c.Errorf("the artifact %q lacks the answers", got)
	}
	var output []string
	for _, m := range done.History {
		if m.Role == "ROLE_USER" {
			output = append(output, text(m.Parts))
		}
	}
	if diff := cmp.Diff([]string{"ask 2", "Ada", "engines"}, output); diff != "" {
		c.Errorf("messages of the caller mismatch (-want +got):\n%s", diff)
	}
}

func interviewStreamScenario(c *caller) {
	all := c.events("interview", "stream", textMessage("ask 1"))
	id := all[0].Task.ID
	if last := all[len(all)-1].StatusUpdate; last == nil || last.Status.State != "TASK_STATE_INPUT_REQUIRED" {
		c.Fatalf("the first stream ends with %+v, want a question", all[len(all)-1])
	}
	all = c.events("interview", "stream", follow(id, "Ada"))
	if all[0].Task == nil || all[0].Task.ID != id {
		c.Fatalf("the second stream begins with %+v, want the task", all[0])
	}
	c.wantState(c.get("interview", id), "COMPLETED")
}

func metadataScenario(c *caller) {
	r := with(obj{"metadata": obj{"questions": 1, "nested": obj{"list": []any{1.5, nil, "x"}}}}, obj{"text": "begin"})
	t := c.send("interview", r)
	c.wantState(t, "INPUT_REQUIRED")
	done := c.send("interview", follow(t.ID, "only one"))
	c.wantState(done, "COMPLETED")
}

func contextScenario(c *caller) {
	id := "my context/" + a2a.NewContextID() + "?\u00e4"
	r := with(obj{"contextId": id}, obj{"text": "a"})
	first := c.send("echo", r)
	second := c.send("echo", with(obj{"contextId": id}, obj{"text": "b"}))
	if first.ContextID != id || second.ContextID != id || first.ID == second.ID {
		c.Errorf("tasks %+v and %+v, want two tasks of the context %q", first, second, id)
	}
	if !c.peer.offers("list") {
		return
	}
	if got := c.list("echo", obj{"contextId": id}); got.TotalSize != 2 {
		c.Errorf("the context has %d tasks, want 2", got.TotalSize)
	}
}

func getScenario(c *caller) {
	t := c.send("echo", textMessage("to be read again"))
	if diff := cmp.Diff(t, c.get("echo", t.ID)); diff != "" {
		c.Errorf("get mismatch with the answer of send (-sent +got):\n%s", diff)
	}
}

func pagesScenario(c *caller) {
	id := a2a.NewContextID()
	var want []string
	for i := range 5 {
		t := c.send("echo", with(obj{"contextId": id}, obj{"text": fmt.Sprint(i)}))
		want = append(want, t.ID)
	}
	slices.Reverse(want)
	var got []string
	r := obj{"contextId": id, "pageSize": 2}
	for range want {
		p := c.list("echo", r)
		if p.TotalSize != 5 || p.PageSize != 2 {
			c.Errorf("page of %d of %d, want 2 of 5", p.PageSize, p.TotalSize)
		}
		for _, t := range p.Tasks {
			got = append(got, t.ID)
			if len(t.Artifacts) != 0 {
				c.Errorf("task %s shows artifacts that nobody asked for", t.ID)
			}
		}
		if p.NextPageToken == "" {
			break
		}
		r["pageToken"] = p.NextPageToken
	}
	if diff := cmp.Diff(want, got); diff != "" {
		c.Errorf("tasks of all pages mismatch (-want +got):\n%s", diff)
	}
}

func filterScenario(c *caller) {
	id := a2a.NewContextID()
	done := c.send("echo", with(obj{"contextId": id}, obj{"text": "finished"}))
	open := c.send("interview", with(obj{"contextId": id}, obj{"text": "ask 1"}))
	for name, tt := range map[string]struct {
		agent string
		r     obj
		want  []string
	}{
		"status":      {"interview", obj{"contextId": id, "status": "TASK_STATE_INPUT_REQUIRED"}, []string{open.ID}},
		"no match":    {"interview", obj{"contextId": id, "status": "TASK_STATE_FAILED"}, nil},
		"agent":       {"echo", obj{"contextId": id}, []string{done.ID}},
		"long ago":    {"echo", obj{"contextId": id, "statusTimestampAfter": "2020-01-01T00:00:00Z"}, []string{done.ID}},
		"in a while":  {"echo", obj{"contextId": id, "statusTimestampAfter": "2999-01-01T00:00:00Z"}, nil},
		"no such one": {"echo", obj{"contextId": "none-" + id}, nil},
	} {
		var got []string
		for _, t := range c.list(tt.agent, tt.r).Tasks {
			got = append(got, t.ID)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			c.Errorf("%s: mismatch (-want +got):\n%s", name, diff)
		}
	}
	p := c.list("echo", obj{"contextId": id, "includeArtifacts": true, "historyLength": 1})
	if len(p.Tasks) != 1 || len(p.Tasks[0].Artifacts) != 1 || len(p.Tasks[0].History) != 1 {
		c.Errorf("list with artifacts and history = %+v, want one of each", p.Tasks)
	}
}

func historyScenario(c *caller) {
	t := c.send("interview", textMessage("ask 1"))
	r := follow(t.ID, "Ada")
	r["configuration"] = obj{"historyLength": 0}
	if done := c.send("interview", r); len(done.History) != 0 && !c.zeroIsAll() {
		c.Errorf("send with historyLength 0 shows %d messages", len(done.History))
	}
	all := c.get("interview", t.ID).History
	if len(all) < 3 {
		c.Fatalf("the history has %d messages, want the caller's two and a question", len(all))
	}
	for _, n := range []int{0, 1, 2, 100} {
		got := decode[task](c, c.do("interview", "get", obj{"id": t.ID, "historyLength": n})).History
		want := all[max(0, len(all)-n):]
		if n == 0 && c.zeroIsAll() {
			want = all
		}
		if len(got) != len(want) || n > 0 && !cmp.Equal(want, got) {
			c.Errorf("get with historyLength %d shows %d messages, want the newest %d", n, len(got), len(want))
		}
	}
}

func immediateScenario(c *caller) {
	t := c.begin("slow", "600")
	if s := t.Status.State; s != "TASK_STATE_SUBMITTED" && s != "TASK_STATE_WORKING" {
		c.Errorf("the answer is %s, want a task at work", s)
	}
	c.do("slow", "cancel", obj{"id": t.ID})
}

func cancelScenario(c *caller) {
	t := c.begin("slow", "600")
	c.wantState(decode[task](c, c.do("slow", "cancel", obj{"id": t.ID, "metadata": obj{"why": "enough"}})), "CANCELED")
	c.wantState(c.get("slow", t.ID), "CANCELED")
	c.refused("TASK_NOT_CANCELABLE", call{Op: "cancel", Agent: "slow", Params: obj{"id": t.ID}})
}

func subscribeScenario(c *caller) {
	t := c.begin("slow", "600")
	var states []string
	for b, err := range c.client.stream(c.ctx, call{Op: "subscribe", Agent: "slow", Params: obj{"id": t.ID}}) {
		if err != nil {
			c.Fatal(err)
		}
		ev := decode[event](c, b)
		switch {
		case ev.Task != nil && len(states) == 0:
			states = append(states, "task")
			c.do("slow", "cancel", obj{"id": t.ID})
		case ev.StatusUpdate != nil:
			states = append(states, ev.StatusUpdate.Status.State)
		default:
			c.Errorf("unexpected event %s", b)
		}
	}
	if states[0] != "task" || states[len(states)-1] != "TASK_STATE_CANCELED" {
		c.Errorf("subscription = %v, want the task first and its end last", states)
	}
}

// readersScenario checks that two readers of a task get the same end.
func readersScenario(c *caller) {
	t := c.begin("slow", "600")
	begun := make(chan struct{}, 2)
	ends := make([]string, 2)
	var wg sync.WaitGroup
	for i := range ends {
		wg.Go(func() {
			for b, err := range c.client.stream(c.ctx, call{Op: "subscribe", Agent: "slow", Params: obj{"id": t.ID}}) {
				var ev event
				if err == nil {
					err = json.Unmarshal(b, &ev)
				}
				if err != nil {
					c.Error(err)
					break
				}
				if ev.Task != nil {
					begun <- struct{}{}
				}
				if ev.StatusUpdate != nil {
					ends[i] = ev.StatusUpdate.Status.State
				}
			}
		})
	}
	for range ends {
		select {
		case <-begun:
		case <-c.ctx.Done():
			c.Fatal("a reader does not begin")
		}
	}
	c.do("slow", "cancel", obj{"id": t.ID})
	wg.Wait()
	if diff := cmp.Diff([]string{"TASK_STATE_CANCELED", "TASK_STATE_CANCELED"}, ends); diff != "" {
		c.Errorf("ends mismatch (-want +got):\n%s", diff)
	}
}

// leaveScenario checks that a task continues when its reader disconnects.
func leaveScenario(c *caller) {
	id := ""
	for b, err := range c.client.stream(c.ctx, call{Op: "stream", Agent: "slow", Params: textMessage("600")}) {
		if err != nil {
			c.Fatal(err)
		}
		if ev := decode[event](c, b); ev.Task != nil {
			id = ev.Task.ID
			continue
		}
		break
	}
	c.wantState(c.get("slow", id), "WORKING")
	c.do("slow", "cancel", obj{"id": id})
}

func imageOutScenario(c *caller) {
	t := c.send("report", textMessage("three short words"))
	c.wantState(t, "COMPLETED")
	i := slices.IndexFunc(t.Artifacts, func(a artifact) bool { return a.Name == "chart.png" })
	if i < 0 {
		c.Fatalf("artifacts = %+v, want chart.png", t.Artifacts)
	}
	p := t.Artifacts[i].Parts[0]
	if p.MediaType != "image/png" || p.Filename != "chart.png" {
		c.Errorf("the image is %q, %q", p.MediaType, p.Filename)
	}
	if _, err := png.Decode(bytes.NewReader(p.Raw)); err != nil {
		c.Errorf("the image of %d bytes cannot be read: %v", len(p.Raw), err)
	}
	if want := wantChart(c, "three short words"); !bytes.Equal(p.Raw, want) {
		c.Errorf("the image has %d bytes that differ from the %d that the agent made", len(p.Raw), len(want))
	}
}

func imageInScenario(c *caller) {
	image := make([]byte, 0, 1<<10)
	for i := range 1 << 10 {
		image = append(image, byte(i*7))
	}
	t := c.send("echo", with(obj{}, obj{"raw": image, "mediaType": "image/png", "filename": "a b.png"}))
	got := t.Artifacts[0].Parts[0]
	if !bytes.Equal(got.Raw, image) || got.MediaType != "image/png" || got.Filename != "a b.png" {
		c.Errorf("the image came back as %q, %q, %d bytes", got.MediaType, got.Filename, len(got.Raw))
	}
}

func dataScenario(c *caller) {
	data := obj{"n": 1.5, "i": 42.0, "s": "\u00e4", "no": false, "null": nil, "list": []any{1.0, "two", nil, obj{}}, "o": map[string]any{"deep": []any{}}}
	t := c.send("echo", with(obj{}, obj{"data": data, "mediaType": "application/json"}))
	want := decode[any](c, must(c, data))
	if diff := cmp.Diff(want, t.Artifacts[0].Parts[0].Data); diff != "" {
		c.Errorf("data mismatch (-want +got):\n%s", diff)
	}
}

func must(c *caller, v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		c.Fatal(err)
	}
	return b
}

func manyScenario(c *caller) {
	const many = 20
	got := make([]string, many)
	var wg sync.WaitGroup
	for i := range many {
		wg.Go(func() {
			b, err := c.client.do(c.ctx, call{Op: "send", Agent: "echo", Params: textMessage(fmt.Sprint("message ", i))})
			var ev event
			if err == nil {
				err = json.Unmarshal(b, &ev)
			}
			if err != nil || ev.Task == nil || len(ev.Task.Artifacts) != 1 {
				c.Errorf("message %d: %s, %v", i, b, err)
				return
			}
			got[i] = text(ev.Task.Artifacts[0].Parts)
		})
	}
	wg.Wait()
	for i, g := range got {
		if want := fmt.Sprint("message ", i); g != want {
			c.Errorf("answer %d is %q, want %q", i, g, want)
		}
	}
}

func unknownScenario(c *caller) {
	id := "none-" + a2a.NewContextID()
	for _, op := range []string{"get", "cancel"} {
		c.refused("TASK_NOT_FOUND", call{Op: op, Agent: "echo", Params: obj{"id": id}})
	}
	c.refused("TASK_NOT_FOUND", call{Op: "send", Agent: "echo", Params: follow(id, "x")})
	t := c.send("echo", textMessage("x"))
	if c.ofAgent() {
		c.refused("TASK_NOT_FOUND", call{Op: "get", Agent: "clock", Params: obj{"id": t.ID}})
	}
}

func finishedScenario(c *caller) {
	t := c.send("echo", textMessage("x"))
	c.refused("UNSUPPORTED_OPERATION", call{Op: "send", Agent: "echo", Params: follow(t.ID, "more")})
	c.refused("TASK_NOT_CANCELABLE", call{Op: "cancel", Agent: "echo", Params: obj{"id": t.ID}})
}

// refusedStreamsScenario checks that a client gets the reason for which a stream is refused.
func refusedStreamsScenario(c *caller) {
	none := "none-" + a2a.NewContextID()
	c.refused("TASK_NOT_FOUND", call{Op: "subscribe", Agent: "echo", Params: obj{"id": none}})
	c.refused("TASK_NOT_FOUND", call{Op: "stream", Agent: "echo", Params: follow(none, "x")})
	t := c.send("echo", textMessage("x"))
	c.refused("UNSUPPORTED_OPERATION", call{Op: "stream", Agent: "echo", Params: follow(t.ID, "more")})
	c.refused("UNSUPPORTED_OPERATION", call{Op: "subscribe", Agent: "echo", Params: obj{"id": t.ID}})
	if c.peer.speaks == v1 {
		c.refused("VERSION_NOT_SUPPORTED", call{Op: "stream", Agent: "echo", Params: textMessage("x"), Version: "1.9"})
	}
}

func badScenario(c *caller) {
	c.refused("INVALID_PARAMS", call{Op: "get", Agent: "echo", Params: obj{"id": "x", "historyLength": -1}})
	c.refused("INVALID_PARAMS", call{Op: "send", Agent: "echo", Params: with(obj{}, []obj{}...)})
	t := c.send("interview", textMessage("ask 1"))
	c.refused("INVALID_PARAMS", call{
		Op: "send", Agent: "interview",
		Params: with(obj{"taskId": t.ID, "contextId": "another"}, obj{"text": "x"}),
	})
}

func badListScenario(c *caller) {
	for _, params := range []obj{{"pageSize": 101}, {"pageSize": -1}, {"pageToken": "made up"}} {
		c.refused("INVALID_PARAMS", call{Op: "list", Agent: "echo", Params: params})
	}
}

func versionScenario(c *caller) {
	c.refused("VERSION_NOT_SUPPORTED", call{Op: "send", Agent: "echo", Params: textMessage("x"), Version: "1.9"})
	if _, err := c.client.do(c.ctx, call{Op: "send", Agent: "echo", Params: textMessage("x"), Version: "1.0.1"}); err != nil {
		c.Errorf("version 1.0.1 is refused: %v", err)
	}
}
