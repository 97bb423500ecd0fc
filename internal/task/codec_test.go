package task_test

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/parley-a2a/parley/internal/task"
)

// anyEntries draws entries that a store might get: consecutive, but otherwise arbitrary within
// the limits of the types. Empty slices are nil.
func anyEntries(t *rapid.T) []task.Entry {
	version := rapid.Int64Range(1, 1<<50).Draw(t, "version")
	blob := rapid.Custom(func(t *rapid.T) []byte {
		b := rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "bytes")
		if len(b) == 0 {
			return nil
		}
		return b
	})
	es := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) task.Entry {
		return task.Entry{
			Kind:       task.Kind(rapid.IntRange(int(task.Created), int(task.Other)).Draw(t, "kind")),
			State:      task.State(rapid.IntRange(0, int(task.AuthRequired)).Draw(t, "state")),
			At:         task.Millis(rapid.Int64().Draw(t, "at")),
			Epoch:      rapid.Int64().Draw(t, "epoch"),
			Seq:        rapid.Int64().Draw(t, "seq"),
			Append:     rapid.Bool().Draw(t, "append"),
			LastChunk:  rapid.Bool().Draw(t, "last"),
			ArtifactID: a2a.ArtifactID(rapid.SampledFrom([]string{"", "a", "ö\x00"}).Draw(t, "artifact")),
			Body:       blob.Draw(t, "body"),
			Meta:       blob.Draw(t, "meta"),
			Others:     blob.Draw(t, "others"),
			Call:       blob.Draw(t, "call"),
		}
	}), 1, 10).Draw(t, "entries")
	for i := range es {
		es[i].Version = version + int64(i)
	}
	return es
}

func TestEntriesRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := anyEntries(t)
		b := task.AppendEntries([]byte("before"), want)
		got, err := task.DecodeEntries(b[len("before"):])
		if err != nil {
			t.Fatalf("DecodeEntries = %v", err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("mismatch (-want +got):\n%s", diff)
		}
	})
}

func TestNoEntries(t *testing.T) {
	t.Parallel()
	got, err := task.DecodeEntries(task.AppendEntries(nil, nil))
	if err != nil || len(got) != 0 {
		t.Errorf("DecodeEntries(none) = %d entries, %v", len(got), err)
	}
}

// TestEntriesAreSmall limits the overhead of a chunk beside its body.
func TestEntriesAreSmall(t *testing.T) {
	t.Parallel()
	body := `{"artifactId":"a","parts":[{"text":"word "}]}`
	_, _, es := buildTask(t, created(hello), chunk("019b1a4e-7f7e-7c53-9b0e-1d6a6e6f1a2b", body),
		chunk("019b1a4e-7f7e-7c53-9b0e-1d6a6e6f1a2b", body))
	two, three := len(task.AppendEntries(nil, es[:2])), len(task.AppendEntries(nil, es))
	if got := three - two - len(body); got > 8 {
		t.Errorf("a further chunk takes %d bytes beside its body, want at most 8", got)
	}
}

func TestDecodedBodiesAreSeparate(t *testing.T) {
	t.Parallel()
	_, _, es := buildTask(t, created(hello), status(task.Working, done))
	got, err := task.DecodeEntries(task.AppendEntries(nil, es))
	if err != nil {
		t.Fatal(err)
	}
	_ = append(got[0].Body, "overwritten"...)
	if diff := cmp.Diff(es, got); diff != "" {
		t.Errorf("appending to a body changed another (-want +got):\n%s", diff)
	}
}

func TestDecodeEntriesRefuses(t *testing.T) {
	t.Parallel()
	_, _, es := buildTask(t, created(hello), chunk("a", `{}`))
	good := task.AppendEntries(nil, es)
	huge := binary.AppendUvarint([]byte{1}, 1<<62)
	tests := map[string][]byte{
		"nothing":         nil,
		"unknown format":  append([]byte{99}, good[1:]...),
		"trailing byte":   append(good[:len(good):len(good)], 0),
		"huge count":      append(huge, good...),
		"kind zero":       {1, 1, 1, 0, 0, 0, 0},
		"unknown kind":    {1, 1, 1, 9, 0, 0, 0},
		"unknown state":   {1, 1, 1, 3, 99, 0, 0},
		"endless varint":  {1, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
		"body runs over":  {1, 1, 1, 2, 0, 1, 0, 200, 1, 'x'},
		"count too large": {1, 3, 1, 2, 0, 0, 0},
	}
	for i := range good {
		tests["cut "+string(rune('a'+i))] = good[:i]
	}
	for name, b := range tests {
		if es, err := task.DecodeEntries(b); !errors.Is(err, task.ErrCorrupt) {
			t.Errorf("%s: DecodeEntries(%x) = %d entries, %v, want ErrCorrupt", name, b, len(es), err)
		}
	}
}

func FuzzDecodeEntries(f *testing.F) {
	_, _, es := buildTask(f, created(hello), status(task.Working, done), chunk("a", `{}`), chunk("a", `{}`), followUp(answer))
	f.Add(task.AppendEntries(nil, es))
	f.Add(task.AppendEntries(nil, es[3:]))
	f.Add(task.AppendEntries(nil, nil))
	f.Add([]byte{1, 0xff, 0xff, 0xff, 0xff, 0x7f})
	f.Fuzz(func(t *testing.T, b []byte) {
		es, err := task.DecodeEntries(b)
		if err != nil {
			if !errors.Is(err, task.ErrCorrupt) || es != nil {
				t.Fatalf("DecodeEntries = %d entries, %v, want ErrCorrupt alone", len(es), err)
			}
			return
		}
		again, err := task.DecodeEntries(task.AppendEntries(nil, es))
		if err != nil {
			t.Fatalf("decoded entries cannot be decoded again: %v", err)
		}
		if diff := cmp.Diff(es, again); diff != "" {
			t.Fatalf("mismatch after a second round (-want +got):\n%s", diff)
		}
	})
}

func FuzzDecodeFold(f *testing.F) {
	meta := status(task.Working, done)
	meta.Meta = []byte(`{"a":1,"b":{"c":2}}`)
	_, fold, _ := buildTask(f, created(hello), meta, whole("a", `{"artifactId":"a","name":"n","parts":[{"text":"x"}],"metadata":{"k":1}}`),
		chunk("a", `{"artifactId":"a","parts":[{"text":"y"}]}`), followUp(answer), status(task.Completed, question))
	f.Add(fold.AppendBinary(nil))
	f.Add((&task.Fold{}).AppendBinary(nil))
	f.Add([]byte{1, 1, 0xff, 0xff, 0xff, 0xff, 0x7f})
	f.Fuzz(func(t *testing.T, b []byte) {
		fold, err := task.DecodeFold(b)
		if err != nil {
			if !errors.Is(err, task.ErrCorrupt) || fold != nil {
				t.Fatalf("DecodeFold = %v, %v, want ErrCorrupt alone", fold, err)
			}
			return
		}
		// No bytes may cause a panic.
		h := head()
		h.State = task.Completed
		shown := fold.AppendTask(nil, &h, task.TaskOptions{Artifacts: true})
		fold.ReplyText()
		again, err := task.DecodeFold(fold.AppendBinary(nil))
		if err != nil {
			t.Fatalf("a decoded fold cannot be decoded again: %v", err)
		}
		if diff := cmp.Diff(string(shown), string(again.AppendTask(nil, &h, task.TaskOptions{Artifacts: true}))); diff != "" {
			t.Fatalf("mismatch after a second round (-want +got):\n%s", diff)
		}
		e := chunk("a", `{"artifactId":"a","parts":[{"text":"z"}]}`)
		e.Version = fold.Version + 1
		if err := fold.Add(&e); err != nil {
			t.Fatalf("Add to a decoded fold = %v", err)
		}
	})
}
