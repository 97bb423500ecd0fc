package task_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/task"
)

// at returns a time the given number of milliseconds after 2026-03-12T09:05:00Z.
func at(ms int64) task.Millis {
	return task.MillisOf(time.Date(2026, 3, 12, 9, 5, 0, 0, time.UTC)) + task.Millis(ms)
}

func head() task.Head {
	return task.Head{ID: "t-1", ContextID: "c-1", Owner: "o", Agent: "echo"}
}

// buildTask applies entries to a new task and folds them. It fails the test if one is refused.
func buildTask(t testing.TB, es ...task.Entry) (task.Head, *task.Fold, []task.Entry) {
	t.Helper()
	h, f := head(), &task.Fold{}
	for i, e := range es {
		if e.At == 0 {
			e.At = at(int64(i))
		}
		next, stored, err := task.Apply(h, e)
		if err != nil {
			t.Fatalf("Apply(entry %d) = %v", i, err)
		}
		if err := f.Add(&stored); err != nil {
			t.Fatalf("Add(entry %d) = %v", i, err)
		}
		h, es[i] = next, stored
	}
	return h, f, es
}

func created(body string) task.Entry {
	return task.Entry{Kind: task.Created, State: task.Submitted, Body: []byte(body)}
}

func followUp(body string) task.Entry { return task.Entry{Kind: task.Message, Body: []byte(body)} }

// status returns a status without a message if body is empty.
func status(s task.State, body string) task.Entry {
	e := task.Entry{Kind: task.Status, State: s}
	if body != "" {
		e.Body = []byte(body)
	}
	return e
}

func chunk(id a2a.ArtifactID, body string) task.Entry {
	return task.Entry{Kind: task.Artifact, ArtifactID: id, Append: true, Body: []byte(body)}
}

func whole(id a2a.ArtifactID, body string) task.Entry {
	return task.Entry{Kind: task.Artifact, ArtifactID: id, Body: []byte(body)}
}

func ptr[T any](v T) *T { return &v }

const (
	hello    = `{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"hello"}]}`
	question = `{"messageId":"q1","role":"ROLE_AGENT","parts":[{"text":"which city?"}]}`
	answer   = `{"messageId":"m2","role":"ROLE_USER","parts":[{"text":"Graz"}],"x-n":12345678901234567890}`
	done     = `{"messageId":"d1","role":"ROLE_AGENT","parts":[{"text":"done"}]}`
)

func TestMillisAppendJSON(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		in   task.Millis
		want string
	}{
		{0, `null`},
		{at(0), `"2026-03-12T09:05:00.000Z"`},
		{at(7), `"2026-03-12T09:05:00.007Z"`},
		{at(59_999), `"2026-03-12T09:05:59.999Z"`},
		{-1, `"1969-12-31T23:59:59.999Z"`},
		{951782400000, `"2000-02-29T00:00:00.000Z"`},
		{1 << 62, `"9999-12-31T23:59:59.999Z"`},
		{-1 << 62, `"0000-01-01T00:00:00.000Z"`},
	} {
		if got := string(tt.in.AppendJSON(nil)); got != tt.want {
			t.Errorf("Millis(%d).AppendJSON() = %s, want %s", tt.in, got, tt.want)
		}
	}
}

func TestAppendFrame(t *testing.T) {
	t.Parallel()
	h := head()
	h.ID = `t"1`
	const ids = `"taskId":"t\"1","contextId":"c-1"`
	tests := []struct {
		name string
		e    task.Entry
		want string
	}{
		{
			"created",
			task.Entry{Kind: task.Created, State: task.Submitted, At: at(0), Body: []byte(hello)},
			`{"task":{"id":"t\"1","contextId":"c-1","status":{"state":"TASK_STATE_SUBMITTED",` +
				`"timestamp":"2026-03-12T09:05:00.000Z"},"history":[` + hello + `]}}`,
		},
		{
			"status",
			task.Entry{
				Kind: task.Status, State: task.InputRequired, At: at(5),
				Body: []byte(question), Meta: []byte(`{"n":1.0}`),
			},
			`{"statusUpdate":{` + ids + `,"status":{"state":"TASK_STATE_INPUT_REQUIRED","message":` + question +
				`,"timestamp":"2026-03-12T09:05:00.005Z"},"metadata":{"n":1.0}}}`,
		},
		{
			"bare status",
			task.Entry{Kind: task.Status, State: task.Working, At: at(5)},
			`{"statusUpdate":{` + ids + `,"status":{"state":"TASK_STATE_WORKING","timestamp":"2026-03-12T09:05:00.005Z"}}}`,
		},
		{
			"artifact",
			task.Entry{Kind: task.Artifact, ArtifactID: "a", Body: []byte(`{"artifactId":"a","parts":[]}`)},
			`{"artifactUpdate":{` + ids + `,"artifact":{"artifactId":"a","parts":[]}}}`,
		},
		{
			"last chunk",
			task.Entry{
				Kind: task.Artifact, ArtifactID: "a", Append: true, LastChunk: true,
				Body: []byte(`{"artifactId":"a","parts":[]}`), Meta: []byte(`{}`),
			},
			`{"artifactUpdate":{` + ids + `,"artifact":{"artifactId":"a","parts":[]},"append":true,"lastChunk":true,"metadata":{}}}`,
		},
		{"message", task.Entry{Kind: task.Message, Body: []byte(hello)}, ``},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := string(task.AppendFrame([]byte("data: "), &h, &tt.e))
			if diff := cmp.Diff("data: "+tt.want, got); diff != "" {
				t.Errorf("AppendFrame mismatch (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAppendTask(t *testing.T) {
	t.Parallel()
	ended := status(task.Completed, done)
	ended.Meta = []byte(`{"cost":0.10,"model":"x"}`)
	h, f, _ := buildTask(t, created(hello), status(task.InputRequired, question), followUp(answer),
		status(task.Working, ""), whole("a", `{"artifactId":"a","parts":[{"text":"42"}]}`), ended)
	h.Consumed = 3
	const (
		task0 = `{"id":"t-1","contextId":"c-1","status":{"state":"TASK_STATE_COMPLETED","message":` + done +
			`,"timestamp":"2026-03-12T09:05:00.005Z"}`
		artifacts = `,"artifacts":[{"artifactId":"a","parts":[{"text":"42"}]}]`
		meta      = `,"metadata":{"cost":0.10,"model":"x"}}`
	)
	tests := []struct {
		name string
		o    task.TaskOptions
		want string
	}{
		{"default", task.TaskOptions{}, task0 + `,"history":[` + hello + `,` + question + `,` + answer + `]` + meta},
		{"artifacts", task.TaskOptions{Artifacts: true, History: ptr(0)}, task0 + artifacts + meta},
		{"one message", task.TaskOptions{History: ptr(1)}, task0 + `,"history":[` + answer + `]` + meta},
		{"two messages", task.TaskOptions{History: ptr(2)}, task0 + `,"history":[` + question + `,` + answer + `]` + meta},
		{"more than all", task.TaskOptions{History: ptr(9)}, task0 + `,"history":[` + hello + `,` + question + `,` + answer + `]` + meta},
		{"negative", task.TaskOptions{History: ptr(-1)}, task0 + meta},
		{"empty history", task.TaskOptions{History: ptr(0), EmptyHistory: true}, task0 + `,"history":[]` + meta},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, string(f.AppendTask(nil, &h, tt.o))); diff != "" {
				t.Errorf("AppendTask(%+v) mismatch (-want +got):\n%s", tt.o, diff)
			}
		})
	}
}

func TestAppendTaskOfNothing(t *testing.T) {
	t.Parallel()
	h := task.Head{ID: "t", State: task.Submitted}
	var f *task.Fold
	const start = `{"id":"t","status":{"state":"TASK_STATE_SUBMITTED"}`
	for _, tt := range []struct {
		o    task.TaskOptions
		want string
	}{
		{task.TaskOptions{Artifacts: true}, start + `}`},
		{task.TaskOptions{EmptyArtifacts: true}, start + `}`},
		{task.TaskOptions{Artifacts: true, EmptyArtifacts: true}, start + `,"artifacts":[]}`},
		{task.TaskOptions{EmptyHistory: true}, start + `,"history":[]}`},
	} {
		if got := string(f.AppendTask(nil, &h, tt.o)); got != tt.want {
			t.Errorf("nil Fold: AppendTask(%+v) = %s, want %s", tt.o, got, tt.want)
		}
	}
}

func TestUndelivered(t *testing.T) {
	t.Parallel()
	const (
		withMeta = `{"messageId":"m3","metadata":{"k":1e2},"role":"ROLE_USER","parts":[{"text":"late"}]}`
		forged   = `{"messageId":"m4","metadata":{"parley.undelivered":false},"parts":[]}`
	)
	h, f, _ := buildTask(t, created(hello), followUp(answer), followUp(withMeta), followUp(forged), status(task.Failed, done))
	h.Consumed = 1
	want := `[` + hello +
		`,{"messageId":"m2","role":"ROLE_USER","parts":[{"text":"Graz"}],"x-n":12345678901234567890,"metadata":{"parley.undelivered":true}}` +
		`,{"messageId":"m3","role":"ROLE_USER","parts":[{"text":"late"}],"metadata":{"k":1e2,"parley.undelivered":true}}` +
		`,{"messageId":"m4","parts":[],"metadata":{"parley.undelivered":true}}]`
	if diff := cmp.Diff(want, string(f.AppendHistory(nil, &h, nil))); diff != "" {
		t.Errorf("AppendHistory mismatch (-want +got):\n%s", diff)
	}
	h.State = task.Working
	want = `[` + hello + `,` + answer + `,` + withMeta + `,` + forged + `]`
	if got := string(f.AppendHistory(nil, &h, nil)); got != want {
		t.Errorf("AppendHistory of an open task = %s, want %s", got, want)
	}
}

func TestA2A(t *testing.T) {
	t.Parallel()
	h, f, _ := buildTask(t, created(hello), status(task.InputRequired, question), followUp(answer),
		whole("a", `{"artifactId":"a","name":"n","parts":[{"data":null,"metadata":{"k":"v"}},{"raw":"AQI="}]}`),
		status(task.Completed, done))
	h.Consumed = 3
	got, err := f.A2A(&h)
	if err != nil {
		t.Fatal(err)
	}
	text := func(id string, role a2a.MessageRole, s string) *a2a.Message {
		return &a2a.Message{ID: id, Role: role, Parts: a2a.ContentParts{a2a.NewTextPart(s)}}
	}
	want := &a2a.Task{
		ID: "t-1", ContextID: "c-1",
		Status: a2a.TaskStatus{
			State: a2a.TaskStateCompleted, Timestamp: ptr(at(4).Time()),
			Message: text("d1", a2a.MessageRoleAgent, "done"),
		},
		History: []*a2a.Message{
			text("m1", a2a.MessageRoleUser, "hello"),
			text("q1", a2a.MessageRoleAgent, "which city?"),
			text("m2", a2a.MessageRoleUser, "Graz"),
		},
		Artifacts: []*a2a.Artifact{{ID: "a", Name: "n", Parts: a2a.ContentParts{
			{Content: a2a.Data{}, Metadata: map[string]any{"k": "v"}}, a2a.NewRawPart([]byte{1, 2}),
		}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("A2A() mismatch (-want +got):\n%s", diff)
	}
}

func TestDecodeMessage(t *testing.T) {
	t.Parallel()
	in := &a2a.Message{
		ID: "m", ContextID: "c", TaskID: "t", Role: a2a.MessageRoleUser,
		Extensions: []string{"e"}, ReferenceTasks: []a2a.TaskID{"r"}, Metadata: map[string]any{"k": 1.5},
		Parts: a2a.ContentParts{
			a2a.NewTextPart("x"), a2a.NewDataPart(map[string]any{"a": true}), a2a.NewFileURLPart("http://x", "text/plain"),
		},
	}
	body, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	got, err := task.DecodeMessage(body)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(in, got); diff != "" {
		t.Errorf("DecodeMessage mismatch (-want +got):\n%s", diff)
	}
	for _, bad := range []string{`{`, `[]`, `{"parts":[{}]}`, `{"parts":[{"data":null,"metadata":1}]}`} {
		if got, err := task.DecodeMessage([]byte(bad)); err == nil {
			t.Errorf("DecodeMessage(%s) = %v, want an error", bad, got)
		}
	}
}
