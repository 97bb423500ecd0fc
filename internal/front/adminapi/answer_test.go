package adminapi

import (
	"testing"

	"github.com/parley-a2a/parley/internal/task"
)

// An answer of more chunks than are read ends with an ellipsis, and a whole one does not.
func TestAnswerOfManyChunks(t *testing.T) {
	t.Parallel()
	entries := make([]task.Entry, firstEntries)
	for i := range entries {
		entries[i] = task.Entry{Kind: task.Artifact, ArtifactID: "a", Append: i > 0, Body: []byte(`{"parts":[{"text":"so "}]}`)}
	}
	if got := answerOf(entries, new(task.Entry)); got != "so so so so so so so so …" {
		t.Errorf("answerOf = %q, want an ellipsis", got)
	}
	if got := answerOf(entries[:3], new(task.Entry)); got != "so so so" {
		t.Errorf("answerOf = %q, want three words", got)
	}
	entries[firstEntries-1].LastChunk = true
	if got := answerOf(entries, new(task.Entry)); got != "so so so so so so so so" {
		t.Errorf("answerOf = %q, want eight words", got)
	}
}
