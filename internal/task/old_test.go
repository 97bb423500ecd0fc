package task_test

import (
	"bytes"
	"encoding/hex"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/task"
)

// Bytes that the program wrote before entries had unknown members.
const (
	oldEntries = "01040101010580a0abfef962117b226d6573736167654964223a226d227d0e7b2274656e616e74223a2278227d03020b02020211" +
		"7b226d6573736167654964223a2277227d0a7b226b223a312e35307d0400d90202040161297b2261727469666163744964223a2261222c22" +
		"7061727473223a5b7b2274657874223a2274227d5d7d02000102117b226d6573736167654964223a226e227d"
	oldFold = "0104030101117b226d6573736167654964223a226d227d0002117b226d6573736167654964223a2277227d0104117b226d657373616765" +
		"4964223a226e227d02010161010a6172746966616374496403226122000c7b2274657874223a2274227d01016b04312e3530"
)

// TestOldLogs: logs and snapshots of earlier versions are still read correctly, and data
// without unknown members is still written in the old form.
func TestOldLogs(t *testing.T) {
	t.Parallel()
	stored, _ := hex.DecodeString(oldEntries)
	got, err := task.DecodeEntries(stored)
	if err != nil {
		t.Fatal(err)
	}
	want := []task.Entry{
		{Version: 1, Kind: task.Created, State: task.Submitted, At: 1700000000000, Body: []byte(`{"messageId":"m"}`), Call: []byte(`{"tenant":"x"}`)},
		{Version: 2, Kind: task.Status, State: task.Working, At: 1700000000001, Epoch: 1, Seq: 1, Body: []byte(`{"messageId":"w"}`), Meta: []byte(`{"k":1.50}`)},
		{
			Version: 3, Kind: task.Artifact, At: 1700000000002, Epoch: 1, Seq: 2, Append: true, LastChunk: true, ArtifactID: "a",
			Body: []byte(`{"artifactId":"a","parts":[{"text":"t"}]}`),
		},
		{Version: 4, Kind: task.Message, At: 1700000000003, Body: []byte(`{"messageId":"n"}`)},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
	if again := task.AppendEntries(nil, got); !bytes.Equal(again, stored) {
		t.Errorf("entries are written as %x", again)
	}
	snapshot, _ := hex.DecodeString(oldFold)
	f, err := task.DecodeFold(snapshot)
	if err != nil {
		t.Fatal(err)
	}
	if again := f.AppendBinary(nil); !bytes.Equal(again, snapshot) {
		t.Errorf("the snapshot is written as %x", again)
	}
	const whole = `{"id":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"},` +
		`"artifacts":[{"artifactId":"a","parts":[{"text":"t"}]}],"history":[{"messageId":"m"},{"messageId":"n"}],"metadata":{"k":1.50}}`
	h := task.Head{ID: "t", ContextID: "c", State: task.Working}
	if got := string(f.AppendTask(nil, &h, task.TaskOptions{Artifacts: true})); got != whole {
		t.Errorf("task = %s, want %s", got, whole)
	}
}
