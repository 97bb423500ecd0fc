package a2ajson_test

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	a2apb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/json/a2ajson"
)

func fullMessage() *a2a.Message {
	return &a2a.Message{
		ID: "m", ContextID: "c", TaskID: "t", Role: a2a.MessageRoleUser,
		Extensions:     []string{"https://e/1", "https://e/2"},
		ReferenceTasks: []a2a.TaskID{"r1", "r2"},
		Metadata:       map[string]any{"b": 1.5, "a": "x<y>&\u2028\"", "n": nil, "t": true},
		Parts: a2a.ContentParts{
			{Content: a2a.Text("hällo\n"), MediaType: "text/plain", Filename: "f"},
			{Content: a2a.Raw{0xfb, 0xff}, Metadata: map[string]any{"k": []any{1.0, "two"}}},
			{Content: a2a.Data{Value: map[string]any{"deep": map[string]any{"x": []any{}}}}},
			{Content: a2a.URL("https://u")},
			{Content: a2a.Text("")},
		},
	}
}

func TestAppendMessage(t *testing.T) {
	t.Parallel()
	want := `{"messageId":"m","contextId":"c","taskId":"t","role":"ROLE_USER","parts":[` +
		`{"text":"hällo\n","filename":"f","mediaType":"text/plain"},` +
		`{"raw":"+/8=","metadata":{"k":[1,"two"]}},` +
		`{"data":{"deep":{"x":[]}}},{"url":"https://u"},{"text":""}],` +
		`"metadata":{"a":"x<y>&\u2028\"","b":1.5,"n":null,"t":true},` +
		`"extensions":["https://e/1","https://e/2"],"referenceTaskIds":["r1","r2"]}`
	got, err := a2ajson.AppendMessage([]byte("before"), fullMessage())
	if err != nil || string(got) != "before"+want {
		t.Errorf("AppendMessage = %v\n got %s\nwant before%s", err, got, want)
	}
}

// The SDK, ProtoJSON and the canonicaliser read the output back as the original, and the
// canonicaliser changes nothing.
func TestAppendMessageReadsBack(t *testing.T) {
	t.Parallel()
	out, err := a2ajson.AppendMessage(nil, fullMessage())
	if err != nil {
		t.Fatal(err)
	}
	var back a2a.Message
	if err := json.Unmarshal(out, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(fullMessage(), &back); diff != "" {
		t.Errorf("SDK reads something else (-want +got):\n%s", diff)
	}
	if err := protojson.Unmarshal(out, &a2apb.Message{}); err != nil {
		t.Errorf("protojson: %v", err)
	}
	again, _, err := a2ajson.Message(nil, out, a2ajson.Options{})
	if err != nil || string(again) != string(out) {
		t.Errorf("canonical form of %s\n is %s, %v", out, again, err)
	}
}

// The canonicaliser accepts the SDK's output and keeps its meaning.
func TestSDKMessageIsAccepted(t *testing.T) {
	t.Parallel()
	theirs, err := json.Marshal(fullMessage())
	if err != nil {
		t.Fatal(err)
	}
	out, _, err := a2ajson.Message(nil, theirs, a2ajson.Options{})
	if err != nil {
		t.Fatalf("Message(%s) = %v", theirs, err)
	}
	var back a2a.Message
	if err := json.Unmarshal(out, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(fullMessage(), &back); diff != "" {
		t.Errorf("mismatch (-want +got):\n%s", diff)
	}
}

func TestAppendMessageDefaults(t *testing.T) {
	t.Parallel()
	out, err := a2ajson.AppendMessage(nil, &a2a.Message{})
	if err != nil {
		t.Fatal(err)
	}
	var m a2a.Message
	if err := json.Unmarshal(out, &m); err != nil {
		t.Fatal(err)
	}
	if id, err := uuid.Parse(m.ID); err != nil || id.Version() != 7 {
		t.Errorf("messageId = %q, want a UUIDv7", m.ID)
	}
	if m.Role != a2a.MessageRoleAgent || !strings.Contains(string(out), `"parts":[]`) {
		t.Errorf("message = %s, want an agent's with a list of no parts", out)
	}
}

func TestAppendArtifact(t *testing.T) {
	t.Parallel()
	a := &a2a.Artifact{
		ID: "a", Name: "n", Description: "d", Extensions: []string{"e"},
		Metadata: map[string]any{"k": "v"}, Parts: a2a.ContentParts{a2a.NewTextPart("x")},
	}
	want := `{"artifactId":"a","name":"n","description":"d","parts":[{"text":"x"}],"metadata":{"k":"v"},"extensions":["e"]}`
	got, err := a2ajson.AppendArtifact(nil, a)
	if err != nil || string(got) != want {
		t.Errorf("AppendArtifact = %s, %v, want %s", got, err, want)
	}
	got, err = a2ajson.AppendArtifact(nil, &a2a.Artifact{Parts: a.Parts})
	var back a2a.Artifact
	if err != nil || json.Unmarshal(got, &back) != nil || back.ID == "" {
		t.Errorf("AppendArtifact without an id = %s, %v, want a new id", got, err)
	}
}

func TestAppendRefused(t *testing.T) {
	t.Parallel()
	cycle := map[string]any{}
	cycle["again"] = cycle
	data := func(v any) *a2a.Message {
		return &a2a.Message{Parts: a2a.ContentParts{a2a.NewTextPart("x"), a2a.NewDataPart(v)}}
	}
	tests := []struct {
		name  string
		m     *a2a.Message
		field string
	}{
		{"nil", nil, ""},
		{"role", &a2a.Message{Role: "ROLE_ROBOT"}, "role"},
		{"nil part", &a2a.Message{Parts: a2a.ContentParts{nil}}, "parts[0]"},
		{"part without content", &a2a.Message{Parts: a2a.ContentParts{{}}}, "parts[0]"},
		{"empty url", &a2a.Message{Parts: a2a.ContentParts{{Content: a2a.URL("")}}}, "parts[0].url"},
		{"NaN", data(math.NaN()), "parts[1].data"},
		{"infinity in a list", data([]any{1, math.Inf(1)}), "parts[1].data[1]"},
		{"channel", data(map[string]any{"c": make(chan int)}), "parts[1].data.c"},
		{"number that is none", data(json.Number("0x1")), "parts[1].data"},
		{"broken raw message", data(json.RawMessage(`{`)), "parts[1].data"},
		{"name that is not UTF-8", data(map[string]any{"\xff": 1}), "parts[1].data"},
		{"metadata", &a2a.Message{Metadata: map[string]any{"a": map[string]any{"b": func() {}}}}, "metadata.a.b"},
		{"part metadata", &a2a.Message{Parts: a2a.ContentParts{{Content: a2a.Text(""), Metadata: map[string]any{"a": math.NaN()}}}}, "parts[0].metadata.a"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := a2ajson.AppendMessage([]byte("before"), tc.m)
			var e *apierror.Error
			if !errors.As(err, &e) || !errors.Is(err, a2a.ErrInvalidAgentResponse) || e.Violations[0].Field != tc.field {
				t.Errorf("AppendMessage = %v, want an error about %q", err, tc.field)
			}
			if string(got) != "before" {
				t.Errorf("AppendMessage returned %q with an error, want dst", got)
			}
		})
	}
	if _, err := a2ajson.AppendMetadata(nil, cycle); err == nil || !strings.Contains(err.Error(), "deep") {
		t.Errorf("AppendMetadata of a cycle = %v", err)
	}
	if _, err := a2ajson.AppendArtifact(nil, nil); err == nil {
		t.Error("AppendArtifact(nil) succeeded")
	}
	if got, err := a2ajson.AppendPart([]byte("b"), &a2a.Part{}); err == nil || string(got) != "b" {
		t.Errorf("AppendPart of no content = %q, %v", got, err)
	}
}

// Values are written as by encoding/json, except for its escapes for HTML.
func TestAppendMetadataLikeStdlib(t *testing.T) {
	t.Parallel()
	type named struct {
		A int `json:"a"`
	}
	values := []any{
		0.0, math.Copysign(0, -1), 1e20, 1e21, 1e-6, 1e-7, 123456789.125, -5.5, math.MaxFloat64, math.SmallestNonzeroFloat64,
		int8(-3), uint64(math.MaxUint64), int64(math.MinInt64), 7, float32(0.1),
		json.Number("12345678901234567890"), json.Number("1.50"), json.Number(""),
		json.RawMessage(`{ "x" : [1 , 2] }`),
		named{A: 1},
		&named{A: 2},
		map[string]int{"b": 1, "a": 2},
		[]string{"x", "y"},
		[]byte("hi"), []any(nil), map[string]any(nil), nil, true, "tab\tquote\"",
	}
	for _, v := range values {
		want, err := json.Marshal(map[string]any{"v": v})
		if err != nil {
			t.Fatal(err)
		}
		got, err := a2ajson.AppendMetadata(nil, map[string]any{"v": v})
		if err != nil || string(got) != string(want) {
			t.Errorf("AppendMetadata(%#v) = %s, %v, want %s", v, got, err, want)
		}
	}
	if got, err := a2ajson.AppendMetadata(nil, nil); err != nil || string(got) != "{}" {
		t.Errorf("AppendMetadata(nil) = %s, %v", got, err)
	}
}

func TestAppendPart(t *testing.T) {
	t.Parallel()
	got, err := a2ajson.AppendPart(nil, a2a.NewDataPart(nil))
	if want := `{"data":null}`; err != nil || string(got) != want {
		t.Errorf("AppendPart = %s, %v, want %s", got, err, want)
	}
	got, err = a2ajson.AppendPart(nil, a2a.NewTextPart("bad \xff"))
	if want := "{\"text\":\"bad \ufffd\"}"; err != nil || string(got) != want {
		t.Errorf("AppendPart = %s, %v, want %s", got, err, want)
	}
}
