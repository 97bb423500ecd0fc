package cluster

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/bus/natsbus"
	"github.com/parley-a2a/parley/internal/testing/hubtest"
	"github.com/parley-a2a/parley/task"
	remote "github.com/parley-a2a/parley/worker"
)

// mostAtMedian is the time after which the holder of a task would know a message by the look of each
// second, without a hint.
const mostAtMedian = 400 * time.Millisecond

// A message to a running task, an answer and a cancel request at another hub than that of the run reach
// it by hints. The design wants 100 ms at the median; a busy machine fails less here than lost hints.
//
// PARLEY_REACHES is the number of requests of each kind.
func TestReachHolder(t *testing.T) {
	t.Parallel()
	s := startSystem(t, onNATS(t))
	a, b := &member{s.nodes[0].Hub, t, "a"}, &member{s.nodes[1].Hub, t, "b"}
	reached := s.listen("later")
	rounds := setting(t, "PARLEY_REACHES", 11)
	for kind, once := range map[string]func(i int) time.Duration{
		"message": func(i int) time.Duration {
			id := a.send("later", message{text: fmt.Sprint("work ", i)}).ID
			<-reached // the run has begun
			began := time.Now()
			b.send("later", message{text: fmt.Sprint("more ", i), task: id})
			return (<-reached).Sub(began)
		},
		"answer": func(int) time.Duration {
			asked := a.send("interview", message{text: "begin", waits: true})
			began := time.Now()
			b.send("interview", message{text: "yes", task: asked.ID, waits: true})
			return time.Since(began)
		},
		"cancel": func(i int) time.Duration {
			id := a.send("slow", message{text: fmt.Sprint(600 + i)}).ID
			began := time.Now()
			b.call(hubtest.Request{URL: "/v1/a2a/tasks/" + id + ":cancel", Body: "{}"}, new(shownTask))
			return time.Since(began)
		},
	} {
		var took []time.Duration
		for i := range rounds {
			took = append(took, once(i))
		}
		slices.Sort(took)
		t.Logf("%s: %v at the median of %d, %v at most", kind, took[rounds/2], rounds, took[rounds-1])
		if took[rounds/2] > mostAtMedian {
			t.Errorf("%s: %v at the median: no hint has reached the hub", kind, took[rounds/2])
		}
	}
}

// listen starts a worker of an agent. It returns the times at which a run begins, and at which a further
// message waits for its end.
func (s *system) listen(name string) <-chan time.Time {
	s.t.Helper()
	conn, err := natsbus.Open(s.t.Context(), natsbus.Options{URL: s.busURL(s.broker.addr)})
	if err != nil {
		s.t.Fatal(err)
	}
	reached := make(chan time.Time, 2)
	w := &remote.Worker{Bus: conn, Name: task.Agent(name), DrainTimeout: -1, Executor: agent.Func(
		func(ctx context.Context, x *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
			if x.StoredTask == nil && yield(agent.Status(x, a2a.TaskStateWorking), nil) {
				reached <- time.Now()
				select {
				case <-agent.MessageWaiting(ctx):
					reached <- time.Now()
				case <-ctx.Done():
				}
			}
			yield(agent.Status(x, a2a.TaskStateCompleted), nil)
		})}
	ctx, stop := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := w.Run(ctx); err != nil {
			s.t.Error(err)
		}
	})
	s.t.Cleanup(func() {
		stop()
		wg.Wait()
		if err := conn.Close(); err != nil {
			s.t.Error(err)
		}
	})
	return reached
}
