package memstore

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/parley-a2a/parley/task"
)

// anyHead draws a head with arbitrary values within the limits of the types.
func anyHead(t *rapid.T) task.Head {
	text := rapid.SampledFrom([]string{"", "a", "ö\x00", strings.Repeat("long ", 50)})
	millis := rapid.Custom(func(t *rapid.T) task.Millis { return task.Millis(rapid.Int64().Draw(t, "millis")) })
	number := rapid.Int64()
	h := task.Head{
		ID: a2a.TaskID(text.Draw(t, "id")), ContextID: text.Draw(t, "context"), Owner: task.Owner(text.Draw(t, "owner")),
		Agent: task.Agent(text.Draw(t, "agent")), Assigned: task.Agent(text.Draw(t, "assigned")), Dialect: rapid.Byte().Draw(t, "dialect"), Visibility: task.Visibility(rapid.Byte().Draw(t, "shown")),
		Rev: number.Draw(t, "rev"), Version: number.Draw(t, "version"), State: task.State(rapid.Byte().Draw(t, "state")),
		StatusAt: millis.Draw(t, "status"), CreatedAt: millis.Draw(t, "created"), UpdatedAt: millis.Draw(t, "updated"),
		LastMessage: number.Draw(t, "asked"), Consumed: number.Draw(t, "read"), CancelAt: millis.Draw(t, "cancel"),
		Run: task.Run{
			Epoch: number.Draw(t, "epoch"), Seq: number.Draw(t, "seq"), Holder: task.Holder(text.Draw(t, "holder")),
			Dispatch: task.Dispatch(rapid.Byte().Draw(t, "dispatch")), Attempt: rapid.Int().Draw(t, "attempt"),
			Disclosed: rapid.Bool().Draw(t, "disclosed"),
		},
	}
	h.Others = rapid.Bool().Draw(t, "others")
	if s := text.Draw(t, "message"); s != "" {
		h.StatusMessage = []byte(s)
	}
	for range rapid.IntRange(0, 3).Draw(t, "sealed") {
		h.Sealed = append(h.Sealed, a2a.ArtifactID(text.Draw(t, "artifact")))
	}
	return h
}

// someEntries returns n entries with bodies of the given size.
func someEntries(n, size int) []task.Entry {
	es := make([]task.Entry, n)
	for i := range es {
		es[i] = task.Entry{
			Version: int64(i) + 1, Kind: task.Artifact, At: task.Millis(i), ArtifactID: "a",
			Body: []byte(fmt.Sprint(i, strings.Repeat(".", size))),
		}
	}
	return es
}

func TestPackRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var p packer
		es := someEntries(rapid.IntRange(0, 100).Draw(t, "entries"), rapid.SampledFrom([]int{1, 10_000}).Draw(t, "size"))
		first := rapid.IntRange(0, len(es)).Draw(t, "first")
		want := &record{head: anyHead(t), entries: es}
		if len(es) > 0 && rapid.Bool().Draw(t, "shared") {
			want.head.StatusMessage = es[len(es)-1].Body
		}
		b := p.pack(&record{head: want.head, entries: es[:first]}, es[first:])
		want.head.Key = 7
		got, err := unpack(7, b)
		if err != nil {
			t.Fatalf("unpack = %v", err)
		}
		if diff := cmp.Diff(want.head, got.head); diff != "" {
			t.Fatalf("head mismatch (-want +got):\n%s", diff)
		}
		if len(es) > 0 && !reflect.DeepEqual(es, got.entries) { // far quicker than cmp
			t.Fatalf("entries mismatch (-want +got):\n%s", cmp.Diff(es, got.entries))
		}
	})
}

// TestPackSharesStatus wants the message of a status, which is also the body of its entry, to
// be stored once.
func TestPackSharesStatus(t *testing.T) {
	t.Parallel()
	var p packer
	e := task.Entry{Version: 1, Kind: task.Status, State: task.Completed, Body: bytes.Repeat([]byte("x"), 10_000)}
	b := p.pack(&record{head: task.Head{StatusMessage: e.Body}}, []task.Entry{e})
	if len(b) > 11_000 {
		t.Errorf("a task with a message of %d bytes takes %d bytes", len(e.Body), len(b))
	}
}

// TestPackerReleasesBuffers wants a packer not to keep the memory of a large task for ever.
func TestPackerReleasesBuffers(t *testing.T) {
	t.Parallel()
	var p packer
	p.pack(&record{entries: someEntries(1, 2*maxPacker)}, nil)
	p.pack(&record{}, nil)
	if got := cap(p.packed) + cap(p.segments); got > maxPacker {
		t.Errorf("the buffers hold %d bytes after a small task, want at most %d", got, maxPacker)
	}
}

func TestReadSegmentsPages(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name             string
		entries, size    int
		after, from, len int
	}{
		{"all", 10, 10, 0, 0, 10},
		{"tail", 100, 10, 70, 70, 30},
		{"edge of a segment", 100, 10, segmentEntries, segmentEntries, 100 - segmentEntries},
		{"page", 1000, 10, 100, 100, pageEntries},
		{"bytes", 10, 1 << 19, 1, 1, 2},
		{"one that is too large", 3, 3 << 20, 1, 1, 1},
		{"none", 10, 10, 10, 10, 0},
		{"beyond", 10, 10, 99, 10, 0},
		{"below", 10, 10, -5, 0, 10},
	} {
		es := someEntries(tt.entries, tt.size)
		got, err := readSegments(appendSegments(nil, es), int64(tt.after))
		if err != nil {
			t.Errorf("%s: readSegments = %v", tt.name, err)
			continue
		}
		if len(got) != tt.len || len(got) > 0 && !reflect.DeepEqual(es[tt.from:tt.from+tt.len], got) {
			t.Errorf("%s: %d entries, want the %d from index %d", tt.name, len(got), tt.len, tt.from)
		}
	}
}

func FuzzUnpack(f *testing.F) {
	var p packer
	es := someEntries(40, 5)
	f.Add(bytes.Clone(p.pack(&record{head: task.Head{ID: "t", StatusMessage: es[39].Body, Sealed: []a2a.ArtifactID{"a"}}, entries: es}, nil)))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		if r, err := unpack(1, b); err != nil {
			if r != nil || !errors.Is(err, task.ErrCorrupt) {
				t.Fatalf("unpack = %v, %v", r, err)
			}
			return
		}
		if _, err := readSegments(packedSegments(b), 1); err != nil {
			t.Fatalf("readSegments of a valid task = %v", err)
		}
	})
}
