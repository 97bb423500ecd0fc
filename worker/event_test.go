package worker

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// anyParts generates lists of parts, some of them incomplete.
func anyParts() *rapid.Generator[a2a.ContentParts] {
	part := rapid.Custom(func(t *rapid.T) *a2a.Part {
		p := &a2a.Part{Content: rapid.SampledFrom([]a2a.PartContent{
			a2a.Text("a"), a2a.Text(""), a2a.Text("<é\u2028\xff\x00\">"), a2a.Raw(nil),
			a2a.Raw{},
			a2a.Raw{0, 255},
			a2a.URL("http://x/?a=1&b=2"), a2a.URL(""),
			a2a.Data{Value: map[string]any{"a": 1.5}},
			a2a.Data{},
			nil,
		}).Draw(t, "content")}
		p.Filename, p.MediaType = anyWord().Draw(t, "filename"), anyWord().Draw(t, "type")
		p.Metadata = anyMetadata().Draw(t, "metadata")
		if rapid.IntRange(0, 20).Draw(t, "nil") == 7 {
			return nil
		}
		return p
	})
	return rapid.OneOf(rapid.Just(a2a.ContentParts(nil)), rapid.Map(rapid.SliceOfN(part, 0, 3), func(p []*a2a.Part) a2a.ContentParts { return p }))
}

func anyWord() *rapid.Generator[string] {
	return rapid.SampledFrom([]string{"", "", "a", "é<", "\xff"})
}

func anyMetadata() *rapid.Generator[map[string]any] {
	return rapid.SampledFrom([]map[string]any{nil, nil, nil, {}, {"a": 1.0, "b": nil}})
}

func anyTexts() *rapid.Generator[[]string] {
	return rapid.SampledFrom([][]string{nil, {}, {"a", ""}})
}

func anyMessage() *rapid.Generator[*a2a.Message] {
	return rapid.Custom(func(t *rapid.T) *a2a.Message {
		if rapid.Bool().Draw(t, "nil") {
			return nil
		}
		return &a2a.Message{
			ID: anyWord().Draw(t, "id"), ContextID: anyWord().Draw(t, "context"), TaskID: a2a.TaskID(anyWord().Draw(t, "task")),
			Role:  rapid.SampledFrom([]a2a.MessageRole{a2a.MessageRoleAgent, a2a.MessageRoleUser, a2a.MessageRoleUnspecified, "x"}).Draw(t, "role"),
			Parts: anyParts().Draw(t, "parts"), Metadata: anyMetadata().Draw(t, "metadata"), Extensions: anyTexts().Draw(t, "extensions"),
			ReferenceTasks: rapid.SampledFrom([][]a2a.TaskID{nil, {}, {"a"}}).Draw(t, "references"),
		}
	})
}

func anyArtifact() *rapid.Generator[*a2a.Artifact] {
	return rapid.Custom(func(t *rapid.T) *a2a.Artifact {
		if rapid.IntRange(0, 9).Draw(t, "nil") == 7 {
			return nil
		}
		return &a2a.Artifact{
			ID: a2a.ArtifactID(anyWord().Draw(t, "id")), Name: anyWord().Draw(t, "name"), Description: anyWord().Draw(t, "description"),
			Parts: anyParts().Draw(t, "parts"), Metadata: anyMetadata().Draw(t, "metadata"), Extensions: anyTexts().Draw(t, "extensions"),
		}
	})
}

func anyEvent() *rapid.Generator[a2a.Event] {
	return rapid.Custom(func(t *rapid.T) a2a.Event {
		id, contextID := a2a.TaskID(anyWord().Draw(t, "task")), anyWord().Draw(t, "context")
		at := time.Unix(1764000000, 120_000_000).UTC()
		odd := time.Date(12345, 1, 1, 0, 0, 0, 1, time.FixedZone("", 3661))
		status := a2a.TaskStatus{
			State:     rapid.SampledFrom([]a2a.TaskState{a2a.TaskStateWorking, a2a.TaskStateCompleted, a2a.TaskStateUnspecified, "x"}).Draw(t, "state"),
			Message:   anyMessage().Draw(t, "message"),
			Timestamp: rapid.SampledFrom([]*time.Time{nil, &at, {}, &odd}).Draw(t, "at"),
		}
		switch rapid.IntRange(0, 2).Draw(t, "kind") {
		case 0:
			return &a2a.Task{
				ID: id, ContextID: contextID, Status: status, Metadata: anyMetadata().Draw(t, "metadata"),
				History:   rapid.SliceOfN(anyMessage(), 0, 2).Draw(t, "history"),
				Artifacts: rapid.SliceOfN(anyArtifact(), 0, 2).Draw(t, "artifacts"),
			}
		case 1:
			return &a2a.TaskStatusUpdateEvent{TaskID: id, ContextID: contextID, Metadata: anyMetadata().Draw(t, "metadata"), Status: status}
		}
		return &a2a.TaskArtifactUpdateEvent{
			TaskID: id, ContextID: contextID, Metadata: anyMetadata().Draw(t, "metadata"),
			Append: rapid.Bool().Draw(t, "append"), LastChunk: rapid.Bool().Draw(t, "last"), Artifact: anyArtifact().Draw(t, "artifact"),
		}
	})
}

// The encoding without reflection has the same values as the SDK's.
func TestEventAsTheSDK(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ev := anyEvent().Draw(t, "event")
		want, wantErr := json.Marshal(a2a.StreamResponse{Event: ev})
		got, err := eventJSON(ev)
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("eventJSON = %s, %v\nwant %s, %v", got, err, want, wantErr)
		}
		if err != nil {
			return
		}
		var x, y any
		if err := json.Unmarshal(got, &x); err != nil {
			t.Fatalf("eventJSON = %s: %v", got, err)
		}
		if err := json.Unmarshal(want, &y); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(y, x); diff != "" {
			t.Fatalf("eventJSON = %s\nwant %s\n%s", got, want, diff)
		}
	})
}

// Common events must be encoded without reflection.
func TestPlainEvents(t *testing.T) {
	t.Parallel()
	at := a2a.TaskInfo{TaskID: "t", ContextID: "c"}
	for _, ev := range []a2a.Event{
		a2a.NewSubmittedTask(at, a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart("a haiku, please"))),
		a2a.NewStatusUpdateEvent(at, a2a.TaskStateWorking, nil),
		a2a.NewStatusUpdateEvent(at, a2a.TaskStateInputRequired, a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart("which one?"))),
		a2a.NewArtifactEvent(at, a2a.NewTextPart("a haiku"), a2a.NewRawPart([]byte{1})),
	} {
		if b, ok := plainEvent(ev); !ok {
			t.Errorf("%T is written with reflection: %s", ev, b)
		}
	}
}

func BenchmarkEvent(b *testing.B) {
	ev := a2a.NewArtifactEvent(a2a.TaskInfo{TaskID: a2a.NewTaskID(), ContextID: a2a.NewContextID()}, a2a.NewTextPart("a haiku on the sea, and some more words"))
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := encodeEvent(ev); err != nil {
			b.Fatal(err)
		}
	}
}
