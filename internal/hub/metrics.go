package hub

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/parley-a2a/parley/internal/agents/queue"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/front/conns"
	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/telemetry/trace"
	"github.com/parley-a2a/parley/internal/webhooks"
)

// Census is the ability of a store to count its tasks cheaply.
type Census interface {
	// States returns the number of tasks of all owners in each state. Tasks that no caller
	// knows do not count.
	States(ctx context.Context) (map[task.State]int, error)
}

// measured is the source of the metrics: the numbers of running and queued tasks, the state of
// the store, and the pending notifications of webhooks. The numbers are read only when a
// collector asks for them. Those of several hubs in one process are added up.
type measured struct {
	engine *engine.Engine
	// pusher notifies webhooks; nil without push notifications.
	pusher *webhooks.Dispatcher
	// store counts its tasks if it is a Census.
	store task.Store
	// connections are those of callers; nil if they are not counted.
	connections *conns.Limit
	// bus knows the tasks of agents with workers; nil without a bus. letters counts the dead
	// letters; it may be nil.
	bus     *queue.Dispatcher
	letters queue.LetterCounter
	// version and commit are those of the program.
	version, commit string
}

// watchHub exports the metrics of the hub until stop is called.
func watchHub(h measured) (stop func(), err error) {
	w := &watch{hub: h}
	m := otel.Meter(trace.Scope)
	if err := w.make(m); err != nil {
		return nil, fmt.Errorf("make gauges: %w", err)
	}
	reg, err := m.RegisterCallback(w.observe, w.all...)
	if err != nil {
		return nil, fmt.Errorf("register gauges: %w", err)
	}
	return func() { _ = reg.Unregister() }, nil // it fails only for an unknown registration
}

type counter = metric.Int64ObservableUpDownCounter

// watch holds the instruments of a measured hub.
type watch struct {
	hub measured
	all []metric.Observable

	agents, runs, queue, streams, tails, doubts, tasks counter
	hooks, backlog, broken                             counter
	connections, evicted, memory, refused              counter
	depth, letters                                     counter
	lag, oldest                                        metric.Float64ObservableGauge
	ready, build                                       metric.Int64ObservableGauge
}

func (w *watch) make(m metric.Meter) error {
	var errs []error
	for _, c := range []struct {
		at                      *counter
		name, unit, description string
	}{
		{&w.agents, "parley.agents", "{agent}", "Agents that are registered."},
		{&w.runs, "parley.runs", "{run}", "Tasks that are executed now."},
		{&w.queue, "parley.queue", "{task}", "Tasks that wait in line for a run."},
		{&w.streams, "parley.streams", "{stream}", "Streams that are open."},
		{&w.tails, "parley.tails", "By", "Memory for the newest entries of tasks that are followed."},
		{&w.doubts, "parley.doubts", "{task}", "Tasks whose stored state is unknown."},
		{&w.tasks, "parley.tasks", "{task}", "Tasks that are kept, by state."},
		{&w.hooks, "parley.webhooks", "{webhook}", "Webhooks with notifications to deliver, or possibly with some."},
		{&w.backlog, "parley.webhook.backlog", "{webhook}", "Webhooks with notifications to deliver, by their phase."},
		{&w.connections, "parley.connections", "{connection}", "Connections of callers that are open."},
		{&w.evicted, "parley.connections.closed", "{connection}", "Connections that were closed or refused because there was no room."},
		{&w.memory, "parley.memory", "By", "Memory that large requests, runs and answers have acquired."},
		{&w.refused, "parley.memory.refused", "{request}", "Large requests that were refused because there was no memory for them."},
		{&w.depth, "parley.queue.depth", "{task}", "Tasks of agents with workers, by whether a worker has them."},
		{&w.letters, "parley.dead_letters", "{letter}", "Dead letters of queues that are stored."},
		{&w.broken, "parley.webhook.broken_endpoints", "{endpoint}", "Endpoints that are not called for now because they do not answer."},
	} {
		var err error
		*c.at, err = m.Int64ObservableUpDownCounter(c.name, metric.WithUnit(c.unit), metric.WithDescription(c.description))
		errs, w.all = append(errs, err), append(w.all, *c.at)
	}
	for _, g := range []struct {
		at                *metric.Int64ObservableGauge
		name, description string
	}{
		{&w.ready, "parley.ready", "Whether the hub can take work, by check: 1 if the check passes."},
		{&w.build, "parley.build.info", "1, with the version and commit of the program."},
	} {
		var err error
		*g.at, err = m.Int64ObservableGauge(g.name, metric.WithDescription(g.description))
		errs, w.all = append(errs, err), append(w.all, *g.at)
	}
	for _, g := range []struct {
		at                *metric.Float64ObservableGauge
		name, description string
	}{
		{&w.lag, "parley.queue.lag", "Age of the task that has waited for a worker of its agent for the longest time."},
		{&w.oldest, "parley.queue.oldest", "Age of the task that has waited in line for a run for the longest time."},
	} {
		var err error
		*g.at, err = m.Float64ObservableGauge(g.name, metric.WithUnit("s"), metric.WithDescription(g.description))
		errs, w.all = append(errs, err), append(w.all, *g.at)
	}
	return errors.Join(errs...)
}

// observe reports all numbers.
func (w *watch) observe(ctx context.Context, o metric.Observer) error {
	e, p, m := w.hub.engine.Stats(), w.hub.pusher.Stats(), w.hub.engine.Memory().Stats()
	var c conns.Stats
	if w.hub.connections != nil {
		c = w.hub.connections.Stats()
	}
	for _, n := range []struct {
		of counter
		n  int64
	}{
		{w.agents, int64(len(w.hub.engine.Agents()))},
		{w.runs, int64(e.Runs)},
		{w.queue, int64(e.Queued)},
		{w.streams, int64(e.Streams)},
		{w.tails, e.TailBytes},
		{w.doubts, int64(e.Unsettled)},
		{w.connections, int64(c.Open)},
		{w.evicted, c.Evicted + c.Refused},
		{w.memory, m.Used},
		{w.refused, m.Refused},
		{w.hooks, int64(p.Hooks)},
		{w.broken, int64(p.Broken)},
	} {
		o.ObserveInt64(n.of, n.n)
	}
	for phase, n := range map[string]int{"waiting": p.Waiting, "underway": p.Underway, "asleep": p.Asleep} {
		o.ObserveInt64(w.backlog, int64(n), label("phase", phase))
	}
	for _, c := range w.hub.engine.Ready(ctx) {
		o.ObserveInt64(w.ready, number(c.OK), label("check", c.Name))
	}
	o.ObserveInt64(w.build, 1, label("version", w.hub.version), label("commit", w.hub.commit), label("go_version", runtime.Version()))
	o.ObserveFloat64(w.oldest, age(e.Oldest))
	w.queues(o)
	return errors.Join(w.deadLetters(ctx, o), w.census(ctx, o))
}

// queues reports the tasks of agents with workers. Without tasks they are zero.
func (w *watch) queues(o metric.Observer) {
	if w.hub.bus == nil {
		return
	}
	all := w.hub.bus.Backlogs()
	for _, a := range w.hub.engine.Agents() {
		if k, ok := a.Executor.(interface{ Kind() string }); ok && k.Kind() == "queue" {
			backlog := all[a.Name]
			all[a.Name] = backlog // so that it has a row
		}
	}
	for name, b := range all {
		agent := attribute.String(trace.TargetAgent, string(name))
		for state, n := range map[string]int{"waiting": b.Waiting, "claimed": b.Claimed} {
			o.ObserveInt64(w.depth, int64(n), metric.WithAttributes(agent, attribute.String(trace.State, state)))
		}
		o.ObserveFloat64(w.lag, age(b.Oldest), metric.WithAttributes(agent))
	}
}

func (w *watch) deadLetters(ctx context.Context, o metric.Observer) error {
	if w.hub.letters == nil {
		return nil
	}
	n, err := w.hub.letters.CountLetters(ctx)
	if err != nil {
		return err
	}
	o.ObserveInt64(w.letters, int64(n))
	return nil
}

// age returns the seconds since a time; zero for the zero time.
func age(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return max(0, time.Since(t).Seconds())
}

// census counts the tasks by state, if the store can do so cheaply.
func (w *watch) census(ctx context.Context, o metric.Observer) error {
	c, ok := w.hub.store.(Census)
	if !ok {
		return nil
	}
	states, err := c.States(ctx)
	if err != nil {
		return fmt.Errorf("count tasks: %w", err)
	}
	for s := task.Submitted; s <= task.AuthRequired; s++ {
		name := strings.ToLower(strings.TrimPrefix(s.String(), "TASK_STATE_"))
		o.ObserveInt64(w.tasks, int64(states[s]), label(trace.State, name))
	}
	return nil
}

func label(key, value string) metric.ObserveOption {
	return metric.WithAttributes(attribute.String(key, value))
}

func number(ok bool) int64 {
	if ok {
		return 1
	}
	return 0
}
