package task_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/parley-a2a/parley/internal/task"
)

var states = []task.State{
	task.Submitted, task.Working, task.InputRequired, task.AuthRequired,
	task.Completed, task.Failed, task.Canceled, task.Rejected,
}

// follows is the table of specification §4.1.3 as all known clients accept it: a row for each
// state, a column for each of states.
var follows = map[task.State]string{
	task.Unspecified:   "yyyyyyny",
	task.Submitted:     "yyyyyyyy",
	task.Working:       "nyyyyyyy",
	task.InputRequired: "nyyyyyyy",
	task.AuthRequired:  "nyyyyyyy",
	task.Completed:     "nnnnnnnn",
	task.Failed:        "nnnnnnnn",
	task.Canceled:      "nnnnnnnn",
	task.Rejected:      "nnnnnnnn",
}

func TestCanFollow(t *testing.T) {
	t.Parallel()
	for from, row := range follows {
		for i, to := range states {
			if got, want := task.CanFollow(from, to), row[i] == 'y'; got != want {
				t.Errorf("CanFollow(%v, %v) = %v, want %v", from, to, got, want)
			}
		}
		if task.CanFollow(from, task.Unspecified) || task.CanFollow(from, 200) || task.CanFollow(200, task.Working) {
			t.Errorf("CanFollow accepts a state that is none after %v", from)
		}
	}
}

// in returns a head of a task in state s, at version 3 and in epoch 2 after event 5.
func in(s task.State) task.Head {
	h := head()
	h.Version, h.State, h.UpdatedAt, h.StatusAt = 3, s, at(10), at(10)
	h.Run = task.Run{Epoch: 2, Seq: 5, Holder: "hub", Dispatch: task.Claimed}
	h.CancelAt = at(9)
	return h
}

func TestApplyStatus(t *testing.T) {
	t.Parallel()
	for _, from := range states {
		for i, to := range states {
			h := in(from)
			e := status(to, done)
			e.At = at(20)
			got, stored, err := task.Apply(h, e)
			if follows[from][i] != 'y' {
				if !errors.Is(err, task.ErrIllegal) || errors.Is(err, task.ErrTerminal) != from.Terminal() {
					t.Errorf("Apply(%v after %v) = %v, want ErrIllegal, ErrTerminal: %v", to, from, err, from.Terminal())
				}
				continue
			}
			want := h
			want.Version, want.State, want.StatusAt, want.UpdatedAt = 4, to, at(20), at(20)
			want.StatusMessage = []byte(done)
			want.Run.Disclosed = to != task.Submitted && to != task.Working
			if to.Terminal() {
				want.Run.Holder, want.Run.Dispatch, want.CancelAt = "", task.Idle, 0
			}
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Errorf("Apply(%v after %v) = %v, head mismatch (-want +got):\n%s", to, from, err, diff)
			}
			if stored.Version != 4 || stored.At != at(20) {
				t.Errorf("Apply(%v) stores version %d at %d", to, stored.Version, stored.At)
			}
		}
	}
}

func TestApplyCreated(t *testing.T) {
	t.Parallel()
	e := created(hello)
	e.At = at(7)
	got, stored, err := task.Apply(head(), e)
	if err != nil {
		t.Fatal(err)
	}
	want := head()
	want.Version, want.State, want.LastMessage = 1, task.Submitted, 1
	want.CreatedAt, want.UpdatedAt, want.StatusAt = at(7), at(7), at(7)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("head mismatch (-want +got):\n%s", diff)
	}
	if !got.Waiting() {
		t.Error("a new task has no message waiting")
	}
	e.Version = 1
	if diff := cmp.Diff(e, stored); diff != "" {
		t.Errorf("entry mismatch (-want +got):\n%s", diff)
	}
}

func TestApplyRefuses(t *testing.T) {
	t.Parallel()
	run := func(epoch, seq int64) task.Entry {
		e := chunk("a", `{}`)
		e.Epoch, e.Seq = epoch, seq
		return e
	}
	sealed := in(task.Working)
	sealed.Sealed = []a2a.ArtifactID{"x", "a"}
	ended := in(task.Completed)
	for name, tt := range map[string]struct {
		h    task.Head
		e    task.Entry
		want error
	}{
		"second creation":            {in(task.Working), created(hello), task.ErrIllegal},
		"creation in no state":       {head(), task.Entry{Kind: task.Created}, task.ErrIllegal},
		"creation canceled":          {head(), task.Entry{Kind: task.Created, State: task.Canceled}, task.ErrIllegal},
		"event of no task":           {head(), status(task.Working, ""), task.ErrIllegal},
		"message without content":    {in(task.Working), followUp(""), task.ErrIllegal},
		"artifact without id":        {in(task.Working), chunk("", `{}`), task.ErrIllegal},
		"chunk after the last":       {sealed, chunk("a", `{}`), task.ErrIllegal},
		"replacement after the last": {sealed, whole("a", `{}`), task.ErrIllegal},
		"unknown kind":               {in(task.Working), task.Entry{Kind: 9}, task.ErrIllegal},
		"kind zero":                  {in(task.Working), task.Entry{}, task.ErrIllegal},
		"earlier epoch":              {in(task.Working), run(1, 6), task.ErrFenced},
		"later epoch":                {in(task.Working), run(3, 6), task.ErrFenced},
		"repeated event":             {in(task.Working), run(2, 5), task.ErrRepeated},
		"old event":                  {in(task.Working), run(2, 1), task.ErrRepeated},
		"event too early":            {in(task.Working), run(2, 7), task.ErrGap},
		"message after the end":      {ended, followUp(hello), task.ErrTerminal},
		"artifact after the end":     {ended, chunk("a", `{}`), task.ErrTerminal},
		"fenced after the end":       {ended, run(1, 6), task.ErrFenced},
		"repeated after the end":     {ended, run(2, 5), task.ErrRepeated},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, _, err := task.Apply(tt.h, tt.e)
			if !errors.Is(err, tt.want) {
				t.Fatalf("Apply = %v, want %v", err, tt.want)
			}
			if diff := cmp.Diff(tt.h, got); diff != "" {
				t.Errorf("a refused entry changed the head (-want +got):\n%s", diff)
			}
		})
	}
}

func TestApplyRun(t *testing.T) {
	t.Parallel()
	e := chunk("a", `{}`)
	e.Epoch, e.Seq = 2, 6
	got, _, err := task.Apply(in(task.Working), e)
	if err != nil || got.Run.Seq != 6 || !got.Run.Disclosed {
		t.Errorf("Apply = %v, run %+v, want event 6 applied and disclosed", err, got.Run)
	}
	// Entries that do not come from a run are never fenced.
	got, _, err = task.Apply(in(task.Working), followUp(answer))
	if err != nil || got.Run.Seq != 5 || got.LastMessage != 4 || got.StatusAt != at(10) {
		t.Errorf("Apply(message) = %v, head %+v", err, got)
	}
}

func TestApplySeals(t *testing.T) {
	t.Parallel()
	h := in(task.Working)
	last := chunk("", `{}`)
	last.LastChunk = true
	var heads []task.Head
	for i := range task.MaxSealed + 10 {
		last.ArtifactID = a2a.ArtifactID(fmt.Sprint("a", i))
		next, _, err := task.Apply(h, last)
		if err != nil {
			t.Fatal(err)
		}
		heads = append(heads, next)
		h = next
	}
	for i, h := range heads {
		n := min(i+1, task.MaxSealed)
		want := a2a.ArtifactID(fmt.Sprint("a", i))
		if len(h.Sealed) != n || h.Sealed[n-1] != want {
			t.Fatalf("after artifact %d the head remembers %d sealed ones, the last is %s", i, len(h.Sealed), h.Sealed[n-1])
		}
	}
	for id, want := range map[a2a.ArtifactID]error{"a10": task.ErrIllegal, "a265": task.ErrIllegal, "a9": nil} {
		if _, _, err := task.Apply(h, chunk(id, `{}`)); !errors.Is(err, want) {
			t.Errorf("Apply(chunk of %s) = %v, want %v", id, err, want)
		}
	}
	// Two heads derived from the same one do not share memory.
	a, b := last, last
	a.ArtifactID, b.ArtifactID = "left", "right"
	left, _, _ := task.Apply(heads[3], a)
	right, _, _ := task.Apply(heads[3], b)
	if left.Sealed[4] != "left" || right.Sealed[4] != "right" {
		t.Errorf("sealed %s and %s, want left and right", left.Sealed[4], right.Sealed[4])
	}
	ended, _, err := task.Apply(h, status(task.Completed, ""))
	if err != nil || len(ended.Sealed) != 0 {
		t.Errorf("an ended task = %v, remembers %d sealed artifacts, want none", err, len(ended.Sealed))
	}
}

// TestApplyProperties feeds random entries to a task, legal or not.
func TestApplyProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		h := head()
		sealed := map[a2a.ArtifactID]bool{}
		for range rapid.IntRange(1, 40).Draw(t, "entries") {
			e := anyEntry(t)
			before := h
			next, stored, err := task.Apply(h, e)
			if again, _, err2 := task.Apply(h, e); cmp.Diff(next, again) != "" || fmt.Sprint(err) != fmt.Sprint(err2) {
				t.Fatal("Apply is not a function")
			}
			if err != nil {
				if cmp.Diff(before, next) != "" {
					t.Fatalf("a refused entry changed the head: %v", err)
				}
				continue
			}
			switch {
			case before.State.Terminal():
				t.Fatalf("%v was left", before.State)
			case stored.Version != before.Version+1 || next.Version != stored.Version:
				t.Fatalf("version %d after %d", stored.Version, before.Version)
			case stored.At < e.At || stored.At < before.UpdatedAt || next.StatusAt < before.StatusAt:
				t.Fatalf("time runs backwards: %d after %d", stored.At, before.UpdatedAt)
			case e.Epoch != 0 && (e.Epoch != before.Run.Epoch || e.Seq != before.Run.Seq+1):
				t.Fatalf("event %d/%d was applied after %d/%d", e.Epoch, e.Seq, before.Run.Epoch, before.Run.Seq)
			case e.Kind == task.Artifact && sealed[e.ArtifactID]:
				t.Fatalf("artifact %s was changed after its last chunk", e.ArtifactID)
			case next.Rev != before.Rev || next.Key != before.Key:
				t.Fatal("Apply changed the row")
			}
			if e.LastChunk {
				sealed[e.ArtifactID] = true
			}
			h = next
			h.Run.Epoch += int64(rapid.IntRange(0, 5).Draw(t, "redispatch") / 5)
		}
	})
}

func anyEntry(t *rapid.T) task.Entry {
	e := task.Entry{
		Kind:  rapid.SampledFrom([]task.Kind{task.Created, task.Message, task.Status, task.Artifact, 7}).Draw(t, "kind"),
		At:    at(rapid.Int64Range(0, 50).Draw(t, "at")),
		Epoch: rapid.Int64Range(0, 2).Draw(t, "epoch"),
		Seq:   rapid.Int64Range(1, 4).Draw(t, "seq"),
		Body:  []byte(`{}`),
	}
	switch e.Kind {
	case task.Created, task.Status:
		e.State = rapid.SampledFrom(states).Draw(t, "state")
	case task.Artifact:
		e.ArtifactID = a2a.ArtifactID(rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "artifact"))
		e.LastChunk = rapid.Bool().Draw(t, "last")
	}
	return e
}
