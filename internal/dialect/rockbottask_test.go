package dialect_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/dialect"
)

// A job's result has parts of text and data alone, so what is a file elsewhere is data
// there, and data is an object.
func TestJobParts(t *testing.T) {
	t.Parallel()
	const (
		in = `{"id":"t","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"},"artifacts":[{"artifactId":"a","parts":[` +
			`{"text":"x","mediaType":"text/markdown"},{"data":{"k":1},"mediaType":"application/json"},{"data":[1]},` +
			`{"raw":"aGk=","filename":"a.txt","mediaType":"text/plain"},{"url":"https://a.example/"}]}]}`
		want = `{"taskId":"j","contextId":"c","state":3,"artifacts":[{"artifactId":"a","parts":[` +
			`{"kind":"text","text":"x","mimeType":"text/markdown"},{"kind":"data","data":{"k":1},"mimeType":"application/json"},` +
			`{"kind":"data","data":{"value":[1]},"metadata":{"data_part_compat":true}},` +
			`{"kind":"data","data":{"raw":"aGk=","filename":"a.txt","mediaType":"text/plain"}},{"kind":"data","data":{"url":"https://a.example/"}}]}]}`
	)
	if diff := cmp.Diff(want, string(dialect.AppendJobResult(nil, "j", []byte(in)))); diff != "" {
		t.Errorf("result mismatch (-want +got):\n%s", diff)
	}
}
