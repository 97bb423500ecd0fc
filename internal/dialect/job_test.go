package dialect_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/dialect"
)

// A job's result has only text and data parts, so a file becomes data. Data is a string of
// JSON, metadata is a dictionary of strings, and an artifact has a name: readers
// of jobs refuse everything else.
func TestJobParts(t *testing.T) {
	t.Parallel()
	const (
		in = `{"id":"t","contextId":"c","status":{"state":"TASK_STATE_COMPLETED","message":{"role":"ROLE_AGENT","parts":[{"text":"no"}],` +
			`"metadata":{"fulfilled":false,"parley.gate":"declined","n":[1, 2],"none":null,"plain":"x"}}},"artifacts":[{"artifactId":"a","parts":[` +
			`{"text":"x","mediaType":"text/markdown"},{"data":{"k": 1.50},"mediaType":"application/json"},{"data":[1]},{"data":"words"},` +
			`{"raw":"aGk=","filename":"a.txt","mediaType":"text/plain"},{"url":"https://a.example/"}]}]}`
		want = `{"taskId":"j","contextId":"c","state":3,"artifacts":[{"artifactId":"a","parts":[` +
			`{"kind":"text","text":"x","mimeType":"text/markdown"},{"kind":"data","data":"{\"k\":1.50}","mimeType":"application/json"},` +
			`{"kind":"data","data":"[1]"},{"kind":"data","data":"\"words\""},` +
			`{"kind":"data","data":"{\"raw\":\"aGk=\",\"filename\":\"a.txt\",\"mediaType\":\"text/plain\"}"},` +
			`{"kind":"data","data":"{\"url\":\"https://a.example/\"}"}],"name":"a"}],"message":{"role":"agent","parts":[{"kind":"text","text":"no"}],` +
			`"metadata":{"fulfilled":"false","parley.gate":"declined","n":"[1,2]","none":"","plain":"x",` +
			`"parley.carried":"{\"fulfilled\":false,\"n\":[1,2],\"none\":null}"}}}`
	)
	if diff := cmp.Diff(want, string(dialect.AppendJobResult(nil, "j", []byte(in)))); diff != "" {
		t.Errorf("result mismatch (-want +got):\n%s", diff)
	}
}

// A job is sent with only strings in its metadata, and with a skill.
func TestJobMetadata(t *testing.T) {
	t.Parallel()
	const (
		in = `{"message":{"messageId":"m","taskId":"t","role":"ROLE_USER","parts":[{"text":"x"}],"metadata":{"parley.answer":2}},` +
			`"metadata":{"parley.hops":7,"parley.budget":999,"parley.chain":["a@1"],"correlationId":"c","deep":{"a":1}}}`
		want = `{"taskId":"t","skill":"general","metadata":{"correlationId":"c","deep":"{\"a\":1}",` +
			`"parley.carried":"{\"parley.hops\":7,\"parley.budget\":999,\"parley.chain\":[\"a@1\"],\"deep\":{\"a\":1}}"},` +
			`"message":{"messageId":"m","role":"user","parts":[{"kind":"text","text":"x"}],"metadata":{"parley.carried":"{\"parley.answer\":2}"}}}`
	)
	got := dialect.Job.AppendParams(nil, dialect.SendMessage, []byte(in))
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("job mismatch (-want +got):\n%s", diff)
	}
	d := dialect.Decoder{Fill: true}
	r, err := d.Job(got)
	if err != nil {
		t.Fatal(err)
	}
	read := `{"correlationId":"c","deep":{"a":1},"parley.hops":7,"parley.budget":999,"parley.chain":["a@1"],"skill":"general"}`
	if diff := cmp.Diff(read, string(r.Metadata)); diff != "" {
		t.Errorf("metadata as another hub reads it (-want +got):\n%s", diff)
	}
	for _, wrong := range []string{`"7"`, `"{"`, `"[]"`, `"\u0000"`, `7`} {
		in := `{"parley.carried":` + wrong + `,"a":"b"}`
		if out := dialect.Untexted([]byte(in)); string(out) != in {
			t.Errorf("%s is read as %s", in, out)
		}
	}
}

// The data of a job is the JSON parsed from its string. A string without valid JSON is kept, and
// the part's metadata records that.
func TestJobData(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`"{\"title\": \"T\", \"n\": 1.50}"`: `{"data":{"title":"T","n":1.50},"mimeType":"application/json"}`,
		`"[1]"`:                             `{"data":[1],"mimeType":"application/json"}`,
		`"\"x\""`:                           `{"data":"x","mimeType":"application/json"}`,
		`{"k":1}`:                           `{"data":{"k":1},"mimeType":"application/json"}`,
		`"no json {"`:                       `{"data":"no json {","mimeType":"application/json","metadata":{"data_not_json":true}}`,
		`""`:                                `{"data":"","mimeType":"application/json","metadata":{"data_not_json":true}}`,
		`"1 2"`:                             `{"data":"1 2","mimeType":"application/json","metadata":{"data_not_json":true}}`,
	} {
		got, err := dialect.ReadJobPart(nil, []byte(`{"kind":"data","text":null,"data":`+in+`,"mimeType":"application/json"}`))
		if err != nil || string(got) != want {
			t.Errorf("data %s is read as %s, %v; want %s", in, got, err, want)
		}
	}
}
