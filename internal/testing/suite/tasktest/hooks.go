package tasktest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"golang.org/x/sync/errgroup"

	"github.com/parley-a2a/parley/internal/task"
)

// hookTests are the tests of webhooks.
var hookTests = []storeTest{
	{"HookKeep", testHookKeep},
	{"HookReplace", testHookReplace},
	{"HookPages", testHookPages},
	{"HookMissing", testHookMissing},
	{"HookCreate", testHookCreate},
	{"HookAppend", testHookAppend},
	{"HookConflict", testHookConflict},
	{"HookAdvance", testHookAdvance},
	{"HookUnsettled", testHookUnsettled},
	{"HookFind", testHookFind},
	{"HookLetters", testHookLetters},
	{"HookRevive", testHookRevive},
	{"HookSweep", testHookSweep},
	{"HookRace", testHookRace},
	{"HookCancellation", testHookCancellation},
	{"HookModel", testHookModel},
}

// NewHook returns a hook with the given ID at position 1.
func NewHook(key task.Key, id string) *task.Hook {
	return &task.Hook{
		Task: key, ID: id, URL: "https://hooks.example/" + id + "?x=1", Dialect: 3, Scheme: "Bearer",
		Secret: []byte("sealed\x00\xff" + id), CreatedAt: At(7), Position: 1,
	}
}

// hooked stores a task of anna with the hooks.
func hooked(t *testing.T, s task.Store, id a2a.TaskID, hooks ...string) task.Head {
	t.Helper()
	h := Append(t, s, NewHead("anna", id), Created(At(0), "hello"))
	for _, hook := range hooks {
		putHook(t, s, NewHook(h.Key, hook))
	}
	return h
}

func putHook(t *testing.T, s task.Store, h *task.Hook) {
	t.Helper()
	if err := s.PutHook(t.Context(), h); err != nil {
		t.Fatalf("PutHook(%s) = %v", h.ID, err)
	}
}

func advance(t *testing.T, s task.Store, steps ...task.HookStep) {
	t.Helper()
	if err := s.Advance(t.Context(), steps); err != nil {
		t.Fatalf("Advance(%+v) = %v", steps, err)
	}
}

// step returns a step of the task's hook with the id.
func step(key task.Key, id string, position int64) task.HookStep {
	return task.HookStep{HookRef: task.HookRef{Task: key, ID: id}, Position: position}
}

// lost returns step with a dead letter of the versions from first to told.
func lost(key task.Key, id string, first, position int64) task.HookStep {
	s := step(key, id, position)
	s.Lost = &task.DeadLetter{First: first, Last: position, At: At(position), Attempts: 5, Reason: fmt.Sprint("stopped at ", first)}
	return s
}

// wantHooks fails the test unless the task has exactly these hooks.
func wantHooks(t *testing.T, s task.Store, key task.Key, want ...task.Hook) {
	t.Helper()
	got, err := s.Hooks(t.Context(), key, "", 100)
	if err != nil {
		t.Fatalf("Hooks(%d) = %v", key, err)
	}
	if d := diff(want, got); d != "" {
		t.Errorf("Hooks(%d) mismatch (-want +got):\n%s", key, d)
	}
}

func wantLetters(t *testing.T, s task.Store, ref task.HookRef, want ...task.DeadLetter) {
	t.Helper()
	got, err := s.DeadLetters(t.Context(), ref)
	if err != nil {
		t.Fatalf("DeadLetters(%v) = %v", ref, err)
	}
	if d := diff(want, got); d != "" {
		t.Errorf("DeadLetters(%v) mismatch (-want +got):\n%s", ref, d)
	}
}

// compareRefs orders hooks by their tasks and ids.
func compareRefs(a, b task.HookRef) int {
	return cmp.Or(cmp.Compare(a.Task, b.Task), cmp.Compare(a.ID, b.ID))
}

// wantUnsettled pages through all hooks that are not settled.
func wantUnsettled(t *testing.T, s task.Store, want ...task.Hooked) {
	t.Helper()
	slices.SortFunc(want, func(a, b task.Hooked) int { return compareRefs(a.Ref(), b.Ref()) })
	for _, limit := range []int{1, 2, 100} {
		var got []task.Hooked
		for after := (task.HookRef{}); ; after = got[len(got)-1].Ref() {
			page, err := s.Unsettled(t.Context(), after, limit)
			if err != nil || len(page) > limit {
				t.Fatalf("Unsettled(%v, %d) = %d hooks, %v", after, limit, len(page), err)
			}
			if len(page) == 0 {
				break
			}
			got = append(got, page...)
		}
		if d := diff(want, got); d != "" {
			t.Errorf("Unsettled by %d mismatch (-want +got):\n%s", limit, d)
		}
	}
}

func testHookKeep(t *testing.T, s task.Store) {
	h := hooked(t, s, "t1")
	full, bare := NewHook(h.Key, "full"), &task.Hook{Task: h.Key, ID: "bare", URL: "http://x", Position: 1}
	want := []task.Hook{*bare, *NewHook(h.Key, "full")}
	putHook(t, s, full)
	putHook(t, s, bare)
	clear(full.Secret) // the caller may reuse it
	wantHooks(t, s, h.Key, want...)
	got, err := s.Hooks(t.Context(), h.Key, "", 100)
	if err != nil {
		t.Fatal(err)
	}
	clear(got[1].Secret) // and so may its reader
	wantHooks(t, s, h.Key, want...)
	wantUnsettled(t, s, task.Hooked{Hook: want[0], Head: h}, task.Hooked{Hook: want[1], Head: h})
	wantHead(t, s, h)

	settled := NewHook(h.Key, "full")
	settled.Position, settled.Settled = 9, true
	putHook(t, s, settled)
	wantHooks(t, s, h.Key, want[0], *settled)
	if err := s.PutHook(t.Context(), NewHook(h.Key, "")); err == nil {
		t.Error("PutHook stores a hook without an id")
	}
}

func testHookReplace(t *testing.T, s task.Store) {
	h := hooked(t, s, "t1", "a", "b")
	advance(t, s, lost(h.Key, "a", 2, 3), lost(h.Key, "b", 2, 3))
	again := NewHook(h.Key, "a")
	again.URL, again.Secret, again.Position = "https://other.example", nil, 2
	putHook(t, s, again)
	other := NewHook(h.Key, "b")
	other.Position = 3
	wantHooks(t, s, h.Key, *again, *other)
	wantLetters(t, s, again.Ref())
	wantLetters(t, s, other.Ref(), *lost(h.Key, "b", 2, 3).Lost)
}

func testHookPages(t *testing.T, s task.Store) {
	h := hooked(t, s, "t1", "d", "b", "a", "c")
	other := hooked(t, s, "t2", "a", "bb")
	for after, want := range map[string][]string{"": {"a", "b"}, "a": {"b", "c"}, "bb": {"c", "d"}, "c": {"d"}, "d": nil} {
		got, err := s.Hooks(t.Context(), h.Key, after, 2)
		if err != nil {
			t.Fatalf("Hooks after %q = %v", after, err)
		}
		var ids []string
		for _, g := range got {
			ids = append(ids, g.ID)
		}
		if d := diff(want, ids); d != "" {
			t.Errorf("Hooks after %q mismatch (-want +got):\n%s", after, d)
		}
	}
	if err := s.DropHook(t.Context(), task.HookRef{Task: h.Key, ID: "a"}); err != nil {
		t.Fatalf("DropHook = %v", err)
	}
	wantHooks(t, s, h.Key, *NewHook(h.Key, "b"), *NewHook(h.Key, "c"), *NewHook(h.Key, "d"))
	wantHooks(t, s, other.Key, *NewHook(other.Key, "a"), *NewHook(other.Key, "bb"))
}

// testHookMissing reads hooks that do not exist.
func testHookMissing(t *testing.T, s task.Store) {
	h := hooked(t, s, "t1", "a")
	missing := task.HookRef{Task: h.Key + 1000, ID: "a"}
	if err := s.PutHook(t.Context(), NewHook(missing.Task, "a")); !errors.Is(err, task.ErrNotFound) {
		t.Errorf("PutHook of a task that is gone = %v, want ErrNotFound", err)
	}
	wantHooks(t, s, missing.Task)
	for _, ref := range []task.HookRef{missing, {Task: h.Key, ID: "b"}} {
		if err := s.DropHook(t.Context(), ref); err != nil {
			t.Errorf("DropHook(%v) = %v", ref, err)
		}
		if _, err := s.Revive(t.Context(), ref); !errors.Is(err, task.ErrNotFound) {
			t.Errorf("Revive(%v) = %v, want ErrNotFound", ref, err)
		}
		advance(t, s, lost(ref.Task, ref.ID, 2, 3))
		wantLetters(t, s, ref)
	}
	advance(t, s)
	wantHooks(t, s, h.Key, *NewHook(h.Key, "a"))
	wantUnsettled(t, s, task.Hooked{Hook: *NewHook(h.Key, "a"), Head: h})
}

// with sets the hook of a change.
func with(c *task.Change, h *task.Hook) *task.Change {
	c.Hook = h
	return c
}

func testHookCreate(t *testing.T, s task.Store) {
	hook := NewHook(0, "a")
	c := with(Step(t, NewHead("anna", "t1"), Created(At(0), "hello")), hook)
	if err := s.Append(t.Context(), c); err != nil {
		t.Fatalf("Append with a hook = %v", err)
	}
	if c.Next.Key == 0 || hook.Task != c.Next.Key {
		t.Errorf("the hook is of task %d, want %d", hook.Task, c.Next.Key)
	}
	clear(hook.Secret)
	want := *NewHook(c.Next.Key, "a")
	wantHooks(t, s, c.Next.Key, want)
	wantUnsettled(t, s, task.Hooked{Hook: want, Head: c.Next})
	nameless := with(Step(t, NewHead("anna", "t2"), Created(At(0), "hello")), NewHook(0, ""))
	if err := s.Append(t.Context(), nameless); err == nil {
		t.Error("Append stores a hook without an id")
	}
	if _, err := s.Head(t.Context(), "anna", "t2"); !errors.Is(err, task.ErrNotFound) {
		t.Errorf("Head after a refused hook = %v, want ErrNotFound", err)
	}
}

// testHookAppend stores hooks with later changes: of a task that continues, of one that ends,
// and of one that has ended.
func testHookAppend(t *testing.T, s task.Store) {
	h := hooked(t, s, "t1", "a")
	advance(t, s, lost(h.Key, "a", 2, 2))
	more := func(hook *task.Hook, es ...task.Entry) {
		t.Helper()
		c := with(Step(t, h, es...), hook)
		if err := s.Append(t.Context(), c); err != nil {
			t.Fatalf("Append with hook %s = %v", hook.ID, err)
		}
		h = c.Next
	}
	a, b, c := NewHook(0, "a"), NewHook(0, "b"), NewHook(0, "c")
	a.Position, b.Position, c.Position = 2, 3, 3
	more(a, FollowUp(At(1), "more"))
	wantLetters(t, s, task.HookRef{Task: h.Key, ID: "a"})
	more(b, Status(At(2), task.Completed, ""))
	more(c)
	if b.Task != h.Key || c.Task != h.Key {
		t.Errorf("the hooks are of tasks %d and %d, want %d", b.Task, c.Task, h.Key)
	}
	wantHooks(t, s, h.Key, *a, *b, *c)
	wantUnsettled(t, s, task.Hooked{Hook: *a, Head: h}, task.Hooked{Hook: *b, Head: h}, task.Hooked{Hook: *c, Head: h})
	if got := len(Log(t, s, h.Key)); got != 3 {
		t.Errorf("the log has %d entries, want 3", got)
	}
}

// testHookConflict: a change that is not stored stores no hook, and replaces none.
func testHookConflict(t *testing.T, s task.Store) {
	old := hooked(t, s, "t1", "a")
	now := Append(t, s, old, Status(At(1), task.Working, ""))
	bad := NewHook(old.Key, "a")
	bad.URL = "https://never.example"
	for _, hook := range []*task.Hook{bad, NewHook(0, "b")} {
		c := with(Step(t, old, Status(At(2), task.Completed, "")), hook)
		if err := s.Append(t.Context(), c); !errors.Is(err, task.ErrConflict) {
			t.Errorf("Append from an old head = %v, want ErrConflict", err)
		}
		c = with(Step(t, NewHead("anna", "t1"), Created(At(0), "hello")), hook)
		if err := s.Append(t.Context(), c); !errors.Is(err, task.ErrExists) {
			t.Errorf("Append of a task that exists = %v, want ErrExists", err)
		}
	}
	wantHooks(t, s, old.Key, *NewHook(old.Key, "a"))
	wantUnsettled(t, s, task.Hooked{Hook: *NewHook(old.Key, "a"), Head: now})
}

func testHookAdvance(t *testing.T, s task.Store) {
	h := hooked(t, s, "t1", "a", "b")
	want := func(position int64, settled bool) {
		t.Helper()
		a := NewHook(h.Key, "a")
		a.Position, a.Settled = position, settled
		wantHooks(t, s, h.Key, *a, *NewHook(h.Key, "b"))
	}
	advance(t, s, step(h.Key, "a", 5))
	want(5, false)
	advance(t, s, step(h.Key, "a", 3))
	want(5, false)
	advance(t, s, step(h.Key, "a", 6), step(h.Key, "gone", 9), step(h.Key, "a", 8), step(h.Key, "a", 7))
	want(8, false)
	last := step(h.Key, "a", 9)
	last.Settled = true
	advance(t, s, last)
	want(9, true)
	advance(t, s, step(h.Key, "a", 9))
	want(9, true)
	wantLetters(t, s, last.HookRef)
}

func testHookUnsettled(t *testing.T, s task.Store) {
	one, two := hooked(t, s, "t1", "b", "a"), hooked(t, s, "t2", "a")
	three := Append(t, s, NewHead("bert", "t1"), Created(At(0), "hello"))
	putHook(t, s, NewHook(three.Key, "z"))
	at := func(h task.Head, id string) task.Hooked {
		return task.Hooked{Hook: *NewHook(h.Key, id), Head: h}
	}
	wantUnsettled(t, s, at(one, "a"), at(one, "b"), at(two, "a"), at(three, "z"))
	one = Append(t, s, one, Status(At(1), task.Completed, "done"))
	wantUnsettled(t, s, at(one, "a"), at(one, "b"), at(two, "a"), at(three, "z"))
	end := step(one.Key, "a", 2)
	end.Settled = true
	advance(t, s, end)
	wantUnsettled(t, s, at(one, "b"), at(two, "a"), at(three, "z"))
	if err := s.DropHook(t.Context(), task.HookRef{Task: two.Key, ID: "a"}); err != nil {
		t.Fatalf("DropHook = %v", err)
	}
	wantUnsettled(t, s, at(one, "b"), at(three, "z"))
	putHook(t, s, NewHook(one.Key, "a")) // to be delivered again
	wantUnsettled(t, s, at(one, "a"), at(one, "b"), at(three, "z"))
}

// testHookFind gives two owners tasks with the same id.
func testHookFind(t *testing.T, s task.Store) {
	first := hooked(t, s, "same", "a", "b")
	other := hooked(t, s, "other", "a")
	second := Append(t, s, NewHead("bert", "same"), Created(At(0), "hello"))
	putHook(t, s, NewHook(second.Key, "c"))
	for _, step := range []task.HookStep{lost(first.Key, "b", 2, 2), lost(other.Key, "a", 2, 2), lost(other.Key, "a", 4, 4)} {
		step.Settled = true
		advance(t, s, step)
	}
	ref := func(h task.Head, id string) task.HookRef { return task.HookRef{Task: h.Key, ID: id} }
	for _, tt := range []struct {
		q    task.HookQuery
		want []task.HookRef
	}{
		{task.HookQuery{}, []task.HookRef{ref(first, "a"), ref(first, "b"), ref(other, "a"), ref(second, "c")}},
		{task.HookQuery{Task: "same"}, []task.HookRef{ref(first, "a"), ref(first, "b"), ref(second, "c")}},
		{task.HookQuery{Task: "none"}, nil},
		{task.HookQuery{Dead: true}, []task.HookRef{ref(first, "b"), ref(other, "a")}},
		{task.HookQuery{Dead: true, Task: "same"}, []task.HookRef{ref(first, "b")}},
		{task.HookQuery{After: ref(first, "b")}, []task.HookRef{ref(first, "a"), ref(first, "b"), ref(other, "a"), ref(second, "c")}},
		{task.HookQuery{After: ref(first, "aa"), Task: "same"}, []task.HookRef{ref(first, "a"), ref(first, "b"), ref(second, "c")}},
		{task.HookQuery{After: ref(first, "b"), Dead: true}, []task.HookRef{ref(other, "a")}},
		{task.HookQuery{After: ref(first, "b"), Dead: true, Task: "same"}, nil},
	} {
		slices.SortFunc(tt.want, compareRefs)
		want := slices.DeleteFunc(tt.want, func(r task.HookRef) bool { return compareRefs(r, tt.q.After) <= 0 })
		for _, limit := range []int{1, 100} {
			tt.q.Limit = limit
			if d := diff(want, findAll(t, s, tt.q)); d != "" {
				t.Errorf("FindHooks(%+v) mismatch (-want +got):\n%s", tt.q, d)
			}
		}
	}
}

// findAll pages through the results of FindHooks, and compares heads.
func findAll(t *testing.T, s task.Store, q task.HookQuery) []task.HookRef {
	t.Helper()
	var refs []task.HookRef
	for {
		page, err := s.FindHooks(t.Context(), &q)
		if err != nil || len(page) > q.Limit {
			t.Fatalf("FindHooks(%+v) = %d hooks, %v", q, len(page), err)
		}
		if len(page) == 0 {
			return refs
		}
		for _, h := range page {
			if h.Head.Key != h.Task {
				t.Errorf("FindHooks(%+v): hook of task %d has the head of task %d", q, h.Task, h.Head.Key)
			}
			wantHead(t, s, h.Head)
			refs = append(refs, h.Ref())
		}
		q.After = refs[len(refs)-1]
	}
}

func testHookLetters(t *testing.T, s task.Store) {
	h := hooked(t, s, "t1", "a", "b")
	ref := task.HookRef{Task: h.Key, ID: "a"}
	late, early := lost(h.Key, "a", 7, 7), lost(h.Key, "a", 2, 3)
	advance(t, s, early, late)
	wantLetters(t, s, ref, *early.Lost, *late.Lost)
	longer := lost(h.Key, "a", 2, 4)
	longer.Lost.Reason = "other"
	advance(t, s, longer)
	wantLetters(t, s, ref, *longer.Lost, *late.Lost)
	wantLetters(t, s, task.HookRef{Task: h.Key, ID: "b"})
	if err := s.DropHook(t.Context(), ref); err != nil {
		t.Fatalf("DropHook = %v", err)
	}
	wantLetters(t, s, ref)
	putHook(t, s, NewHook(h.Key, "a"))
	wantLetters(t, s, ref)

	var many []task.HookStep
	for v := range int64(1010) {
		many = append(many, lost(h.Key, "b", 2*v+2, 2*v+2))
	}
	advance(t, s, many...)
	got, err := s.DeadLetters(t.Context(), task.HookRef{Task: h.Key, ID: "b"})
	if err != nil || len(got) != 1000 || got[0].First != 2 || got[999].First != 2000 {
		t.Errorf("DeadLetters of 1,010 = %d, %v, want the first 1,000", len(got), err)
	}
}

func testHookRevive(t *testing.T, s task.Store) {
	h := hooked(t, s, "t1", "a", "b")
	ref := task.HookRef{Task: h.Key, ID: "a"}
	last := lost(h.Key, "a", 6, 9)
	last.Settled = true
	advance(t, s, lost(h.Key, "a", 3, 4), last, lost(h.Key, "b", 2, 2))
	want := task.Hooked{Hook: *NewHook(h.Key, "a"), Head: h}
	want.Position = 2
	for range 2 { // the second call changes nothing
		got, err := s.Revive(t.Context(), ref)
		if err != nil {
			t.Fatalf("Revive = %v", err)
		}
		if d := diff(want, got); d != "" {
			t.Errorf("Revive mismatch (-want +got):\n%s", d)
		}
	}
	b := task.Hooked{Hook: *NewHook(h.Key, "b"), Head: h}
	b.Position = 2
	wantHooks(t, s, h.Key, want.Hook, b.Hook)
	wantUnsettled(t, s, want, b)
	wantLetters(t, s, ref)
	wantLetters(t, s, b.Ref(), *lost(h.Key, "b", 2, 2).Lost)

	end := step(h.Key, "a", 9)
	end.Settled = true
	advance(t, s, end)
	got, err := s.Revive(t.Context(), ref)
	if want.Position, want.Settled = 9, true; err != nil || diff(want, got) != "" {
		t.Errorf("Revive without dead letters = %+v, %v, want %+v", got, err, want)
	}
}

func testHookSweep(t *testing.T, s task.Store) {
	gone, stays := hooked(t, s, "gone", "a", "b"), hooked(t, s, "stays", "a")
	advance(t, s, lost(gone.Key, "a", 2, 2), lost(stays.Key, "a", 2, 2))
	gone = Append(t, s, gone, Status(At(1), task.Completed, ""))
	if n, err := s.Sweep(t.Context(), At(100), 10); err != nil || n != 1 {
		t.Fatalf("Sweep = %d, %v, want 1", n, err)
	}
	wantHooks(t, s, gone.Key)
	wantLetters(t, s, task.HookRef{Task: gone.Key, ID: "a"})
	if err := s.PutHook(t.Context(), NewHook(gone.Key, "a")); !errors.Is(err, task.ErrNotFound) {
		t.Errorf("PutHook of a swept task = %v, want ErrNotFound", err)
	}
	left := task.Hooked{Hook: *NewHook(stays.Key, "a"), Head: stays}
	left.Position = 2
	wantUnsettled(t, s, left)
	wantLetters(t, s, left.Ref(), *lost(stays.Key, "a", 2, 2).Lost)
	for _, q := range []task.HookQuery{{Limit: 10}, {Limit: 10, Dead: true}} {
		if d := diff([]task.HookRef{left.Ref()}, findAll(t, s, q)); d != "" {
			t.Errorf("FindHooks(%+v) after a sweep mismatch (-want +got):\n%s", q, d)
		}
	}
}

// testHookRace advances, replaces, deletes and revives hooks while their task changes. At the
// end each has only the effect of the last calls.
func testHookRace(t *testing.T, s task.Store) {
	const rounds = 30
	h := hooked(t, s, "t1", "kept", "dropped")
	ctx, key := t.Context(), h.Key
	var g errgroup.Group
	for r := range int64(2) {
		g.Go(func() error {
			for v := range int64(rounds) {
				steps := []task.HookStep{step(key, "kept", 2*v+r+2), lost(key, "dropped", v+2, v+2)}
				if err := s.Advance(ctx, steps); err != nil {
					return err
				}
			}
			return nil
		})
	}
	g.Go(func() error {
		for range rounds {
			_, err := s.Revive(ctx, task.HookRef{Task: key, ID: "dropped"})
			if err != nil && !errors.Is(err, task.ErrNotFound) {
				return err
			}
			if err := s.DropHook(ctx, task.HookRef{Task: key, ID: "dropped"}); err != nil {
				return err
			}
		}
		return nil
	})
	g.Go(func() error {
		for range rounds {
			if _, err := s.Unsettled(ctx, task.HookRef{}, 10); err != nil {
				return err
			}
		}
		return nil
	})
	for range rounds {
		h = Append(t, s, h, Chunk(At(1), "a", "text"))
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	kept := *NewHook(h.Key, "kept")
	kept.Position = 2*(rounds-1) + 1 + 2
	wantHooks(t, s, h.Key, kept)
	wantLetters(t, s, task.HookRef{Task: h.Key, ID: "dropped"})
	wantUnsettled(t, s, task.Hooked{Hook: kept, Head: h})
}

func testHookCancellation(t *testing.T, s task.Store) {
	h := hooked(t, s, "t1", "a")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	ref := task.HookRef{Task: h.Key, ID: "a"}
	for name, call := range map[string]func() error{
		"PutHook":     func() error { return s.PutHook(ctx, NewHook(h.Key, "b")) },
		"DropHook":    func() error { return s.DropHook(ctx, ref) },
		"Advance":     func() error { return s.Advance(ctx, []task.HookStep{step(h.Key, "a", 5)}) },
		"Hooks":       func() error { _, err := s.Hooks(ctx, h.Key, "", 1); return err },
		"Unsettled":   func() error { _, err := s.Unsettled(ctx, task.HookRef{}, 1); return err },
		"FindHooks":   func() error { _, err := s.FindHooks(ctx, &task.HookQuery{Limit: 1}); return err },
		"DeadLetters": func() error { _, err := s.DeadLetters(ctx, ref); return err },
		"Revive":      func() error { _, err := s.Revive(ctx, ref); return err },
	} {
		if err := call(); !errors.Is(err, context.Canceled) {
			t.Errorf("%s after cancellation = %v", name, err)
		}
	}
	wantHooks(t, s, h.Key, *NewHook(h.Key, "a"))
}
