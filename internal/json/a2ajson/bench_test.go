package a2ajson_test

import (
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/json/a2ajson"
)

const typical = `{"messageId":"01a1b2c3-0000-7000-8000-000000000001","role":"ROLE_USER","parts":[{"text":"What is the weather in Lisbon tomorrow, and should I take an umbrella?"}],"metadata":{"skill":"weather"}}`

func BenchmarkMessage(b *testing.B) {
	in := []byte(typical)
	out := make([]byte, 0, 2*len(in))
	b.ReportAllocs()
	b.SetBytes(int64(len(in)))
	for b.Loop() {
		if _, _, err := a2ajson.Message(out, in, a2ajson.Options{Checked: true}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppendMessage(b *testing.B) {
	m := a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart("It will rain. Take an umbrella, and mind the wind."))
	out := make([]byte, 0, 1024)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := a2ajson.AppendMessage(out, m); err != nil {
			b.Fatal(err)
		}
	}
}

// A message that is canonical already costs one allocation each for its id, its metadata's
// name, and the media types.
func TestMessageAllocations(t *testing.T) {
	in := []byte(typical)
	out := make([]byte, 0, 2*len(in))
	got := testing.AllocsPerRun(100, func() {
		_, _, _ = a2ajson.Message(out, in, a2ajson.Options{Checked: true})
	})
	if got > 4 {
		t.Errorf("%v allocations for a canonical message, want at most 4", got)
	}
}

// TestArtifactAllocations: a chunk of text is encoded into one object.
func TestArtifactAllocations(t *testing.T) {
	chunk := &a2a.Artifact{ID: "answer", Parts: a2a.ContentParts{a2a.NewTextPart("a few words"), a2a.NewTextPart("")}}
	got := testing.AllocsPerRun(100, func() { _, _ = a2ajson.AppendArtifact(nil, chunk) })
	if got > 1 {
		t.Errorf("%v allocations for a chunk of text, want one", got)
	}
}
