package tasktest

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"golang.org/x/sync/errgroup"

	"github.com/parley-a2a/parley/internal/task"
)

// requestTests are the tests of requests.
var requestTests = []storeTest{
	{"RequestKeep", testRequestKeep},
	{"RequestUsed", testRequestUsed},
	{"RequestScope", testRequestScope},
	{"RequestReplace", testRequestReplace},
	{"RequestConflict", testRequestConflict},
	{"RequestSweep", testRequestSweep},
	{"RequestTaskSweep", testRequestTaskSweep},
	{"RequestRace", testRequestRace},
	{"RequestCancellation", testRequestCancellation},
}

// NewRequest returns a request at At(at); earlier ones count from At(since).
func NewRequest(key string, at, since int64) *task.Request {
	return &task.Request{Key: key, Fingerprint: []byte("print\x00\xff" + key), At: At(at), Since: At(since)}
}

// keyed sets the request of a change.
func keyed(c *task.Change, r *task.Request) *task.Change {
	c.Request = r
	return c
}

// createKeyed stores a task of anna with a request.
func createKeyed(t *testing.T, s task.Store, id a2a.TaskID, r *task.Request) task.Head {
	t.Helper()
	c := keyed(Step(t, NewHead("anna", id), Created(At(0), "hello")), r)
	if err := s.Append(t.Context(), c); err != nil {
		t.Fatalf("Append with request %q = %v", r.Key, err)
	}
	return c.Next
}

// wantUsed fails the test unless c is refused because of its key.
func wantUsed(t *testing.T, s task.Store, c *task.Change) {
	t.Helper()
	if err := s.Append(t.Context(), c); !errors.Is(err, task.ErrKeyUsed) {
		t.Errorf("Append with request %q at %d since %d = %v, want ErrKeyUsed", c.Request.Key, c.Request.At, c.Request.Since, err)
	}
}

// wantRequest fails the test unless the store has r for the task of h.
func wantRequest(t *testing.T, s task.Store, r *task.Request, version int64, h task.Head) {
	t.Helper()
	want := task.Requested{Request: *r, Version: version, Head: h}
	want.Since = 0
	got, err := s.Request(t.Context(), h.Owner, h.Agent, r.Key)
	if err != nil {
		t.Fatalf("Request(%q) = %v", r.Key, err)
	}
	if d := diff(want, got); d != "" {
		t.Errorf("Request(%q) mismatch (-want +got):\n%s", r.Key, d)
	}
}

func wantNoRequest(t *testing.T, s task.Store, owner task.Owner, agent task.Agent, key string) {
	t.Helper()
	if got, err := s.Request(t.Context(), owner, agent, key); !errors.Is(err, task.ErrNotFound) {
		t.Errorf("Request(%s, %s, %q) = %+v, %v, want ErrNotFound", owner, agent, key, got, err)
	}
}

func testRequestKeep(t *testing.T, s task.Store) {
	wantNoRequest(t, s, "anna", "echo", "k1")
	first, second := NewRequest("k1", 5, 0), NewRequest("k2", 7, 0)
	h := createKeyed(t, s, "t1", first)
	clear(first.Fingerprint) // the caller may reuse it
	first = NewRequest("k1", 5, 0)
	wantRequest(t, s, first, 1, h)
	h = Append(t, s, h, Status(At(1), task.Working, ""))
	c := keyed(Step(t, h, FollowUp(At(2), "more")), second)
	if err := s.Append(t.Context(), c); err != nil {
		t.Fatalf("Append of a message with a request = %v", err)
	}
	h = Append(t, s, c.Next, Status(At(3), task.Completed, "done"))
	wantRequest(t, s, first, 1, h)
	wantRequest(t, s, second, 3, h)
	got, err := s.Request(t.Context(), "anna", "echo", "k2")
	if err != nil {
		t.Fatal(err)
	}
	clear(got.Fingerprint) // and so may its reader
	wantRequest(t, s, second, 3, h)
	nameless := keyed(Step(t, NewHead("anna", "t2"), Created(At(0), "hello")), NewRequest("", 0, 0))
	if err := s.Append(t.Context(), nameless); err == nil {
		t.Error("Append stores a request without a key")
	}
	if _, err := s.Head(t.Context(), "anna", "t2"); !errors.Is(err, task.ErrNotFound) {
		t.Errorf("Head after a refused request = %v, want ErrNotFound", err)
	}
}

// testRequestUsed repeats a request in all variants; none is stored.
func testRequestUsed(t *testing.T, s task.Store) {
	r := NewRequest("k", 5, 0)
	old := createKeyed(t, s, "t1", r)
	wantUsed(t, s, keyed(Step(t, NewHead("anna", "t2"), Created(At(6), "hello")), NewRequest("k", 6, 5)))
	wantUsed(t, s, keyed(Step(t, NewHead("anna", "t1"), Created(At(6), "hello")), NewRequest("k", 6, 0)))
	wantUsed(t, s, keyed(Step(t, old, FollowUp(At(6), "more")), NewRequest("k", 6, 0)))
	other := *NewRequest("k", 6, 0)
	other.Fingerprint = []byte("other")
	wantUsed(t, s, keyed(Step(t, NewHead("anna", "t2"), Created(At(6), "hello")), &other))
	if _, err := s.Head(t.Context(), "anna", "t2"); !errors.Is(err, task.ErrNotFound) {
		t.Errorf("Head of a repeated request = %v, want ErrNotFound", err)
	}
	wantRequest(t, s, r, 1, old)
	now := Append(t, s, old, Status(At(7), task.Working, ""))
	wantUsed(t, s, keyed(Step(t, old, FollowUp(At(8), "more")), NewRequest("k", 8, 0)))
	wantRequest(t, s, r, 1, now)
	if got := len(Log(t, s, now.Key)); got != 2 {
		t.Errorf("the log has %d entries, want 2", got)
	}
}

// testRequestScope uses the same key for two owners, and for two agents of one.
func testRequestScope(t *testing.T, s task.Store) {
	r := NewRequest("k", 5, 0)
	want := []task.Head{createKeyed(t, s, "t1", r)}
	bert, sister := NewHead("bert", "t1"), NewHead("anna", "t2")
	sister.Agent = "sister"
	for _, h := range []task.Head{bert, sister} {
		c := keyed(Step(t, h, Created(At(0), "hello")), NewRequest("k", 5, 0))
		if err := s.Append(t.Context(), c); err != nil {
			t.Fatalf("Append for %s and %s = %v", h.Owner, h.Agent, err)
		}
		want = append(want, c.Next)
	}
	for _, h := range want {
		wantRequest(t, s, r, 1, h)
	}
	wantNoRequest(t, s, "bert", "sister", "k")
	wantNoRequest(t, s, "carl", "echo", "k")
	wantNoRequest(t, s, "anna", "echo", "K")
}

// testRequestReplace reuses the keys of expired requests.
func testRequestReplace(t *testing.T, s task.Store) {
	one := createKeyed(t, s, "t1", NewRequest("k", 5, 0))
	wantUsed(t, s, keyed(Step(t, NewHead("anna", "t2"), Created(At(9), "hello")), NewRequest("k", 9, 5)))
	r := NewRequest("k", 9, 6)
	r.Fingerprint = []byte("another")
	two := createKeyed(t, s, "t2", r)
	wantRequest(t, s, r, 1, two)
	wantUsed(t, s, keyed(Step(t, one, FollowUp(At(9), "more")), NewRequest("k", 10, 6)))
	again := NewRequest("k", 12, 10)
	c := keyed(Step(t, one, FollowUp(At(9), "more")), again)
	if err := s.Append(t.Context(), c); err != nil {
		t.Fatalf("Append with an old key = %v", err)
	}
	wantRequest(t, s, again, 2, c.Next)
	if n, err := s.SweepRequests(t.Context(), At(12), 10); n != 0 || err != nil {
		t.Errorf("SweepRequests of those that were replaced = %d, %v, want none", n, err)
	}
}

// testRequestConflict: a change that is not stored stores no request, and replaces none.
func testRequestConflict(t *testing.T, s task.Store) {
	had := NewRequest("had", 1, 0)
	old := createKeyed(t, s, "t1", had)
	now := Append(t, s, old, Status(At(1), task.Working, ""))
	for _, r := range []*task.Request{NewRequest("new", 5, 0), NewRequest("had", 5, 4)} {
		c := keyed(Step(t, old, FollowUp(At(2), "more")), r)
		if err := s.Append(t.Context(), c); !errors.Is(err, task.ErrConflict) {
			t.Errorf("Append from an old head = %v, want ErrConflict", err)
		}
		c = keyed(Step(t, NewHead("anna", "t1"), Created(At(0), "hello")), r)
		if err := s.Append(t.Context(), c); !errors.Is(err, task.ErrExists) {
			t.Errorf("Append of a task that exists = %v, want ErrExists", err)
		}
	}
	wantNoRequest(t, s, "anna", "echo", "new")
	wantRequest(t, s, had, 1, now)
}

func testRequestSweep(t *testing.T, s task.Store) {
	var heads []task.Head
	// They are not in the order of their times.
	for i, at := range []int64{3, 1, 2, 2, 9} {
		heads = append(heads, createKeyed(t, s, a2a.TaskID(fmt.Sprint("t", i)), NewRequest(fmt.Sprint("k", i), at, 0)))
	}
	sweep := func(before int64, limit, want int) {
		t.Helper()
		if n, err := s.SweepRequests(t.Context(), At(before), limit); n != want || err != nil {
			t.Errorf("SweepRequests(%d, %d) = %d, %v, want %d", before, limit, n, err, want)
		}
	}
	sweep(1, 10, 0)
	sweep(9, 1, 1)
	wantNoRequest(t, s, "anna", "echo", "k1")
	wantRequest(t, s, NewRequest("k0", 3, 0), 1, heads[0])
	sweep(3, 10, 2)
	wantNoRequest(t, s, "anna", "echo", "k2")
	wantNoRequest(t, s, "anna", "echo", "k3")
	wantRequest(t, s, NewRequest("k0", 3, 0), 1, heads[0])
	sweep(9, 10, 1)
	sweep(9, 10, 0)
	wantRequest(t, s, NewRequest("k4", 9, 0), 1, heads[4])
	for _, h := range heads {
		wantHead(t, s, h)
	}
	createKeyed(t, s, "t9", NewRequest("k1", 1, 0)) // the key is free again
}

// testRequestTaskSweep: requests are deleted with their tasks.
func testRequestTaskSweep(t *testing.T, s task.Store) {
	h := createKeyed(t, s, "t1", NewRequest("k1", 1, 0))
	c := keyed(Step(t, h, FollowUp(At(1), "more")), NewRequest("k2", 2, 0))
	if err := s.Append(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	Append(t, s, c.Next, Status(At(2), task.Completed, ""))
	other := createKeyed(t, s, "t2", NewRequest("k3", 1, 0))
	if n, err := s.Sweep(t.Context(), At(1000), 10); n != 1 || err != nil {
		t.Fatalf("Sweep = %d, %v, want 1", n, err)
	}
	wantNoRequest(t, s, "anna", "echo", "k1")
	wantNoRequest(t, s, "anna", "echo", "k2")
	wantRequest(t, s, NewRequest("k3", 1, 0), 1, other)
	createKeyed(t, s, "t1", NewRequest("k1", 3, 0))
	if n, err := s.SweepRequests(t.Context(), At(1000), 10); n != 2 || err != nil {
		t.Errorf("SweepRequests = %d, %v, want 2", n, err)
	}
}

// testRequestRace lets many goroutines make the same request. One wins, and the others find it.
func testRequestRace(t *testing.T, s task.Store) {
	const rounds, racers = 10, 8
	for round := range rounds {
		r := NewRequest(fmt.Sprint("k", round), 5, 0)
		var winner atomic.Pointer[task.Change]
		var g errgroup.Group
		for i := range racers {
			mine := *r
			c := keyed(Step(t, NewHead("anna", a2a.TaskID(fmt.Sprint(round, "-", i))), Created(At(0), "hello")), &mine)
			g.Go(func() error {
				err := s.Append(t.Context(), c)
				if err == nil && !winner.CompareAndSwap(nil, c) {
					return fmt.Errorf("request %q was stored twice", c.Request.Key)
				}
				if errors.Is(err, task.ErrKeyUsed) {
					_, err = s.Request(t.Context(), "anna", "echo", c.Request.Key)
				}
				return err
			})
		}
		if err := g.Wait(); err != nil {
			t.Fatal(err)
		}
		if winner.Load() == nil {
			t.Fatal("no request won")
		}
		wantRequest(t, s, r, 1, winner.Load().Next)
	}
}

// testRequestCancellation calls with a canceled context.
func testRequestCancellation(t *testing.T, s task.Store) {
	h := createKeyed(t, s, "t1", NewRequest("k", 5, 0))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Request(ctx, "anna", "echo", "k"); !errors.Is(err, context.Canceled) {
		t.Errorf("Request = %v, want the cause", err)
	}
	if _, err := s.SweepRequests(ctx, At(100), 10); !errors.Is(err, context.Canceled) {
		t.Errorf("SweepRequests = %v, want the cause", err)
	}
	wantRequest(t, s, NewRequest("k", 5, 0), 1, h)
}
