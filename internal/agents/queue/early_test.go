package queue_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/bus/protocol"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/internal/task"
)

// blockingStore is a store whose first append for a task waits until the test decides its outcome.
type blockingStore struct {
	*memstore.Store
	// outcome is the result of the append; kept is set if it stores its entries despite an
	// error.
	outcome chan error
	kept    bool
}

func (d *blockingStore) Append(ctx context.Context, c *task.Change) error {
	if c.Prev.Rev != 0 {
		return d.Store.Append(ctx, c)
	}
	err := <-d.outcome
	if err == nil || d.kept {
		return errors.Join(d.Store.Append(ctx, c), err)
	}
	return err
}

// begin sends a message whose task is about to be stored, and returns its work, claimed by a
// manual worker before that is done.
func (d *blockingStore) begin(h *hub) (j *manualJob, sent chan error, answer **engine.Answer) {
	h.t.Helper()
	p := h.startManualWorker()
	sent, answer = make(chan error, 1), new(*engine.Answer)
	go func() {
		a, err := h.Send(h.t.Context(), alice, newSend("hello"))
		*answer = a
		sent <- err
	}()
	j = p.take()
	j.claimOnly()
	p.silence()
	return j, sent, answer
}

// claimOnly claims without waiting for an answer.
func (j *manualJob) claimOnly() {
	j.t.Helper()
	j.send(bus.Topic(j.d.ReplyTo), protocol.TypeClaim, 0, &protocol.Claim{Delivery: j.work.Delivery, Worker: j.id, Nonce: j.nonce, Idempotent: true})
}

// denied claims and checks the reason of the denial.
func (j *manualJob) denied(why string) {
	j.t.Helper()
	synctest.Wait()
	if e := j.claim(true); e.Type != protocol.TypeDeny || !strings.Contains(string(e.Body), why) {
		j.t.Errorf("the claim is answered with %s %s, want a denial: %s", e.Type, e.Body, why)
	}
}

func onBlockingStore(t *testing.T, kept bool, f func(t *testing.T, d *blockingStore, h *hub)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &blockingStore{Store: new(memstore.Store), outcome: make(chan error), kept: kept}
		f(t, d, startHubOn(t, d, nil))
	})
}

// TestGrantWaitsForTheStore: the work is in its queue while its task is being stored, and no
// claim is granted before that is done.
func TestGrantWaitsForTheStore(t *testing.T) {
	onBlockingStore(t, false, func(t *testing.T, d *blockingStore, h *hub) {
		j, sent, answer := d.begin(h)
		d.outcome <- nil
		grant := j.receives(protocol.TypeGrant, 0)
		var g protocol.Grant
		if err := json.Unmarshal(grant.Body, &g); err != nil {
			t.Fatal(err)
		}
		j.epoch, j.token = grant.Epoch, g.Token
		j.report(1, completed)
		if err := <-sent; err != nil || (*answer).Head.State != task.Completed {
			t.Fatalf("Send = %v, %v, want a completed task", *answer, err)
		}
	})
}

// TestWorkOfATaskThatIsNotStored: a claim for the work of a task that could not be stored is
// denied as unknown, and the caller gets an error.
func TestWorkOfATaskThatIsNotStored(t *testing.T) {
	onBlockingStore(t, false, func(t *testing.T, d *blockingStore, h *hub) {
		j, sent, _ := d.begin(h)
		d.outcome <- errors.New("the disk is full")
		if err := <-sent; err == nil {
			t.Fatal("Send = nil, want an error")
		}
		j.denied("the hub has no such task")
		if _, err := h.store.Head(t.Context(), alice.Principal.Owner(), a2a.TaskID(j.d.Task)); !errors.Is(err, task.ErrNotFound) {
			t.Errorf("Head = %v, want ErrNotFound", err)
		}
	})
}

// TestWorkOfATaskThatIsRefused: the store has stored the task but returned an error. The caller
// got this error, too: no worker may start.
func TestWorkOfATaskThatIsRefused(t *testing.T) {
	onBlockingStore(t, true, func(t *testing.T, d *blockingStore, h *hub) {
		j, sent, _ := d.begin(h)
		d.outcome <- errors.New("the disk does not answer")
		if err := <-sent; err == nil {
			t.Fatal("Send = nil, want an error")
		}
		j.denied("the task has ended")
		head, err := h.store.Head(t.Context(), alice.Principal.Owner(), a2a.TaskID(j.d.Task))
		if err != nil || head.State != task.Failed {
			t.Errorf("Head = %v, %v, want a failed task", head.State, err)
		}
	})
}

// TestChosenIDsAreNotEarly: a task with an id chosen by its caller may exist already, and its
// work would belong to another task.
func TestChosenIDsAreNotEarly(t *testing.T) {
	onBlockingStore(t, false, func(t *testing.T, d *blockingStore, h *hub) {
		p := h.startManualWorker()
		r := returnImmediately(reply("chosen", "hello"))
		r.NewIDs = true
		sent := make(chan error, 1)
		go func() {
			_, err := h.Send(t.Context(), alice, r)
			sent <- err
		}()
		synctest.Wait()
		if n := len(p.work); n != 0 {
			t.Errorf("%d envelopes are in the queue before the task is stored", n)
		}
		d.outcome <- nil
		if err := <-sent; err != nil {
			t.Fatal(err)
		}
		p.take().granted(true).report(1, completed)
		h.wait("chosen", task.Completed)
	})
}
