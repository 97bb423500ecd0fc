package queue_test

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/parley-a2a/parley/internal/agents/queue"
	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/bus/protocol"
	"github.com/parley-a2a/parley/task"
)

// startManual returns a hub and a manualWorker.
func startManual(t *testing.T) (*hub, *manualWorker) {
	t.Helper()
	h := startHub(t, nil)
	return h, h.startManualWorker()
}

// TestReportsInAnyOrder sends reports twice, overlapping, and out of order.
func TestReportsInAnyOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, p := startManual(t)
		id := h.send(returnImmediately(newSend("hi"))).Head.ID
		j := p.take().granted(false)
		j.report(3, word("c"))
		p.requested(1)
		j.report(1, word("a"))
		p.receives(protocol.TypeConfirm, 1)
		j.report(1, word("a"), word("b"))
		p.receives(protocol.TypeConfirm, 2)
		j.report(1, word("a"), word("b"))
		p.receives(protocol.TypeConfirm, 2)
		j.report(2, word("b"), word("c"), word("d"), completed)
		if e := p.receives(protocol.TypeConfirm, 5); !strings.Contains(string(e.Body), `"final":true`) {
			t.Errorf("the last confirmation is %s", e.Body)
		}
		if got := strings.Join(h.chunks(id), ""); got != "abcd" {
			t.Errorf("the answer is %q", got)
		}
		// The confirmation was lost: the hub repeats it from the log, and nothing happens
		// twice.
		j.report(5, completed)
		p.receives(protocol.TypeConfirm, 5)
		j.report(4, word("d"))
		p.receives(protocol.TypeDeny, 0)
		if d, err := h.bus.Depth(t.Context(), protocol.ReportAt("h")); err != nil || d.Ready+d.Held != 0 {
			t.Errorf("reports are left: %+v, %v", d, err)
		}
	})
}

// TestDoubleWork delivers work twice, to two workers: one gets the job.
func TestDoubleWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, p := startManual(t)
		id := h.send(returnImmediately(newSend("hi"))).Head.ID
		j := p.take()
		// It is not acknowledged in time, so it is redelivered.
		q := h.startManualWorker()
		again := *j
		again.manualWorker, again.nonce = q, uuid.NewString()
		j.granted(false)
		if e := again.claim(false); e.Type != protocol.TypeDeny || !strings.Contains(string(e.Body), "has it") {
			t.Errorf("the second claim is answered with %s %s", e.Type, e.Body)
		}
		// The grant was lost: the worker repeats the claim, and the hub the same grant.
		token := j.token
		j.granted(false)
		if j.token != token || j.epoch != 1 {
			t.Errorf("the grant is another one: epoch %d", j.epoch)
		}
		// Another delivery to the same worker is another claim.
		nonce := j.nonce
		j.nonce = uuid.NewString()
		if e := j.claim(false); e.Type != protocol.TypeDeny {
			t.Errorf("another claim is answered with %s %s", e.Type, e.Body)
		}
		j.nonce = nonce
		j.report(1, completed)
		p.receives(protocol.TypeConfirm, 1)
		h.wait(id, task.Completed)
		if e := again.claim(false); e.Type != protocol.TypeDeny || !strings.Contains(string(e.Body), "has ended") {
			t.Errorf("a late claim is answered with %s %s", e.Type, e.Body)
		}
	})
}

// TestGrantIsLostWithTheHub claims, and restarts the hub before the worker has received the
// answer.
func TestGrantIsLostWithTheHub(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, p := startManual(t)
		id := h.send(returnImmediately(newSend("hi"))).Head.ID
		j := p.take().granted(false)
		h.restart()
		p.requested(1)
		token := j.token
		j.granted(false)
		if j.epoch != 1 || j.token == token {
			t.Errorf("epoch %d, the token is the same: %t", j.epoch, j.token == token)
		}
		j.report(1, completed)
		p.receives(protocol.TypeConfirm, 1)
		h.wait(id, task.Completed)
	})
}

// TestLostWorkersAreReported: Dispatcher.Lost is called for a worker whose lease has ended.
func TestLostWorkersAreReported(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		lost := make(chan string, 1)
		h := startHub(t, func(d *queue.Dispatcher) {
			d.Lost = func(name task.Agent, worker string) { lost <- string(name) + " " + worker }
		})
		p := h.startManualWorker()
		id := h.send(returnImmediately(newSend("hi"))).Head.ID
		p.take().granted(false)
		began := time.Now()
		if got := <-lost; got != "far "+p.id || time.Since(began) != protocol.Lease {
			t.Errorf("after %v lost is %s, want %s", time.Since(began), got, p.id)
		}
		h.wait(id, task.Failed)
	})
}

// TestClaimsAreReported: Dispatcher.Claimed is called for each claim that was granted.
func TestClaimsAreReported(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var claims []queue.Claim
		h := startHub(t, func(d *queue.Dispatcher) {
			d.Claimed = func(c queue.Claim) { claims = append(claims, c) }
		})
		p := h.startManualWorker()
		sent := h.send(returnImmediately(newSend("hi"))).Head
		id := sent.ID
		j := p.take().granted(false)
		j.report(1, completed)
		h.wait(id, task.Completed)
		want := []queue.Claim{{Owner: claims[0].Owner, Task: id, Context: sent.ContextID, Agent: "far", Worker: p.id, Epoch: 1}}
		if diff := cmp.Diff(want, claims); diff != "" || claims[0].Owner == "" || sent.ContextID == "" {
			t.Errorf("claims (-want +got):\n%s", diff)
		}
	})
}

// TestLostWorker lets a lease end.
func TestLostWorker(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		idempotent bool
		events     []string
		again      bool
		want       string
	}{
		"at most once":      {false, nil, false, "its effects are unknown"},
		"idempotent":        {true, nil, true, ""},
		"nothing new":       {true, []string{isWorking}, true, ""},
		"disclosed":         {true, []string{word("a")}, false, "its effects are unknown"},
		"waits for someone": {true, []string{needsAuth}, false, "its effects are unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h, p := startManual(t)
				id := h.send(returnImmediately(newSend("hi"))).Head.ID
				began := time.Now()
				j := p.take().granted(tt.idempotent)
				for i, ev := range tt.events {
					j.report(int64(i+1), ev)
					p.receives(protocol.TypeConfirm, int64(i+1))
				}
				for range 4 {
					time.Sleep(20 * time.Second)
					synctest.Wait()
					j.beat()
				}
				if tt.again {
					next := p.take() // once the lease has ended
					p.receives(protocol.TypeDeny, 0)
					if next.work.Delivery != 2 || next.work.Attempt != 2 || time.Since(began) != 110*time.Second {
						t.Errorf("after %v it is delivery %d, attempt %d", time.Since(began), next.work.Delivery, next.work.Attempt)
					}
					next.granted(true)
					// The first one wakes.
					j.beat()
					if e := p.receives(protocol.TypeDeny, 0); e.Epoch != 1 {
						t.Errorf("the stop is for epoch %d", e.Epoch)
					}
					j.report(1, word("zombie"), completed)
					p.receives(protocol.TypeDeny, 0)
					next.report(1, word("b"), completed)
					p.receives(protocol.TypeConfirm, 2)
					if got := strings.Join(h.chunks(id), ""); got != "b" || next.epoch != 2 {
						t.Errorf("the answer of epoch %d is %q", next.epoch, got)
					}
					return
				}
				a := h.wait(id, task.Failed)
				if got := describe(a); !strings.Contains(got, tt.want) || !strings.Contains(got, "worker "+j.id) || time.Since(began) != 110*time.Second {
					t.Errorf("after %v the task is %s", time.Since(began), got)
				}
				p.receives(protocol.TypeDeny, 0)
			})
		})
	}
}

// TestThreeWorkersAtMost loses one worker after the other.
func TestThreeWorkersAtMost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, p := startManual(t)
		id := h.send(returnImmediately(newSend("hi"))).Head.ID
		for n := range 3 {
			if j := p.take().granted(true); j.work.Attempt != n+1 {
				t.Errorf("attempt %d, want %d", j.work.Attempt, n+1)
			}
			time.Sleep(30 * time.Second)
			synctest.Wait()
			p.receives(protocol.TypeDeny, 0)
		}
		if got := describe(h.wait(id, task.Failed)); !strings.Contains(got, "the limit is 3 attempts") {
			t.Errorf("the task is %s", got)
		}
	})
}

// TestLeaseBeginsAnew restarts the hub just before the lease ends.
func TestLeaseBeginsAnew(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, p := startManual(t)
		id := h.send(returnImmediately(newSend("hi"))).Head.ID
		j := p.take().granted(false)
		time.Sleep(29 * time.Second)
		synctest.Wait()
		h.restart()
		p.requested(1)
		time.Sleep(29 * time.Second)
		synctest.Wait()
		j.report(1, completed)
		p.receives(protocol.TypeConfirm, 1)
		h.wait(id, task.Completed)
	})
}

// flakyConnection is a bus that reports a connection state chosen by the test.
type flakyConnection struct {
	bus.Bus
	mu sync.Mutex
	c  bus.Connection
}

func (c *flakyConnection) Connection() bus.Connection {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.c
}

func (c *flakyConnection) set(up bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.c = bus.Connection{Up: up, Since: time.Now()}
}

// TestBrokerIsAway: a disconnected hub does not count a worker as lost. After the reconnection
// the worker has one lease, and no more.
func TestBrokerIsAway(t *testing.T) {
	t.Parallel()
	for name, back := range map[string]bool{"the worker is back": true, "the worker is not back": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				line := new(flakyConnection)
				line.set(true)
				h := startHub(t, func(d *queue.Dispatcher) { line.Bus, d.Bus = d.Bus, line })
				p := h.startManualWorker()
				id := h.send(returnImmediately(newSend("hi"))).Head.ID
				j := p.take().granted(false)
				time.Sleep(10 * time.Second)
				synctest.Wait()
				line.set(false)
				time.Sleep(5 * time.Minute)
				synctest.Wait()
				line.set(true)
				time.Sleep(protocol.Lease - time.Second)
				synctest.Wait()
				began := time.Now()
				if back {
					j.report(1, completed)
					p.receives(protocol.TypeConfirm, 1)
					h.wait(id, task.Completed)
					return
				}
				h.wait(id, task.Failed)
				if d := time.Since(began); d != time.Second {
					t.Errorf("the worker is missed after %v, want 1s", d)
				}
			})
		})
	}
}

// TestForgedToken wants a worker without the token to change nothing, and to be unable to stop
// the worker that has it.
func TestForgedToken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, p := startManual(t)
		id := h.send(returnImmediately(newSend("hi"))).Head.ID
		j := p.take().granted(false)
		forged := *j
		forged.token = "guess"
		forged.report(1, completed)
		forged.beat()
		p.silence()
		q := h.startManualWorker()
		forged.manualWorker = q
		forged.report(1, completed)
		q.receives(protocol.TypeDeny, 0)
		time.Sleep(29 * time.Second)
		synctest.Wait()
		forged.beat() // does not keep the lease
		time.Sleep(time.Second)
		synctest.Wait()
		if got := describe(h.wait(id, task.Failed)); !strings.Contains(got, j.id) {
			t.Errorf("the task is %s", got)
		}
	})
}

// TestQuestions covers the states in which a job ends and the task does not.
func TestQuestions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, p := startManual(t)
		id := h.send(returnImmediately(newSend("hi"))).Head.ID
		first := p.take().granted(false)
		first.report(1, needsAuth)
		p.receives(protocol.TypeConfirm, 1)
		h.send(returnImmediately(reply(id, "well?")))
		if e := p.receives(protocol.TypeConfirm, 0); !strings.Contains(string(e.Body), `"messageWaiting":true`) {
			t.Errorf("the hub sends %s, want that a message waits", e.Body)
		}
		first.send(bus.Queue(first.work.Reports), protocol.TypeReport, 2, &protocol.Report{Token: first.token, Worker: p.id, Ended: true})
		if e := p.receives(protocol.TypeConfirm, 2); !strings.Contains(string(e.Body), `"final":true`) {
			t.Errorf("the confirmation is %s", e.Body)
		}
		second := p.take().granted(false)
		if second.work.Delivery != 2 || second.epoch != 2 || second.work.Attempt != 1 {
			t.Errorf("delivery %d, epoch %d, attempt %d", second.work.Delivery, second.epoch, second.work.Attempt)
		}
		second.report(1, asks)
		p.receives(protocol.TypeConfirm, 1)
		// The confirmation is lost, and no run of the hub waits for the report.
		second.report(1, asks)
		p.receives(protocol.TypeConfirm, 1)
		h.send(returnImmediately(reply(id, "go on")))
		third := p.take()
		var stored struct{ History []any }
		if err := json.Unmarshal(third.work.Stored, &stored); err != nil || len(stored.History) == 0 {
			t.Errorf("the stored task is %s: %v", third.work.Stored, err)
		}
		// Old work is claimed in vain.
		if e := second.claim(false); e.Type != protocol.TypeDeny {
			t.Errorf("old work is answered with %s %s", e.Type, e.Body)
		}
		third.granted(false).report(1, `{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"bare"}]}}`)
		p.receives(protocol.TypeConfirm, 1)
		a := h.wait(id, task.Completed)
		if got := strings.Join(h.chunks(id), ""); got != "bare" {
			t.Errorf("the task is %s, the answer %q", describe(a), got)
		}
	})
}

// TestHowARunEnds reports ends that are no events.
func TestHowARunEnds(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		rep        protocol.Report
		idempotent bool
		want       string
	}{
		"public error":      {protocol.Report{Error: "no dictionary", Public: true}, false, "TASK_STATE_FAILED no dictionary"},
		"error":             {protocol.Report{Error: "secret"}, false, `TASK_STATE_FAILED agent "far" failed (reference`},
		"given back":        {protocol.Report{GivenBack: true}, false, "TASK_STATE_FAILED worker "},
		"ended too early":   {protocol.Report{Ended: true}, false, "TASK_STATE_FAILED agent ended without a final state"},
		"not an event":      {protocol.Report{Events: []json.RawMessage{json.RawMessage(`{"x":1}`)}}, false, `TASK_STATE_FAILED agent "far" has sent an event that cannot be read: not an event`},
		"an illegal event":  {protocol.Report{Events: []json.RawMessage{json.RawMessage(`{"statusUpdate":{"status":{"state":"DONE"}}}`)}}, false, `TASK_STATE_FAILED agent "far" has sent an event that cannot be read: state: is not the state of a task`},
		"given back for so": {protocol.Report{GivenBack: true}, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h, p := startManual(t)
				id := h.send(returnImmediately(newSend("hi"))).Head.ID
				j := p.take().granted(tt.idempotent)
				tt.rep.Token, tt.rep.Worker = j.token, p.id
				j.send(bus.Queue(j.work.Reports), protocol.TypeReport, 1, &tt.rep)
				if tt.want == "" {
					if next := p.take(); next.work.Delivery != 2 {
						t.Errorf("delivery %d", next.work.Delivery)
					}
					return
				}
				if got := describe(h.wait(id, task.Failed)); !strings.HasPrefix(got, tt.want) {
					t.Errorf("the task is %s, want %s", got, tt.want)
				}
			})
		})
	}
}

// TestUndeliverable passes the hub envelopes from Dead.
func TestUndeliverable(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, p := startManual(t)
		id := h.send(returnImmediately(newSend("hi"))).Head.ID
		j := p.take()
		if err := j.d.DeadLetter(t.Context(), "it is poison"); err != nil {
			t.Fatal(err)
		}
		for d, err := range h.bus.Receive(t.Context(), bus.Subscription{At: bus.Dead}) {
			if err == nil {
				err = h.dispatcher.Undeliverable(t.Context(), d.Envelope)
			}
			if err != nil {
				t.Errorf("Undeliverable(%s) = %v", d.Type, err)
			}
			break
		}
		if got := describe(h.wait(id, task.Failed)); got != `TASK_STATE_FAILED no worker of agent "far" could take the message: it is poison` {
			t.Errorf("the task is %s", got)
		}
	})
}

// TestUndeliverableAtStart passes such an envelope to a hub that has not resumed the task yet.
// The hub must return an error; otherwise the task waits for a worker that will never get the
// work.
func TestUndeliverableAtStart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, p := startManual(t)
		id := h.send(returnImmediately(newSend("hi"))).Head.ID
		j := p.take()
		synctest.Wait()
		h.stop()
		e := *j.d.Envelope
		e.Reason = "it is poison"
		if err := h.dispatcher.Undeliverable(t.Context(), &e); err == nil {
			t.Error("Undeliverable = nil for a task whose run has not started")
		}
		h.start()
		synctest.Wait()
		if err := h.dispatcher.Undeliverable(t.Context(), &e); err != nil {
			t.Errorf("Undeliverable = %v after the start", err)
		}
		h.wait(id, task.Failed)
		if err := h.dispatcher.Undeliverable(t.Context(), &e); err != nil {
			t.Errorf("Undeliverable = %v after the end of the task", err)
		}
	})
}

// TestBadEnvelopes wants invalid reports to go to Dead, and to change nothing.
func TestBadEnvelopes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, p := startManual(t)
		id := h.send(returnImmediately(newSend("hi"))).Head.ID
		j := p.take().granted(false)
		reports := bus.Queue(j.work.Reports)
		j.send(reports, "job.unknown", 1, &protocol.Report{Token: j.token, Worker: p.id})
		j.send(reports, protocol.TypeReport, 1, []int{1})
		j.send(reports, protocol.TypeReport, 1, &protocol.Report{Token: j.token, Worker: "not a word"})
		j.send(bus.Topic(j.d.ReplyTo), protocol.TypeClaim, 1, "x")
		j.send(bus.Topic(j.d.ReplyTo), protocol.TypeHeartbeat, 1, "x")
		j.send(bus.Topic(j.d.ReplyTo), "job.unknown", 1, "x")
		e := &bus.Envelope{ID: "x", Type: protocol.TypeReport, Source: "worker/x", Destination: "hub/other", Body: json.RawMessage(`{}`)}
		if err := p.bus.Publish(t.Context(), reports, e); err != nil {
			t.Fatal(err)
		}
		p.silence()
		if d, err := h.bus.Depth(t.Context(), bus.Dead); err != nil || d.Ready != 4 {
			t.Errorf("%d envelopes are dead, want 4", d.Ready)
		}
		j.report(1, completed)
		p.receives(protocol.TypeConfirm, 1)
		h.wait(id, task.Completed)
	})
}

// TestGrantIsForgotten has a worker continue with a grant that was lost in a crash of the hub,
// which is possible for idempotent agents: the work comes again, with a higher epoch.
func TestGrantIsForgotten(t *testing.T) {
	t.Parallel()
	for name, goOn := range map[string]func(*manualJob){
		"the worker reports": func(j *manualJob) { j.report(1, word("a"), completed) },
		"the worker beats":   (*manualJob).beat,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h, p := startManual(t)
				id := h.send(returnImmediately(newSend("hi"))).Head.ID
				j := p.take()
				if err := j.d.Ack(t.Context()); err != nil {
					t.Fatal(err)
				}
				j.epoch, j.token = 1, "of a hub that is gone"
				goOn(j)
				p.receives(protocol.TypeDeny, 0)
				again := p.take().granted(true)
				if again.work.Delivery != 2 || again.epoch != 2 {
					t.Errorf("the work is delivery %d, its epoch %d", again.work.Delivery, again.epoch)
				}
				goOn(j)
				p.receives(protocol.TypeDeny, 0)
				again.report(1, word("b"), completed)
				p.receives(protocol.TypeConfirm, 2)
				h.wait(id, task.Completed)
				if got := strings.Join(h.chunks(id), ""); got != "b" {
					t.Errorf("the answer is %q", got)
				}
			})
		})
	}
}

// TestThreeLostGrantsAtMost: a grant that is lost with its hub is a try, too.
func TestThreeLostGrantsAtMost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, p := startManual(t)
		id := h.send(returnImmediately(newSend("hi"))).Head.ID
		for n := range 3 {
			j := p.take()
			if j.work.Attempt != n+1 {
				t.Errorf("attempt %d, want %d", j.work.Attempt, n+1)
			}
			if err := j.d.Ack(t.Context()); err != nil {
				t.Fatal(err)
			}
			j.epoch, j.token = int64(n+1), "of a hub that is gone"
			j.beat()
			p.receives(protocol.TypeDeny, 0)
		}
		if got := describe(h.wait(id, task.Failed)); !strings.Contains(got, "the limit is 3 attempts") {
			t.Errorf("the task is %s", got)
		}
	})
}

// TestReportsAtTheTopic sends reports over the topic of the hub, which keeps none.
func TestReportsAtTheTopic(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, p := startManual(t)
		id := h.send(returnImmediately(newSend("hi"))).Head.ID
		j := p.take().granted(true)
		j.work.Reports = ""
		at := bus.Topic(j.d.ReplyTo)
		send := func(seq int64, events ...string) {
			rep := &protocol.Report{Token: j.token, Worker: j.id}
			for _, ev := range events {
				rep.Events = append(rep.Events, json.RawMessage(ev))
			}
			j.send(at, protocol.TypeReport, seq, rep)
		}
		send(2, word("b"))
		p.requested(1)
		send(1, word("a"), word("b"))
		p.receives(protocol.TypeConfirm, 2)
		send(3, completed)
		p.receives(protocol.TypeConfirm, 3)
		h.wait(id, task.Completed)
		if got := strings.Join(h.chunks(id), ""); got != "ab" {
			t.Errorf("the answer is %q", got)
		}
	})
}
