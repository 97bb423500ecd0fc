package sqlitestore

import (
	"errors"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/task"
)

// fullHead returns a head with a value in each stored field.
func fullHead() task.Head {
	return task.Head{
		ID: "0190c0de-0000-7000-8000-00000000beef", ContextID: "0190C0DE-0000-7000-8000-00000000BEEF",
		Owner: "anna", Agent: "echo", Dialect: 3, Visibility: task.Hidden,
		Rev: 1, Version: 1, State: task.InputRequired, StatusAt: 1_700_000_000_001,
		StatusMessage: []byte(`{"messageId":"m"}`), CreatedAt: 1_700_000_000_000, UpdatedAt: 1_700_000_000_002,
		LastMessage: 4, Consumed: 3, CancelAt: 1_700_000_000_003,
		Run:    task.Run{Epoch: 7, Seq: 8, Holder: "hub-1", Dispatch: task.Claimed, Attempt: 2, Disclosed: true},
		Sealed: []a2a.ArtifactID{"a", "", "ö", a2a.ArtifactID(strings.Repeat("x", 300))},
	}
}

// TestHeadRoundTrip stores heads and changes them with both kinds of update.
func TestHeadRoundTrip(t *testing.T) {
	t.Parallel()
	tasks := newTest(t).Tasks()
	h := fullHead()
	for _, change := range []func(*task.Head){
		func(*task.Head) {},
		func(h *task.Head) { h.Run, h.Sealed, h.StatusMessage = task.Run{}, nil, nil },
		func(h *task.Head) { h.Assigned = "other" },
		func(h *task.Head) { h.Others = true },
		func(h *task.Head) { h.Run.Disclosed, h.Others = true, false },
		func(h *task.Head) { h.State, h.Visibility, h.StatusMessage = task.Working, task.Visible, []byte{} },
		func(h *task.Head) {
			h.LastMessage, h.Consumed, h.CancelAt, h.CreatedAt, h.Dialect = -1, 1<<62, 0, 0, 255
		},
	} {
		c := &task.Change{Prev: h, Next: h}
		if h.Key == 0 {
			c.Prev = task.Head{}
			c.Entries = []task.Entry{{Version: 1, Kind: task.Created, State: task.Submitted, Body: []byte("{}")}}
		} else {
			c.Next.Rev++
		}
		change(&c.Next)
		if err := tasks.Append(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		h = c.Next
		got, err := tasks.Head(t.Context(), h.Owner, h.ID)
		if diff := cmp.Diff(h, got); diff != "" || err != nil {
			t.Errorf("Head at rev %d: %v, mismatch (-want +got):\n%s", h.Rev, err, diff)
		}
	}
}

func FuzzDecodeRest(f *testing.F) {
	full := fullHead()
	all := appendRest(nil, &full)
	f.Add(all)
	f.Add(all[:len(all)-3])
	f.Add(appendRest(nil, &task.Head{}))
	f.Add(appendRest(nil, &task.Head{Assigned: "other"}))
	f.Add([]byte(nil))
	f.Add([]byte{2})
	f.Add([]byte("\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x05a"))
	f.Add([]byte("\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"))
	f.Fuzz(func(t *testing.T, b []byte) {
		var h, again task.Head
		if err := decodeRest(b, &h); err != nil {
			if !errors.Is(err, task.ErrCorrupt) {
				t.Errorf("decodeRest(%x) = %v, want ErrCorrupt", b, err)
			}
			return
		}
		err := decodeRest(appendRest(nil, &h), &again)
		if diff := cmp.Diff(h, again); diff != "" || err != nil {
			t.Errorf("round trip of %x: %v, mismatch:\n%s", b, err, diff)
		}
	})
}
