package a2ajson_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	a2apb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/json/a2ajson"
)

// The names of the cases begin with the rule of the specification's data model that they test;
// the numbers are those of the project's list of requirements.

func TestMessageCanonical(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, in, want string
		o              a2ajson.Options
	}{
		{
			name: "canonical input stays",
			in:   `{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hi"}]}`,
			want: `{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hi"}]}`,
		},
		{
			name: "rule 1 and 11: snake_case is read, camelCase written",
			in:   `{"message_id":"m","context_id":"c","task_id":"t","role":"ROLE_USER","parts":[{"text":"x","media_type":"a/b"}],"reference_task_ids":["r"]}`,
			want: `{"messageId":"m","contextId":"c","taskId":"t","role":"ROLE_USER","parts":[{"text":"x","mediaType":"a/b"}],"referenceTaskIds":["r"]}`,
		},
		{
			name: "rule 2: enums are written by name",
			in:   `{"messageId":"m","role":2,"parts":[{"text":""}]}`,
			want: `{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":""}]}`,
		},
		{
			name: "rule 2: an escaped enum is the enum",
			in:   `{"messageId":"m","role":"\u0052OLE_USER","parts":[{"text":"x"}]}`,
			want: `{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}]}`,
		},
		{
			name: "rule 4: bytes in four forms of base64",
			in:   `{"messageId":"m","role":1,"parts":[{"raw":"+/8="},{"raw":"-_8="},{"raw":"+/8"},{"raw":"-_8"},{"raw":""},{"raw":"\/w=="}]}`,
			want: `{"messageId":"m","role":"ROLE_USER","parts":[{"raw":"+/8="},{"raw":"+/8="},{"raw":"+/8="},{"raw":"+/8="},{"raw":""},{"raw":"/w=="}]}`,
		},
		{
			name: "rule 7: unknown fields and digits stay, on one line",
			in:   "{\"messageId\":\"m\",\"role\":1,\n \"parts\":[{\"text\":\"x\", \"x-part\": null}],\t\"x\": {\"n\": 12345678901234567890.10, \"u\": [1, 2]}}",
			want: `{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x","x-part":null}],"x":{"n":12345678901234567890.10,"u":[1,2]}}`,
		},
		{
			name: "rule 8: data may be null, other content may not",
			in:   `{"messageId":"m","role":1,"parts":[{"text":null,"raw":null,"url":null,"data":null}]}`,
			want: `{"messageId":"m","role":"ROLE_USER","parts":[{"data":null}]}`,
		},
		{
			name: "rule 9: every kind of content has its companions",
			in:   `{"messageId":"m","role":1,"parts":[{"url":"u","filename":"f","mediaType":"a/b","metadata":{"k":1}},{"data":[1],"filename":"f"}]}`,
			want: `{"messageId":"m","role":"ROLE_USER","parts":[{"url":"u","filename":"f","mediaType":"a/b","metadata":{"k":1}},{"data":[1],"filename":"f"}]}`,
		},
		{
			name: "rule 11: null and empty are absent",
			in:   `{"messageId":"m","contextId":null,"taskId":"","role":1,"parts":[{"text":"x","filename":"","mediaType":null}],"metadata":null,"extensions":[],"referenceTaskIds":null}`,
			want: `{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}]}`,
		},
		{
			name: "rule 11: data that is null beside another content is absent",
			in:   `{"messageId":"m","role":1,"parts":[{"data":null,"text":"","metadata":{}},{"raw":"QQ","data":null},{"text":null,"data":null}]}`,
			want: `{"messageId":"m","role":"ROLE_USER","parts":[{"text":"","metadata":{}},{"raw":"QQ=="},{"data":null}]}`,
		},
		{
			name: "rule 4: base64 with line ends",
			in:   `{"messageId":"m","role":1,"parts":[{"raw":"QUFB\r\nQUFB\n"},{"raw":"QUFB\u000aQQ"}]}`,
			want: `{"messageId":"m","role":"ROLE_USER","parts":[{"raw":"QUFBQUFB"},{"raw":"QUFBQQ=="}]}`,
		},
		{
			name: "rule 15: metadata is free",
			in:   `{"messageId":"m","role":1,"parts":[{"text":"x"}],"metadata":{"a b":[null,{"c":1e400}]}}`,
			want: `{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}],"metadata":{"a b":[null,{"c":1e400}]}}`,
		},
		{
			name: "the older name of the media type",
			in:   `{"messageId":"m","role":1,"parts":[{"text":"x","mimeType":"a/b"}]}`,
			want: `{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x","mediaType":"a/b"}]}`,
		},
		{
			name: "ids left out",
			in:   `{"contextId":"c","taskId":"t","messageId":"m","role":1,"parts":[{"text":"x"}]}`,
			want: `{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}]}`,
			o:    a2ajson.Options{OmitIDs: true},
		},
		{
			name: "parts may be absent by option",
			in:   `{"messageId":"m","role":2}`,
			want: `{"messageId":"m","role":"ROLE_AGENT","parts":[]}`,
			o:    a2ajson.Options{EmptyParts: true},
		},
		{
			name: "a role filled in",
			in:   `{"messageId":"m","parts":[{"text":"x"}]}`,
			want: `{"messageId":"m","parts":[{"text":"x"}],"role":"ROLE_AGENT"}`,
			o:    a2ajson.Options{Fill: true},
		},
		{
			name: "the demanded role filled in",
			in:   `{"messageId":"m","role":"ROLE_USER","parts":[]}`,
			want: `{"messageId":"m","role":"ROLE_USER","parts":[]}`,
			o:    a2ajson.Options{Fill: true, Role: a2a.MessageRoleUser, EmptyParts: true},
		},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, _, err := a2ajson.Message([]byte("before"), []byte(tc.in), tc.o)
			if err != nil {
				t.Fatalf("Message(%s) = %v", tc.in, err)
			}
			if want := "before" + tc.want; string(got) != want {
				t.Errorf("Message(%s)\n got %s\nwant %s", tc.in, got, want)
			}
		})
	}
}

func TestMessageRefused(t *testing.T) {
	t.Parallel()
	const ok = `"messageId":"m","role":1,"parts":[{"text":"x"}]`
	part := func(p string) string { return `{"messageId":"m","role":1,"parts":[{"text":"x"},` + p + `]}` }
	tests := []struct {
		name, in, field, problem string
	}{
		{"rule 5: id", `{"role":1,"parts":[{"text":"x"}]}`, "messageId", "required"},
		{"rule 5: empty id", `{"messageId":"","role":1,"parts":[{"text":"x"}]}`, "messageId", "required"},
		{"rule 5: role", `{"messageId":"m","parts":[{"text":"x"}]}`, "role", "required"},
		{"rule 5: parts", `{"messageId":"m","role":1}`, "parts", "required"},
		{"rule 5: empty parts", `{"messageId":"m","role":1,"parts":[]}`, "parts", "empty"},
		{"rule 5: null parts", `{"messageId":"m","role":1,"parts":null}`, "parts", "required"},
		{"rule 7: unknown role", `{"messageId":"m","role":"ROLE_ROBOT","parts":[{"text":"x"}]}`, "role", "ROLE_USER"},
		{"rule 7: role without meaning", `{"messageId":"m","role":0,"parts":[{"text":"x"}]}`, "role", "ROLE_USER"},
		{"rule 8: no content", part(`{"filename":"f"}`), "parts[1]", "exactly one"},
		{"rule 8: two contents", part(`{"text":"a","data":0}`), "parts[1]", "exactly one"},
		{"rule 8: null", part(`null`), "parts[1]", "object"},
		{"rule 4: base64 with a wrong digit", part(`{"raw":"ab*d"}`), "parts[1].raw", "base64"},
		{"rule 4: base64 with a wrong length", part(`{"raw":"abcde"}`), "parts[1].raw", "length"},
		{"rule 4: base64 with too little padding", part(`{"raw":"ab="}`), "parts[1].raw", "length"},
		{"rule 4: base64 that is all padding", part(`{"raw":"===="}`), "parts[1].raw", "length"},
		{"rule 4: bytes that are no string", part(`{"raw":5}`), "parts[1].raw", "base64"},
		{"empty url", part(`{"url":""}`), "parts[1].url", "empty"},
		{"text that is no string", part(`{"text":5}`), "parts[1].text", "string"},
		{"media type that is no string", part(`{"text":"","media_type":5}`), "parts[1].media_type", "string"},
		{"metadata that is no object", part(`{"text":"","metadata":[]}`), "parts[1].metadata", "object"},
		{"parts that are no list", `{"messageId":"m","role":1,"parts":{}}`, "parts", "list"},
		{"extensions that are no list", `{` + ok + `,"extensions":"x"}`, "extensions", "list"},
		{"an extension that is no string", `{` + ok + `,"extensions":["x",1]}`, "extensions[1]", "string"},
		{"field given twice", `{` + ok + `,"role":1}`, "role", "twice"},
		{"field given twice, first null", `{"contextId":null,` + ok + `,"contextId":"c"}`, "contextId", "twice"},
		{"field given in two spellings", `{` + ok + `,"message_id":"n"}`, "message_id", "twice"},
		{"media type by two names", part(`{"text":"","mediaType":"a","mimeType":"b"}`), "parts[1].mimeType", "twice"},
		{"unknown field given twice", `{` + ok + `,"x":1,"\u0078":2}`, "x", "twice"},
		{"metadata given twice", `{` + ok + `,"metadata":{"skill":"a","skill":"b"}}`, "metadata.skill", "twice"},
		{"field in another case", `{` + ok + `,"Role":1}`, "Role", "must be written role"},
		{"part field in another case", part(`{"text":"a","TEXT":"b"}`), "parts[1].TEXT", "must be written text"},
		{"long id", `{"messageId":"` + strings.Repeat("m", a2ajson.MaxID+1) + `"}`, "messageId", "longer"},
		{"not an object", `[]`, "", "object"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			dst := []byte("before")
			got, _, err := a2ajson.Message(dst, []byte(tc.in), a2ajson.Options{})
			if string(got) != "before" {
				t.Errorf("Message(%s) returned %q with an error, want dst", tc.in, got)
			}
			wantField(t, err, tc.field, tc.problem)
		})
	}
}

// wantField checks that err is about one field of the request.
func wantField(t *testing.T, err error, field, problem string) {
	t.Helper()
	var e *apierror.Error
	if !errors.As(err, &e) || !errors.Is(err, a2a.ErrInvalidParams) {
		t.Fatalf("error = %v, want a *fault.Error that wraps ErrInvalidParams", err)
	}
	if len(e.Violations) != 1 || e.Violations[0].Field != field || !strings.Contains(e.Violations[0].Problem, problem) {
		t.Errorf("violations = %+v, want field %q with %q", e.Violations, field, problem)
	}
}

func TestMessageSyntax(t *testing.T) {
	t.Parallel()
	deep := `{"messageId":"m","role":1,"parts":[{"data":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}]}`
	for _, in := range []string{``, `{`, `{} x`, "{\"a\":\"\xff\"}", deep} {
		if _, _, err := a2ajson.Message(nil, []byte(in), a2ajson.Options{}); !errors.Is(err, a2a.ErrInvalidParams) {
			t.Errorf("Message(%.20q) = %v, want ErrInvalidParams", in, err)
		}
	}
	if _, _, err := a2ajson.Message(nil, []byte(deep), a2ajson.Options{MaxDepth: 300}); err != nil {
		t.Errorf("Message with MaxDepth 300 = %v", err)
	}
}

func TestMessageRole(t *testing.T) {
	t.Parallel()
	in := []byte(`{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"x"}]}`)
	_, _, err := a2ajson.Message(nil, in, a2ajson.Options{Role: a2a.MessageRoleUser})
	wantField(t, err, "role", "ROLE_USER")
}

func TestMessageMaxParts(t *testing.T) {
	t.Parallel()
	in := []byte(`{"messageId":"m","role":1,"parts":[{"text":"x"},{"text":"y"}]}`)
	if _, _, err := a2ajson.Message(nil, in, a2ajson.Options{MaxParts: 2}); err != nil {
		t.Errorf("two parts of two: %v", err)
	}
	_, _, err := a2ajson.Message(nil, in, a2ajson.Options{MaxParts: 1})
	wantField(t, err, "parts", "more than 1")
}

func TestMessageFacts(t *testing.T) {
	t.Parallel()
	in := `{"messageId":"m","contextId":"c","taskId":"t","role":1,"metadata":{"a" : 1},"parts":[{"text":"x"},{"text":"y","mediaType":"text/plain"}]}`
	_, got, err := a2ajson.Message(nil, []byte(in), a2ajson.Options{OmitIDs: true})
	if err != nil {
		t.Fatal(err)
	}
	want := a2ajson.Facts{
		ID: "m", ContextID: "c", TaskID: "t", Role: a2a.MessageRoleUser,
		MediaTypes: []string{"", "text/plain"}, Metadata: []byte(`{"a" : 1}`),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("facts mismatch (-want +got):\n%s", diff)
	}
}

func TestFillMakesIDs(t *testing.T) {
	t.Parallel()
	out, facts, err := a2ajson.Message(nil, []byte(`{"parts":[{"text":"x"}]}`), a2ajson.Options{Fill: true})
	if err != nil {
		t.Fatal(err)
	}
	var m a2a.Message
	if err := json.Unmarshal(out, &m); err != nil || m.ID == "" || m.ID != facts.ID {
		t.Errorf("message %s has id %q (facts %q), %v", out, m.ID, facts.ID, err)
	}
	out, facts, err = a2ajson.Artifact(nil, []byte(`{"parts":[{"text":"x"}]}`), a2ajson.Options{Fill: true})
	if err != nil {
		t.Fatal(err)
	}
	var a a2a.Artifact
	if err := json.Unmarshal(out, &a); err != nil || a.ID == "" || string(a.ID) != facts.ID {
		t.Errorf("artifact %s has id %q (facts %q), %v", out, a.ID, facts.ID, err)
	}
}

func TestArtifactCanonical(t *testing.T) {
	t.Parallel()
	in := `{"artifact_id":"a","name":"n","description":"","parts":[{"raw":"_w"}],"metadata":{"k": 1},"extensions":["e"],"x":1.0}`
	want := `{"artifactId":"a","name":"n","parts":[{"raw":"/w=="}],"metadata":{"k":1},"extensions":["e"],"x":1.0}`
	got, facts, err := a2ajson.Artifact(nil, []byte(in), a2ajson.Options{})
	if err != nil || string(got) != want || facts.ID != "a" {
		t.Errorf("Artifact(%s)\n got %s (id %q), %v\nwant %s", in, got, facts.ID, err, want)
	}
}

func TestArtifactRefused(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, in, field, problem string }{
		{"rule 14: id", `{"parts":[{"text":"x"}]}`, "artifactId", "required"},
		{"rule 14: parts", `{"artifactId":"a"}`, "parts", "required"},
		{"rule 14: empty parts", `{"artifactId":"a","parts":[]}`, "parts", "empty"},
		{"name that is no string", `{"artifactId":"a","name":1}`, "name", "string"},
		{"not an object", `"a"`, "", "object"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, _, err := a2ajson.Artifact(nil, []byte(tc.in), a2ajson.Options{})
			wantField(t, err, tc.field, tc.problem)
		})
	}
	got, _, err := a2ajson.Artifact(nil, []byte(`{"artifactId":"a"}`), a2ajson.Options{EmptyParts: true})
	if want := `{"artifactId":"a","parts":[]}`; err != nil || string(got) != want {
		t.Errorf("Artifact with EmptyParts = %s, %v, want %s", got, err, want)
	}
}

// Rule 10: the SDK and ProtoJSON read canonical output with the same meaning.
func TestCanonicalIsProtoJSON(t *testing.T) {
	t.Parallel()
	in := `{"message_id":"m","role":1,"parts":[{"raw":"-_8"},{"data":null},{"data":{"a":[1,null]}},{"url":"u","filename":"f"}],"metadata":{"k":"v"}}`
	out, _, err := a2ajson.Message(nil, []byte(in), a2ajson.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var got, want a2apb.Message
	if err := protojson.Unmarshal(out, &got); err != nil {
		t.Fatalf("protojson of %s: %v", out, err)
	}
	if err := protojson.Unmarshal([]byte(in), &want); err != nil {
		t.Fatalf("protojson of the input: %v", err)
	}
	if fmt.Sprint(protojson.Format(&got)) != fmt.Sprint(protojson.Format(&want)) {
		t.Errorf("canonical form means %v, want %v", &got, &want)
	}
}

func TestManyUnknownFields(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString(`{"messageId":"m","role":1,"parts":[{"text":"x"}]`)
	for i := range 100 {
		fmt.Fprintf(&b, `,"x%d":%d`, i, i)
	}
	if _, _, err := a2ajson.Message(nil, []byte(b.String()+`}`), a2ajson.Options{}); err != nil {
		t.Errorf("100 unknown fields: %v", err)
	}
	_, _, err := a2ajson.Message(nil, []byte(b.String()+`,"x99":0}`), a2ajson.Options{})
	wantField(t, err, "x99", "twice")
	long := strings.Repeat("é", 1000)
	_, _, err = a2ajson.Message(nil, fmt.Appendf(nil, `%s,%q:1,%q:2}`, b.String(), long, long), a2ajson.Options{})
	if err == nil || len(err.Error()) > 200 {
		t.Errorf("a long name gives the error %.300v", err)
	}
}
