package queue_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/agents/queue"
	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/bus/protocol"
	"github.com/parley-a2a/parley/internal/delegation"
	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/task"
	"github.com/parley-a2a/parley/worker"
)

// TestExecutorContext checks the arguments of the worker's executor.
func TestExecutorContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := startHub(t, nil)
		var seen []bool
		h.startWorker(agent.Func(func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
			c, p := agent.CallFrom(ctx), auth.PrincipalFrom(ctx)
			_, delegated := agent.CallFrom(ctx).Delegate(ctx, &agent.Delegation{Agent: "x", Message: ec.Message})
			onward, err := agent.CallFrom(ctx).OutgoingDelegation(ctx)
			seen = append(seen,
				c.Key == string(ec.TaskID)+"/1", c.Attempt == 1, c.Agent == "far", c.Skill == "far", string(c.Metadata) == `{"n":1.0}`,
				ec.Metadata["n"] == 1.0, ec.StoredTask == nil, ec.User.Name == "alice", p.ID == "alice", ec.ContextID != "",
				errors.Is(delegated, agent.ErrNoDelegation), err == nil && len(onward.Chain) == 1 && onward.Hops == 7,
				strings.Contains(string(c.Message), `"messageId":"m-hi"`), agent.Text(ec.Message) == "hi",
				slices.Equal(c.AcceptedOutputModes, []string{"text/plain", "image/*"}),
			)
			yield(status(ec, a2a.TaskStateCompleted, ""), nil)
		}), nil)
		r := newSend("hi")
		r.Message.Skill, r.Metadata = "far", []byte(`{"n":1.0}`)
		r.AcceptedOutputModes = []string{"text/plain", "image/*"}
		h.send(r)
		for i, ok := range seen {
			if !ok {
				t.Errorf("number %d is not as it should be", i)
			}
		}
		if len(seen) != 15 {
			t.Errorf("%d things were seen", len(seen))
		}
	})
}

// TestManyAcceptedModes checks that a caller that accepts very many media types is served, and
// that its worker receives the first of them.
func TestManyAcceptedModes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := startHub(t, nil)
		var got []string
		h.startWorker(agent.Func(func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
			got = agent.CallFrom(ctx).AcceptedOutputModes
			yield(status(ec, a2a.TaskStateCompleted, ""), nil)
		}), nil)
		r := newSend("hi")
		for i := range 1 << 18 {
			r.AcceptedOutputModes = append(r.AcceptedOutputModes, fmt.Sprint("text/x", i))
		}
		if a := h.send(r); a.Head.State != task.Completed {
			t.Errorf("the task is %v, want it completed", a.Head.State)
		}
		if n := len(got); n < 100 || n > 2000 || !slices.Equal(got, r.AcceptedOutputModes[:n]) {
			t.Errorf("the worker has received %d media types", n)
		}
	})
}

// TestHowWorkersEndRuns runs executors that end in all ways.
func TestHowWorkersEndRuns(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		run  agent.Func
		want string
	}{
		"bare message": {func(_ context.Context, _ *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
			yield(a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart("bare")), nil)
		}, "TASK_STATE_COMPLETED"},
		"nothing": {
			func(context.Context, *a2asrv.ExecutorContext, func(a2a.Event, error) bool) {},
			"TASK_STATE_FAILED agent ended without a final state",
		},
		"error": {func(_ context.Context, _ *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
			yield(nil, errors.New("secret"))
		}, `TASK_STATE_FAILED agent "far" failed (reference `},
		"public error": {func(_ context.Context, _ *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
			yield(nil, a2a.NewError(a2a.ErrInternalError, "out of ink"))
		}, "TASK_STATE_FAILED out of ink"},
		"panic": {
			func(context.Context, *a2asrv.ExecutorContext, func(a2a.Event, error) bool) { panic("ouch") },
			`TASK_STATE_FAILED agent "far" failed (reference `,
		},
		"large event": {func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
			if yield(status(ec, a2a.TaskStateWorking, strings.Repeat("x", bus.MaxEnvelope)), nil) {
				yield(status(ec, a2a.TaskStateCompleted, "late"), nil)
			}
		}, "TASK_STATE_COMPLETED late"},
		"too large": {func(_ context.Context, _ *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
			yield(nil, a2a.NewError(a2a.ErrInternalError, strings.Repeat("x", bus.MaxEnvelope)))
		}, "TASK_STATE_FAILED the agent has sent an event that the bus does not accept: envelope is too large"},
		"not JSON": {func(_ context.Context, _ *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
			yield(&agent.Raw{JSON: []byte("{")}, nil)
		}, "TASK_STATE_FAILED the agent has sent an event that the bus does not accept: not valid on the bus"},
		"a task": {func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
			yield(a2a.NewSubmittedTask(ec, ec.Message), nil)
			done := a2a.NewSubmittedTask(ec, ec.Message)
			done.Status = a2a.TaskStatus{State: a2a.TaskStateRejected}
			yield(done, nil)
		}, "TASK_STATE_REJECTED"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := startHub(t, nil)
			h.startWorker(tt.run, nil)
			a := h.send(newSend("hi"))
			if got := describe(a); !strings.HasPrefix(got, tt.want) {
				t.Errorf("the task is %s, want %s", got, tt.want)
			}
			if name == "bare message" {
				if diff := cmp.Diff([]string{"bare"}, h.chunks(a.Head.ID)); diff != "" {
					t.Errorf("chunks (-want +got):\n%s", diff)
				}
			}
		})
	}
}

// TestFlushWaitsForTheHub wants Flush to return when the hub has confirmed.
func TestFlushWaitsForTheHub(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := startHub(t, nil)
		flushed := make(chan time.Duration, 1)
		began := make(chan struct{})
		h.startWorker(agent.Func(func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
			close(began)
			at := time.Now()
			time.Sleep(time.Second)
			yield(status(ec, a2a.TaskStateWorking, "half"), nil)
			if err := agent.CallFrom(ctx).Flush(ctx); err != nil {
				t.Errorf("Flush = %v", err)
			}
			flushed <- time.Since(at)
			yield(status(ec, a2a.TaskStateCompleted, ""), nil)
		}), nil)
		id := h.send(returnImmediately(newSend("hi"))).Head.ID
		<-began
		h.stop()
		time.Sleep(time.Minute)
		synctest.Wait()
		h.start()
		h.wait(id, task.Completed)
		if d := <-flushed; d < time.Minute || d > 70*time.Second {
			t.Errorf("Flush returned after %v", d)
		}
	})
}

// TestRunWaitsForPermission keeps a run alive after AUTH_REQUIRED, until a message comes.
func TestRunWaitsForPermission(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := startHub(t, nil)
		h.startWorker(agent.Func(func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
			if ec.StoredTask != nil {
				yield(status(ec, a2a.TaskStateCompleted, "hears "+agent.Text(ec.Message)), nil)
				return
			}
			yield(status(ec, a2a.TaskStateAuthRequired, "sign here"), nil)
			select {
			case <-agent.CallFrom(ctx).MessageWaiting():
			case <-ctx.Done():
				t.Error("the run was ended")
			}
		}), nil)
		id := h.send(returnImmediately(newSend("hi"))).Head.ID
		h.wait(id, task.AuthRequired)
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		h.send(returnImmediately(reply(id, "no")))
		if got := describe(h.wait(id, task.Completed)); got != "TASK_STATE_COMPLETED hears no" {
			t.Errorf("the task is %s", got)
		}
	})
}

// TestSkills dispatches to handlers.
func TestSkills(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := startHub(t, nil)
		var received *protocol.Announce
		named := func(name string) worker.Skill {
			s := worker.Skill{Handler: agent.Func(func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
				if name != "idle" {
					yield(status(ec, a2a.TaskStateCompleted, name), nil)
				}
			})}
			s.ID = name
			return s
		}
		received = h.announced(func() {
			h.startWorker(nil, func(w *worker.Worker) {
				w.Skills = []worker.Skill{named("Sing"), named("dance"), named("idle")}
				w.Card = &a2a.AgentCard{Name: "Far Away", Skills: []a2a.AgentSkill{{ID: "sing", Name: "Singing", Description: "sings"}}}
			})
		})
		for _, want := range []string{`"id":"sing","name":"Singing"`, `"id":"dance"`, `"id":"idle"`} {
			if !strings.Contains(string(received.Card), want) {
				t.Errorf("the card %s has no %s", received.Card, want)
			}
		}
		for skill, want := range map[string]string{
			"SING": "TASK_STATE_COMPLETED Sing", "dance": "TASK_STATE_COMPLETED dance",
			"idle": `TASK_STATE_FAILED the handler of skill "idle" returned no result and no error`,
			"cook": `TASK_STATE_FAILED there is no skill "cook" here: Sing, dance, idle`,
			"":     "TASK_STATE_FAILED name a skill: Sing, dance, idle",
		} {
			r := newSend("hi")
			r.Message.Skill, r.Target.Agent = skill, "far"
			if got := describe(h.send(r)); got != want {
				t.Errorf("skill %q: %s, want %s", skill, got, want)
			}
		}
	})
}

// announced returns the first announcement while f runs.
func (h *hub) announced(f func()) *protocol.Announce {
	h.t.Helper()
	ctx, stop := context.WithCancel(h.t.Context())
	defer stop()
	received, listening := make(chan *protocol.Announce, 1), make(chan struct{})
	go func() {
		for d, err := range h.bus.Receive(ctx, bus.Subscription{At: protocol.Discovery, Ready: func() { close(listening) }}) {
			a := new(protocol.Announce)
			if err == nil && d.Type == protocol.TypeAnnounce && json.Unmarshal(d.Body, a) == nil {
				received <- a
				return
			}
		}
	}()
	<-listening
	f()
	return <-received
}

// TestOnce performs one task, and then none.
func TestOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := startHub(t, nil)
		id := h.send(returnImmediately(newSend("one"))).Head.ID
		synctest.Wait()
		other := h.send(returnImmediately(newSend("two"))).Head.ID
		began := time.Now()
		first := h.startWorker(echo, func(w *worker.Worker) { w.Once = true })
		if err := <-first.done; err != nil || time.Since(began) > time.Second {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		if h.get(id).Head.State != task.Completed || h.get(other).Head.State != task.Submitted {
			t.Errorf("the tasks are %s and %s", describe(h.get(id)), describe(h.get(other)))
		}
		second := h.startWorker(echo, func(w *worker.Worker) { w.Once = true })
		<-second.done
		if h.get(other).Head.State != task.Completed {
			t.Errorf("the other task is %s", describe(h.get(other)))
		}
		began = time.Now()
		third := h.startWorker(echo, func(w *worker.Worker) { w.Once = true })
		if err := <-third.done; err != nil || time.Since(began) != 30*time.Second {
			t.Errorf("without work it ended after %v: %v", time.Since(began), err)
		}
	})
}

// TestDrain stops a worker in the middle of a task.
func TestDrain(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		traits agent.Traits
		takes  time.Duration
		want   string
		ended  time.Duration
	}{
		"in time":    {agent.Traits{}, 5 * time.Second, "TASK_STATE_COMPLETED first", 4 * time.Second},
		"given back": {agent.Traits{AfterCrash: agent.Repeat}, time.Hour, "TASK_STATE_COMPLETED second", 10 * time.Second},
		"given up":   {agent.Traits{}, time.Hour, "TASK_STATE_FAILED worker ", 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h := startHub(t, nil)
				by := func(name string, takes time.Duration) a2asrv.AgentExecutor {
					return agent.With(agent.Func(func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
						select {
						case <-time.After(takes):
							yield(status(ec, a2a.TaskStateCompleted, name), nil)
						case <-ctx.Done():
						}
					}), tt.traits)
				}
				first := h.startWorker(by("first", tt.takes), func(w *worker.Worker) { w.DrainTimeout = 10 * time.Second })
				id := h.send(returnImmediately(newSend("hi"))).Head.ID
				h.wait(id, task.Working)
				time.Sleep(time.Second)
				synctest.Wait()
				began := time.Now()
				first.end()
				waiting := h.send(returnImmediately(newSend("wait"))).Head.ID // no worker claims it
				if err := <-first.done; err != nil || time.Since(began) != tt.ended {
					t.Errorf("it ended after %v: %v", time.Since(began), err)
				}
				h.startWorker(by("second", time.Second), nil)
				time.Sleep(10 * time.Second)
				synctest.Wait()
				if got := describe(h.get(id)); !strings.HasPrefix(got, tt.want) {
					t.Errorf("the task is %s, want %s", got, tt.want)
				}
				if got := describe(h.get(waiting)); got != "TASK_STATE_COMPLETED second" {
					t.Errorf("the other task is %s", got)
				}
			})
		})
	}
}

// TestKilledWorker cuts a worker off permanently.
func TestKilledWorker(t *testing.T) {
	t.Parallel()
	for after, idempotent := range map[agent.AfterCrash]bool{agent.Repeat: true, agent.Fail: false} {
		t.Run(after.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h := startHub(t, nil)
				cut := &wire{Bus: h.bus.Peer()}
				traits := agent.Traits{AfterCrash: after}
				first := h.startWorker(agent.With(counting(nil), traits), func(w *worker.Worker) { w.Bus = cut })
				id := h.send(returnImmediately(newSend("hi"))).Head.ID
				h.wait(id, task.Working)
				synctest.Wait()
				cut.down.Store(true)
				first.end()
				<-first.done
				began := time.Now()
				h.startWorker(agent.With(echo, traits), nil)
				want, state := "TASK_STATE_COMPLETED hi", task.Completed
				if !idempotent {
					want, state = "TASK_STATE_FAILED worker ", task.Failed
				}
				if got := describe(h.wait(id, state)); !strings.HasPrefix(got, want) || time.Since(began) > protocol.Lease {
					t.Errorf("after %v the task is %s, want %s", time.Since(began), got, want)
				}
			})
		})
	}
}

// TestZombie lets a worker sleep through its lease, and wake.
func TestZombie(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := startHub(t, nil)
		cut, wakes, turn := &wire{Bus: h.bus.Peer()}, make(chan struct{}), make(chan struct{})
		stopped := make(chan error, 1)
		sleeper := agent.With(agent.Func(func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
			<-wakes
			yield(status(ec, a2a.TaskStateWorking, "still here"), nil)
			<-ctx.Done()
			stopped <- context.Cause(ctx)
		}), agent.Traits{AfterCrash: agent.Repeat})
		h.startWorker(sleeper, func(w *worker.Worker) { w.Bus, w.Concurrency = cut, 1 })
		id := h.send(returnImmediately(newSend("hi"))).Head.ID
		h.wait(id, task.Working)
		synctest.Wait()
		cut.down.Store(true)
		h.startWorker(agent.With(counting(turn), agent.Traits{AfterCrash: agent.Repeat}), nil)
		time.Sleep(time.Minute)
		synctest.Wait()
		cut.down.Store(false)
		close(wakes)
		if err := <-stopped; !strings.Contains(err.Error(), "was given to another worker") {
			t.Errorf("the zombie ends because of: %v", err)
		}
		turn <- struct{}{}
		h.wait(id, task.Completed)
		if got := strings.Join(h.chunks(id), " "); got != "hi" {
			t.Errorf("the answer is %q", got)
		}
	})
}

// TestBadBus lets one of four envelopes be lost, and all others come twice, while the hub is
// restarted. Hub and workers must repeat each message until it is received.
func TestBadBus(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h := startHub(t, nil)
				dice := rand.New(rand.NewPCG(seed, 1))
				var runs atomic.Int32
				var mu sync.Mutex // guards dice
				bad := &wire{Bus: h.bus.Peer(), twice: true, drop: func(e *bus.Envelope) bool {
					mu.Lock()
					defer mu.Unlock()
					return e.Type != protocol.TypeWork && dice.IntN(4) == 0
				}}
				h.startWorker(agent.Func(func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
					runs.Add(1)
					for ev, err := range echo.Execute(ctx, ec) {
						time.Sleep(time.Second)
						if !yield(ev, err) {
							return
						}
					}
				}), func(w *worker.Worker) { w.Bus = bad })
				text := "a b c d e f g h i j"
				var ids []a2a.TaskID
				for range 5 {
					ids = append(ids, h.send(returnImmediately(newSend(text))).Head.ID)
				}
				mu.Lock()
				after := time.Duration(dice.IntN(12)) * time.Second
				mu.Unlock()
				time.Sleep(after)
				synctest.Wait()
				h.restart()
				for _, id := range ids {
					h.wait(id, task.Completed)
					if got := strings.Join(h.chunks(id), " "); got != text {
						t.Errorf("the answer is %q", got)
					}
				}
				if runs.Load() != 5 {
					t.Errorf("%d runs for 5 tasks", runs.Load())
				}
			})
		})
	}
}

// TestSignatures wants a worker to accept envelopes of the hub that it trusts, and no others.
func TestSignatures(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		signer, ring := newKeys(t)
		h := startHub(t, func(d *queue.Dispatcher) { d.Signer = signer })
		h.startWorker(echo, func(w *worker.Worker) { w.Keys = ring })
		if got := describe(h.send(newSend("signed"))); got != "TASK_STATE_COMPLETED signed" {
			t.Errorf("the task is %s", got)
		}
		h.alter = nil
		h.restart()
		id := h.send(returnImmediately(newSend("unsigned"))).Head.ID
		time.Sleep(time.Minute)
		synctest.Wait()
		if d, err := h.bus.Depth(t.Context(), bus.Dead); err != nil || d.Ready != 1 || h.get(id).Head.State != task.Submitted {
			t.Errorf("%d envelopes are dead; the task is %s", d.Ready, describe(h.get(id)))
		}
	})
}

// TestDeadline ends tasks at the deadline of their errand.
func TestDeadline(t *testing.T) {
	t.Parallel()
	for name, claimed := range map[string]bool{"claimed": true, "unclaimed": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h := startHub(t, nil)
				want := "before a worker of agent"
				if claimed {
					want = "had finished"
					h.startWorker(counting(nil), nil)
				}
				began := time.Now()
				c := *alice
				c.Params = delegation.Store(nil, &delegation.Context{Chain: []string{"caller@x"}, Hops: 3, Budget: 3, Deadline: began.Add(time.Minute)})
				a, err := h.Send(t.Context(), &c, returnImmediately(newSend("hi")))
				if err != nil {
					t.Fatal(err)
				}
				id := a.Head.ID
				time.Sleep(time.Second)
				synctest.Wait()
				h.restart()
				got := describe(h.wait(id, task.Failed))
				if !strings.Contains(got, want) || time.Since(began) != time.Minute {
					t.Errorf("after %v the task is %s", time.Since(began), got)
				}
				time.Sleep(time.Minute)
				synctest.Wait()
			})
		})
	}
}

// TestInvalidWorkers starts workers with invalid settings, which must fail.
func TestInvalidWorkers(t *testing.T) {
	t.Parallel()
	b := new(bus.Memory)
	skill := worker.Skill{Handler: echo, AgentSkill: a2a.AgentSkill{ID: "a"}}
	capital := worker.Skill{Handler: echo, AgentSkill: a2a.AgentSkill{ID: "A"}}
	for want, w := range map[string]*worker.Worker{
		"Bus is required":                {Name: "x", Executor: echo},
		"Executor or Skills is required": {Bus: b, Name: "x"},
		"both Executor and Skills":       {Bus: b, Name: "x", Executor: echo, Skills: []worker.Skill{skill}},
		`Name ""`:                        {Bus: b, Executor: echo},
		`Name "a b"`:                     {Bus: b, Name: "a b", Executor: echo},
		`skill "A" has two handlers`:     {Bus: b, Name: "x", Skills: []worker.Skill{skill, capital}},
		`skill "a" has no Handler`:       {Bus: b, Name: "x", Skills: []worker.Skill{{AgentSkill: skill.AgentSkill}}},
		"number 1 of Skills":             {Bus: b, Name: "x", Skills: []worker.Skill{{Handler: echo}}},
	} {
		if err := w.Run(t.Context()); !errors.Is(err, worker.ErrWorker) || !strings.Contains(err.Error(), want) {
			t.Errorf("Run = %v, want %s", err, want)
		}
	}
	for _, d := range []*queue.Dispatcher{{}, {Bus: b}, {Bus: b, Tasks: new(memstore.Store), ID: "a b"}} {
		if err := d.Run(t.Context()); err == nil {
			t.Errorf("Run of %+v is fine", d)
		}
	}
}

// TestBusIsClosed wants workers and dispatchers to return an error when the bus is closed.
func TestBusIsClosed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := new(bus.Memory)
		w := &worker.Worker{Bus: b, Name: "x", Executor: echo}
		d := &queue.Dispatcher{Bus: b.Peer(), ID: "h", Tasks: new(memstore.Store)}
		errs := make(chan error, 2)
		go func() { errs <- w.Run(t.Context()) }()
		go func() { errs <- d.Run(t.Context()) }()
		synctest.Wait()
		b.Close()
		d.Bus.Close()
		for range 2 {
			if err := <-errs; !errors.Is(err, bus.ErrClosed) {
				t.Errorf("Run = %v", err)
			}
		}
	})
}

// TestConcurrency wants a worker to run no more simultaneous tasks than its limit.
func TestConcurrency(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := startHub(t, nil)
		var at, most atomic.Int32
		h.startWorker(agent.Func(func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
			most.Store(max(most.Load(), at.Add(1)))
			time.Sleep(time.Minute)
			at.Add(-1)
			yield(status(ec, a2a.TaskStateCompleted, ""), nil)
		}), func(w *worker.Worker) { w.Concurrency = 3 })
		var ids []a2a.TaskID
		for range 9 {
			ids = append(ids, h.send(returnImmediately(newSend("hi"))).Head.ID)
		}
		began := time.Now()
		for _, id := range ids {
			h.wait(id, task.Completed)
		}
		if took := time.Since(began); most.Load() != 3 || took != 3*time.Minute {
			t.Errorf("%d at one time, %v in all", most.Load(), took)
		}
	})
}

// TestShortLease has a hub with a shorter lease than the default.
func TestShortLease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := startHub(t, func(d *queue.Dispatcher) { d.Lease = 2 * time.Second })
		h.startWorker(agent.Func(func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
			time.Sleep(20 * time.Second)
			yield(status(ec, a2a.TaskStateCompleted, "slow"), nil)
		}), nil)
		if a := h.send(newSend("hi")); a.Head.State != task.Completed {
			t.Errorf("the task is %s", describe(a))
		}
	})
}
