package dialect_test

import (
	"encoding/json"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	a2apb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/task"
)

const (
	question = `{"messageId":"q","role":"ROLE_USER","parts":[{"text":"hi"}]}`
	reply    = `{"messageId":"r","contextId":"c","taskId":"t","role":"ROLE_AGENT","parts":[{"text":"done"}]}`
	result   = `{"artifactId":"a","parts":[{"data":null},{"raw":"+/8="}]}`

	headJSON = `"id":"t","contextId":"c","status":{"state":"TASK_STATE_COMPLETED","message":` + reply + `,"timestamp":"2026-03-12T09:05:00.007Z"}`
)

// answer returns a finished task with a question, an artifact and a reply, or with
// the question alone.
func answer(t testing.TB, artifact bool) op.Answer {
	t.Helper()
	at := task.Millis(1773306300007)
	entries := []task.Entry{{Kind: task.Created, State: task.Submitted, At: at, Body: []byte(question)}}
	if artifact {
		entries = append(entries, task.Entry{Kind: task.Artifact, At: at, ArtifactID: "a", Body: []byte(result)})
	}
	entries = append(entries, task.Entry{Kind: task.Status, State: task.Completed, At: at, Body: []byte(reply)})
	h := task.Head{ID: "t", ContextID: "c", Consumed: 1}
	f := &task.Fold{}
	for _, e := range entries {
		var err error
		if h, e, err = task.Apply(h, e); err != nil {
			t.Fatal(err)
		}
		if err := f.Add(&e); err != nil {
			t.Fatal(err)
		}
	}
	return op.Answer{Head: h, Fold: f}
}

func TestAppendTask(t *testing.T) {
	t.Parallel()
	full, bare := answer(t, true), answer(t, false)
	bare.Fold = nil
	tests := []struct {
		name    string
		a       op.Answer
		history *int
		s       dialect.Surface
		want    string
	}{
		{"whole", full, nil, dialect.RPC, `{` + headJSON + `,"artifacts":[` + result + `],"history":[` + question + `]}`},
		{"rule 21: no history", full, ptr(0), dialect.RPC, `{` + headJSON + `,"artifacts":[` + result + `]}`},
		{"rule 21: no history on REST", full, ptr(0), dialect.REST, `{` + headJSON + `,"artifacts":[` + result + `]}`},
		{"head alone", bare, nil, dialect.RPC, `{` + headJSON + `}`},
		{"head alone on REST", bare, nil, dialect.REST, `{` + headJSON + `,"history":[]}`},
		{"head alone on REST without history", bare, ptr(0), dialect.REST, `{` + headJSON + `}`},
	}
	for _, tc := range tests {
		tc.a.History = tc.history
		if got := string(dialect.AppendTask(nil, &tc.a, tc.s)); got != tc.want {
			t.Errorf("%s\n got %s\nwant %s", tc.name, got, tc.want)
		}
	}
}

// Rule 16: a task or a message.
func TestAppendSendResponse(t *testing.T) {
	t.Parallel()
	a := answer(t, true)
	mustProto(t, dialect.AppendSendResponse(nil, &a, dialect.RPC), &a2apb.SendMessageResponse{})
	a = answer(t, false)
	got := dialect.AppendSendResponse(nil, &a, dialect.RPC)
	var back a2a.StreamResponse
	if err := json.Unmarshal(got, &back); err != nil {
		t.Errorf("SDK: %v of %s", err, got)
	}
	mustProto(t, got, &a2apb.SendMessageResponse{})
	mustProto(t, got, &a2apb.StreamResponse{})

	m := op.Answer{Message: []byte(reply)}
	got = dialect.AppendSendResponse(nil, &m, dialect.REST)
	if want := `{"message":` + reply + `}`; string(got) != want {
		t.Errorf("message: got %s, want %s", got, want)
	}
	mustProto(t, got, &a2apb.SendMessageResponse{})
}

// mustProto checks that ProtoJSON reads b without having to ignore anything.
func mustProto(t *testing.T, b []byte, m proto.Message) {
	t.Helper()
	if err := protojson.Unmarshal(b, m); err != nil {
		t.Errorf("ProtoJSON: %v of %s", err, b)
	}
}

// Rules 12, 30 and 31.
func TestAppendPage(t *testing.T) {
	t.Parallel()
	full, bare := answer(t, true), answer(t, false)
	full.History, bare.History = ptr(0), ptr(0)
	tests := []struct {
		name string
		p    op.Page
		want string
	}{
		{"empty", op.Page{PageSize: 50}, `{"tasks":[],"nextPageToken":"","pageSize":50,"totalSize":0}`},
		{
			"without artifacts",
			op.Page{Tasks: []op.Answer{full, bare}, PageSize: 2, TotalSize: 3, NextPageToken: "n"},
			`{"tasks":[{` + headJSON + `},{` + headJSON + `}],"nextPageToken":"n","pageSize":2,"totalSize":3}`,
		},
		{
			"with artifacts",
			op.Page{Tasks: []op.Answer{full, bare}, PageSize: 2, TotalSize: 2, Artifacts: true},
			`{"tasks":[{` + headJSON + `,"artifacts":[` + result + `]},{` + headJSON + `,"artifacts":[]}],"nextPageToken":"","pageSize":2,"totalSize":2}`,
		},
	}
	for _, tc := range tests {
		got := dialect.AppendPage(nil, &tc.p, dialect.RPC)
		if string(got) != tc.want {
			t.Errorf("%s\n got %s\nwant %s", tc.name, got, tc.want)
		}
		mustProto(t, got, &a2apb.ListTasksResponse{})
	}
}

// The SDK reads a task and a page unchanged, except for null data, which its decoder refuses.
func TestAnswersDecodeWithSDK(t *testing.T) {
	t.Parallel()
	a := answer(t, false)
	var got a2a.Task
	if err := json.Unmarshal(dialect.AppendTask(nil, &a, dialect.REST), &got); err != nil {
		t.Fatal(err)
	}
	if got.ID != "t" || got.Status.State != a2a.TaskStateCompleted || len(got.History) != 1 || got.Status.Message.Parts[0].Text() != "done" {
		t.Errorf("SDK reads %+v", got)
	}
	var page a2a.ListTasksResponse
	p := op.Page{Tasks: []op.Answer{a}, PageSize: 5, TotalSize: 9, NextPageToken: "x"}
	if err := json.Unmarshal(dialect.AppendPage(nil, &p, dialect.RPC), &page); err != nil {
		t.Fatal(err)
	}
	if len(page.Tasks) != 1 || page.TotalSize != 9 || page.PageSize != 5 || page.NextPageToken != "x" {
		t.Errorf("SDK reads %+v", page)
	}
}

// Rule 69: each event of a stream is a whole response with the request's id.
func TestEnvelope(t *testing.T) {
	t.Parallel()
	const want = `{"jsonrpc":"2.0","id":"a\u0041","result":{"x":1}}`
	id, frame := []byte(`"a\u0041"`), []byte(`{"x":1}`)
	e := dialect.NewEnvelope(id)
	clear(id)
	for range 2 {
		if got := string(e.Append(nil, frame)); got != want {
			t.Errorf("Append = %s, want %s", got, want)
		}
	}
	if got := string(dialect.AppendRPCResult([]byte("-"), []byte(`"a\u0041"`), frame)); got != "-"+want {
		t.Errorf("AppendRPCResult = %s", got)
	}
	var bare dialect.Envelope
	if got := string(bare.Append(nil, frame)); got != `{"x":1}` {
		t.Errorf("the zero Envelope writes %s", got)
	}
	if got, want := string(dialect.AppendRPCResult(nil, nil, frame)), `{"jsonrpc":"2.0","id":null,"result":{"x":1}}`; got != want {
		t.Errorf("without id: %s, want %s", got, want)
	}
}
