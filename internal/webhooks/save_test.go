package webhooks

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/task"
)

func letter(first, last int64) task.DeadLetter { return task.DeadLetter{First: first, Last: last} }

// A dead letter that grew while it was being saved is saved again.
func TestDeadLettersThatGrowAreSavedAgain(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ lost, durable, want []task.DeadLetter }{
		{nil, nil, nil},
		{[]task.DeadLetter{letter(2, 3)}, []task.DeadLetter{letter(2, 3)}, nil},
		{[]task.DeadLetter{letter(2, 4)}, []task.DeadLetter{letter(2, 3)}, []task.DeadLetter{letter(2, 4)}},
		{[]task.DeadLetter{letter(2, 3), letter(5, 6)}, []task.DeadLetter{letter(2, 3)}, []task.DeadLetter{letter(5, 6)}},
		{[]task.DeadLetter{letter(2, 3), letter(5, 7)}, []task.DeadLetter{letter(2, 3), letter(5, 6)}, []task.DeadLetter{letter(5, 7)}},
	} {
		h := &hook{failure: &failureState{unsaved: tt.lost}}
		h.dropSaved(tt.durable)
		var got []task.DeadLetter
		if h.failure != nil {
			got = h.failure.unsaved
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("keepLost(%v) of %v mismatch (-want +got):\n%s", tt.durable, tt.lost, diff)
		}
	}
}

func TestStepsOfAMove(t *testing.T) {
	t.Parallel()
	h := &hook{key: 7, id: "c"}
	lost := []task.DeadLetter{letter(2, 3), letter(5, 6)}
	ref := h.ref()
	for _, tt := range []struct {
		m    move
		want []task.HookStep
	}{
		{move{hook: h, notified: 4}, []task.HookStep{{HookRef: ref, Position: 4}}},
		{move{hook: h, notified: 8, letters: lost}, []task.HookStep{
			{HookRef: ref, Position: 3, Lost: &lost[0]}, {HookRef: ref, Position: 6, Lost: &lost[1]}, {HookRef: ref, Position: 8},
		}},
		{move{hook: h, notified: 6, settled: true, letters: lost}, []task.HookStep{
			{HookRef: ref, Position: 3, Lost: &lost[0]}, {HookRef: ref, Position: 6, Lost: &lost[1], Settled: true},
		}},
	} {
		if diff := cmp.Diff(tt.want, steps([]move{tt.m})); diff != "" {
			t.Errorf("steps mismatch (-want +got):\n%s", diff)
		}
	}
}
