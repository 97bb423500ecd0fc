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
// it by hints. The design wants 100 ms at the median; a busy machine, which takes longer at the hub of the
// run, too, fails less here than lost hints.
//
// PARLEY_REACHES is the number of requests of each kind.
func TestReachHolder(t *testing.T) {
	t.Parallel()
	s := startSystem(t, onNATS(t))
	a, b := &member{s.nodes[0].Hub, t, "a"}, &member{s.nodes[1].Hub, t, "b"}
	reached := s.listen("later")
	rounds := setting(t, "PARLEY_REACHES", 11)
	for kind, once := range map[string]func(by *member, i int) time.Duration{
		"message": func(by *member, i int) time.Duration {
			id := a.send("later", message{text: fmt.Sprint("work ", by.id, i)}).ID
			<-reached // the run has begun
			began := time.Now()
			by.send("later", message{text: fmt.Sprint("more ", by.id, i), task: id})
			return (<-reached).Sub(began)
		},
		"answer": func(by *member, _ int) time.Duration {
			asked := a.send("interview", message{text: "begin", waits: true})
			began := time.Now()
			by.send("interview", message{text: "yes", task: asked.ID, waits: true})
			return time.Since(began)
		},
		"cancel": func(by *member, i int) time.Duration {
			id := a.send("slow", message{text: fmt.Sprint(600 + i)}).ID
			began := time.Now()
			by.call(hubtest.Request{URL: "/v1/a2a/tasks/" + id + ":cancel", Body: "{}"}, new(shownTask))
			return time.Since(began)
		},
	} {
		took := make(map[*member][]time.Duration)
		for i := range rounds {
			for _, m := range []*member{a, b} {
				took[m] = append(took[m], once(m, i))
			}
		}
		slices.Sort(took[a])
		slices.Sort(took[b])
		here, there := took[a][rounds/2], took[b][rounds/2]
		t.Logf("%s: %v at the median of %d, %v at most; %v at the hub of the run", kind, there, rounds, took[b][rounds-1], here)
		if there > mostAtMedian+2*here {
			t.Errorf("%s: %v at the median, %v at the hub of the run: no hint has reached it", kind, there, here)
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
				case <-agent.CallFrom(ctx).MessageWaiting():
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
