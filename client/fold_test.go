package client_test

import (
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/client"
)

// TestFoldOfMissingArtifacts applies a task with a null artifact.
func TestFoldOfMissingArtifacts(t *testing.T) {
	t.Parallel()
	var f client.Fold
	f.Apply(&a2a.Task{ID: "t", Artifacts: []*a2a.Artifact{nil, {ID: "a", Parts: a2a.ContentParts{a2a.NewTextPart("one")}}}})
	more := a2a.NewArtifactUpdateEvent(a2a.TaskInfo{TaskID: "t"}, "a", a2a.NewTextPart("two"))
	more.Append = true
	f.Apply(more)
	f.Apply(&a2a.TaskArtifactUpdateEvent{TaskID: "t"})
	if got := f.Task.Artifacts; len(got) != 2 || len(got[1].Parts) != 2 {
		t.Errorf("artifacts = %v, want the one with two parts", got)
	}
}
