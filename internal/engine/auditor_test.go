package engine_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/blobstore"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/policy"
	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/testing/storetest"
)

// auditRecorder is an auditor that takes a given time.
type auditRecorder struct {
	mu     sync.Mutex
	events []string
	// takes is the time that it takes to write a record; refuses and breaks are the errors of
	// Doing and Wait.
	takes           time.Duration
	refuses, breaks error
}

type slowly struct {
	takes time.Duration
	err   error
}

// Wait runs in a bubble.
func (s slowly) Wait() error {
	time.Sleep(s.takes)
	return s.err
}

func (s *auditRecorder) note(what string, c *op.Caller, d engine.AuditEvent) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, fmt.Sprintf("%s %s %s of %s, task %v", what, c.Principal.ID, d.Action, d.Agent, d.Task != ""))
}

func (s *auditRecorder) Begin(c *op.Caller, d engine.AuditEvent) (engine.AuditAck, error) {
	s.note("doing", c, d)
	if s.refuses != nil {
		return nil, s.refuses
	}
	return slowly{s.takes, s.breaks}, nil
}

func (s *auditRecorder) Abort(c *op.Caller, d engine.AuditEvent, _ error) { s.note("undone", c, d) }
func (s *auditRecorder) Read(c *op.Caller, d engine.AuditEvent)           { s.note("looked", c, d) }

// TestAuditor checks the records of operations on tasks.
func TestAuditor(t *testing.T) {
	t.Parallel()
	s := new(auditRecorder)
	b := start(t, engine.Config{Auditor: s}, wonders("where?"))
	a := b.send(text("one"))
	id := a.Head.ID
	b.send(reply(id, "two"))
	b.get(id)
	if _, err := b.List(t.Context(), alice, &op.List{PageSize: 1}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Cancel(t.Context(), alice, &op.Cancel{ID: id}); !errors.Is(err, a2a.ErrTaskNotCancelable) {
		t.Errorf("Cancel of a task that has ended = %v", err)
	}
	if _, err := b.Cancel(t.Context(), caller("bob"), &op.Cancel{ID: id}); !errors.Is(err, a2a.ErrTaskNotFound) {
		t.Errorf("Cancel of a foreign task = %v", err)
	}
	want := []string{
		"doing alice task.send of main, task true",
		"doing alice task.send of main, task true",
		"looked alice task.get of main, task true",
		"looked alice task.list of , task false",
		"doing alice task.cancel of main, task true",
		"undone alice task.cancel of main, task true",
	}
	if diff := cmp.Diff(want, s.events); diff != "" {
		t.Errorf("audit events (-want +got):\n%s", diff)
	}
}

// TestAuditPrecedesTheAnswer: an answer waits for the audit log; the store does not
// wait.
func TestAuditPrecedesTheAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := start(t, engine.Config{Auditor: &auditRecorder{takes: time.Hour}}, words("hi"))
		began := time.Now()
		b.send(now(text("one")))
		if took := time.Since(began); took != time.Hour {
			t.Errorf("the answer came after %v, want the hour that the log takes", took)
		}
		b.stop()
	})
}

// TestRefusedWithoutAuditRecord: an operation that cannot be logged is not done, or its result is
// not returned.
func TestRefusedWithoutAuditRecord(t *testing.T) {
	t.Parallel()
	full := errors.New("the log is full")
	for name, s := range map[string]*auditRecorder{"refused": {refuses: full}, "broken": {breaks: full}} {
		store := new(memstore.Store)
		b := start(t, engine.Config{Store: store, Auditor: s}, words("hi"))
		if a, err := b.Send(t.Context(), alice, text("one")); !errors.Is(err, full) {
			t.Errorf("%s: Send = %v, %v, want the error of the log", name, a, err)
		}
		b.stop()
		n, err := store.List(t.Context(), &task.Query{Owner: "alice", Limit: 10})
		if err != nil || name == "refused" && len(n.Heads) > 0 {
			t.Errorf("%s: %d tasks are stored, %v", name, len(n.Heads), err)
		}
	}
}

// TestAuditOfAFailedChange checks the record of a change that could not be stored.
func TestAuditOfAFailedChange(t *testing.T) {
	t.Parallel()
	s := new(auditRecorder)
	store := new(storetest.Store)
	b := start(t, engine.Config{Store: store, Auditor: s}, words("hi"))
	store.Full.Store(true)
	if _, err := b.Send(t.Context(), alice, text("one")); err == nil {
		t.Error("Send with a store that fails succeeds")
	}
	store.Full.Store(false)
	want := []string{"doing alice task.send of main, task true", "undone alice task.send of main, task true"}
	if diff := cmp.Diff(want, s.events); diff != "" {
		t.Errorf("audit events (-want +got):\n%s", diff)
	}
}

// TestDenialsAreAudited wants one record for each call that the policy has refused.
func TestDenialsAreAudited(t *testing.T) {
	t.Parallel()
	s := new(auditRecorder)
	b := start(t, engine.Config{
		Auditor: s,
		Policy:  ruled(t, policy.Rule{Ops: []string{"*"}, Callers: []string{"bob"}}),
	}, words("hi"))
	named := text("named")
	named.Agent = "main"
	for _, r := range []*op.Send{text("one"), named} {
		if _, err := b.Send(t.Context(), alice, r); !errors.Is(err, a2a.ErrUnauthorized) {
			t.Errorf("Send = %v, want ErrUnauthorized", err)
		}
	}
	want := []string{"undone alice policy.refused of main, task false", "undone alice policy.refused of main, task false"}
	if diff := cmp.Diff(want, s.events); diff != "" {
		t.Errorf("audit events (-want +got):\n%s", diff)
	}
}

// TestPartsAreAudited wants a record of each large part that a caller was shown, and of no
// others.
func TestPartsAreAudited(t *testing.T) {
	t.Parallel()
	s := new(auditRecorder)
	b := start(t, engine.Config{Auditor: s, Parts: newExternalizer(t)}, words("hi"))
	a := b.send(file("m", map[string]any{"raw": bulk}))
	d := blobstore.Digest(sha256.Sum256(bulk))
	if got, err := b.part(a.Head.ID, d, alice); err != nil || !bytes.Equal(got, bulk) {
		t.Fatalf("the part: %d bytes, %v", len(got), err)
	}
	if _, err := b.part(a.Head.ID, d, caller("bob")); !errors.Is(err, a2a.ErrTaskNotFound) {
		t.Errorf("the part for bob: %v", err)
	}
	if _, err := b.part(a.Head.ID, blobstore.Digest{}, alice); !errors.Is(err, a2a.ErrTaskNotFound) {
		t.Errorf("a part that is not there: %v", err)
	}
	want := []string{"doing alice task.send of main, task true", "looked alice part.get of main, task true"}
	if diff := cmp.Diff(want, s.events); diff != "" {
		t.Errorf("audit events (-want +got):\n%s", diff)
	}
}
