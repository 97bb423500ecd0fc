package sqlitestore

import (
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/task"
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
