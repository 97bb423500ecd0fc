package engine

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/task"
)

// This file enumerates the protocol of a serial key: all interleavings of callers, the hub with one
// restart and one failure of its store, a broker and a worker. The scheduler and recoveryOf are those of
// the engine; the rest is written down here. Rules:
//
//   - A key and a place are held by a run, or by a ticket that the store could not claim and its repair
//     launches again.
//   - After a restart, runs whose work may be elsewhere continue, without waiting for a key or a place. All
//     other tasks wait in the order of acceptance, and none begins before all wait.
//   - A claim is granted by the run of the task. Without one, it is denied if the task waits for its
//     turn, so that the worker is free for the work of the run that holds the key.

// world is one state of the model.
type world struct {
	traits   agent.Traits
	contexts string // the context of each message, in the order of acceptance
	places   int
	tasks    []modelTask

	hub      *scheduler
	starting int          // the message that is stored, and whose task is not started or queued; -1 for none
	orphans  map[int]bool // not recovered yet
	opened   bool

	queue []int // the broker's
	jobs  []job // the worker's; it has one slot

	crashes, faults int      // left
	begun           []string // the order of first starts, by context
	bad             string
}

type modelTask struct {
	head      task.Head
	at        position
	live      *live
	run       bool // in this process
	stalled   *ticket
	published bool // by the checkpoint
	sent      bool // by this run
	granted   bool
	begun     bool
}

// job is the work that the worker has taken from the broker.
type job struct {
	task          int
	granted, done bool
}

func newWorld(traits agent.Traits, contexts string, places int) *world {
	w := &world{traits: traits, contexts: contexts, places: places, starting: -1, crashes: 1, faults: 1, opened: true, begun: make([]string, 2)}
	w.hub = newScheduler(places, places)
	return w
}

func (w *world) key(i int) queueKey {
	return queueKey{agent: "a", context: w.contexts[i : i+1], away: w.traits.Away}
}

func (w *world) index(l *live) int {
	return slices.IndexFunc(w.tasks, func(t modelTask) bool { return t.live == l })
}

// steps returns the enabled steps by name.
func (w *world) steps() map[string]func() {
	all := map[string]func(){}
	switch n := len(w.tasks); {
	case w.starting >= 0:
		all["start"] = w.start
	case n < len(w.contexts):
		all["accept"] = w.accept
	}
	for i := range w.orphans {
		all[fmt.Sprint("recover ", i)] = func() { w.recover(i) }
	}
	if len(w.orphans) == 0 && !w.opened {
		all["open"] = func() { w.opened = true; w.launch(w.hub.open()) }
	}
	if w.crashes > 0 && len(w.tasks) > 0 {
		all["restart"] = w.restart
	}
	for i := range w.tasks {
		t := &w.tasks[i]
		if t.stalled != nil {
			all[fmt.Sprint("repair ", i)] = func() { s := *t.stalled; t.stalled = nil; w.launch([]ticket{s}) }
		}
		switch {
		case !t.run:
		case !w.traits.Away:
			all[fmt.Sprint("finish ", i)] = func() { w.finish(i) }
		case !t.granted && !t.sent && !t.published:
			all[fmt.Sprint("publish ", i)] = func() { t.sent = true; w.queue = append(w.queue, i) }
		case !t.granted && !t.published:
			all[fmt.Sprint("checkpoint ", i)] = func() { t.published = true }
		}
		if t.run && !t.granted && (t.sent || t.published) && !slices.Contains(w.queue, i) && !w.claims(i) {
			all[fmt.Sprint("publish lost ", i)] = func() { w.queue = append(w.queue, i) } // Dispatcher.compare
		}
	}
	if len(w.queue) > 0 && len(w.jobs) == 0 {
		all["take"] = func() { w.jobs, w.queue = append(w.jobs, job{task: w.queue[0]}), w.queue[1:] }
	}
	for n := range w.jobs {
		j := &w.jobs[n]
		t := &w.tasks[j.task]
		drop := func() { w.jobs = slices.Delete(w.jobs, n, n+1) }
		switch {
		case j.granted && !j.done:
			all["work"] = func() { j.done = true }
		case j.granted && t.run:
			all["report"] = func() { w.finish(j.task); drop() }
		case j.granted: // the report is kept for a run
		case t.run && !t.granted:
			all["grant"] = func() { t.granted, j.granted = true, true; w.begins(j.task) }
		case t.run || t.head.State.Terminal(), t.head.Run.Dispatch == task.Pending:
			all["deny"] = drop
		}
	}
	return all
}

func (w *world) claims(i int) bool {
	return slices.ContainsFunc(w.jobs, func(j job) bool { return j.task == i })
}

// accept stores a message; start passes it to its run or queues it. The clock is set back before each.
func (w *world) accept() {
	i := len(w.tasks)
	k := w.key(i)
	reserved := w.hub.tryAcquire(k)
	t := modelTask{live: new(live), at: position{task: task.Key(i + 1), at: w.hub.stamp(k, task.Millis(1000-100*i))}}
	t.head = task.Head{State: task.Submitted, LastMessage: 1, Run: task.Run{Dispatch: task.Pending}}
	if reserved {
		t.head.Run.Dispatch, t.head.Consumed, t.head.Run.Attempt = task.Claimed, 1, 1
	}
	w.tasks, w.starting = append(w.tasks, t), i
}

func (w *world) start() {
	i := w.starting
	w.starting = -1
	if w.tasks[i].head.Run.Dispatch == task.Claimed {
		w.runs(i)
		return
	}
	w.wait(i)
}

func (w *world) wait(i int) {
	next, _ := w.hub.wait(ticket{live: w.tasks[i].live, key: w.key(i), at: w.tasks[i].at})
	w.launch(next)
}

// launch is Engine.launchAll.
func (w *world) launch(tickets []ticket) {
	for len(tickets) > 0 {
		s := tickets[0]
		tickets = tickets[1:]
		i := w.index(s.live)
		t := &w.tasks[i]
		if w.faults > 0 && w.starting < 0 && len(w.orphans) == 0 && i == 1 { // the store fails for this one
			w.faults--
			t.stalled = &s
			continue
		}
		if t.head.State.Terminal() || t.head.Run.Dispatch == task.Claimed && !s.rested {
			tickets = append(tickets, w.hub.release(s.key)...)
			continue
		}
		t.head.Run.Dispatch, t.head.Consumed = task.Claimed, 1
		t.head.Run.Attempt++
		w.runs(i)
	}
}

func (w *world) runs(i int) {
	w.tasks[i].run = true
	if !w.traits.Away {
		w.begins(i)
	}
}

// begins notes that the work of a task begins.
func (w *world) begins(i int) {
	c := w.contexts[i] - 'a'
	if t := &w.tasks[i]; !t.begun {
		t.begun = true
		w.begun[c] += fmt.Sprint(i)
	}
	for other := range w.tasks {
		t := &w.tasks[other]
		if other != i && w.contexts[other] == w.contexts[i] && t.begun && !t.head.State.Terminal() {
			w.bad = fmt.Sprintf("tasks %d and %d of one context are performed at one time", other, i)
		}
	}
}

func (w *world) finish(i int) {
	t := &w.tasks[i]
	t.run, t.head.State, t.head.Run.Dispatch = false, task.Completed, task.Idle
	w.launch(w.hub.release(w.key(i)))
}

// restart loses the memory of the process.
func (w *world) restart() {
	w.crashes--
	w.starting, w.opened, w.orphans = -1, false, map[int]bool{}
	w.hub = newScheduler(w.places, w.places)
	w.hub.hold()
	for i := range w.tasks {
		t := &w.tasks[i]
		t.run, t.stalled, t.sent = false, nil, false
		if t.head.Due() {
			w.orphans[i] = true
		}
	}
}

// recover is Engine.tryAdopt.
func (w *world) recover(i int) {
	delete(w.orphans, i)
	t := &w.tasks[i]
	switch what := recoveryOf(&t.head, &w.traits); what {
	case goOn:
		w.hub.resume(w.key(i))
		w.launch([]ticket{{live: t.live, key: w.key(i), rested: true}})
	case runAgain, waitForRun:
		t.head.Run.Dispatch, t.head.Consumed = task.Pending, 0
		w.wait(i)
	default:
		w.bad = fmt.Sprintf("task %d is recovered by %d", i, what)
	}
}

// check returns how the state breaks an invariant.
func (w *world) check() string {
	if w.bad != "" {
		return w.bad
	}
	for c, order := range w.begun {
		if !slices.IsSorted([]byte(order)) {
			return fmt.Sprintf("context %c begins in the order %s", 'a'+c, order)
		}
	}
	holders := 0
	for i := range w.tasks {
		if t := &w.tasks[i]; t.run || t.stalled != nil {
			holders++
		}
	}
	running, _ := w.hub.size()
	if w.starting >= 0 && w.tasks[w.starting].head.Run.Dispatch == task.Claimed {
		holders++
	}
	if running != holders {
		return fmt.Sprintf("%d places are taken, and %d runs or launches have one", running, holders)
	}
	return ""
}

func (w *world) over() bool {
	return len(w.tasks) == len(w.contexts) && !slices.ContainsFunc(w.tasks, func(t modelTask) bool { return !t.head.State.Terminal() })
}

// String returns what distinguishes the state from others.
func (w *world) String() string {
	var b strings.Builder
	for i := range w.tasks {
		t := &w.tasks[i]
		fmt.Fprint(&b, t.head.State, t.head.Run.Dispatch, t.at, t.run, t.stalled != nil, t.published, t.sent, t.granted, t.begun, ";")
	}
	fmt.Fprint(&b, w.starting, w.orphans, w.opened, w.queue, w.jobs, w.crashes, w.faults, w.hub.running, w.hub.holds)
	for _, class := range w.hub.queue {
		for _, t := range class {
			for k, n := range w.hub.lines {
				if n == t.line {
					b.WriteString("/" + k.context)
				}
			}
		}
	}
	for _, c := range "ab" {
		k := queueKey{agent: "a", context: string(c), away: w.traits.Away}
		if n := w.hub.lines[k]; n != nil {
			fmt.Fprint(&b, " ", string(c), n.running, n.queued, n.last)
			for _, s := range n.waiting {
				fmt.Fprint(&b, ",", w.index(s.live))
			}
		}
	}
	return b.String()
}

// TestSerialModel enumerates the states of the model: two contexts, three messages, one restart, one
// failure of the store, and fewer slots than contexts. In no state do two tasks of a context run, or one
// before an older one; and from each state all messages can still end.
func TestSerialModel(t *testing.T) {
	t.Parallel()
	queue := agent.Traits{Serial: true, Away: true, AfterCrash: agent.Resume} // like those of TraitsOf
	for name, traits := range map[string]agent.Traits{
		"queue": queue, "program": {Serial: true, AfterCrash: agent.Repeat}, "model": {Serial: true, AfterCrash: agent.Resume},
	} {
		for _, contexts := range []string{"aab", "aba", "abb", "aaa"} {
			for places := 1; places <= 2; places++ {
				if places == 2 && contexts != "abb" {
					continue // like one place, with more states
				}
				t.Run(fmt.Sprint(name, "/", contexts, "/", places), func(t *testing.T) {
					t.Parallel()
					enumerate(t, func() *world { return newWorld(traits, contexts, places) })
				})
			}
		}
	}
}

// enumerate visits all states, each by the shortest path to it.
func enumerate(t *testing.T, begin func() *world) {
	t.Helper()
	paths := map[string][]string{begin().String(): nil}
	before := map[string][]string{} // the predecessors of a state
	ended := map[string]bool{}
	for level := [][]string{nil}; len(level) > 0; {
		var next [][]string
		for _, path := range level {
			w := replay(begin, path)
			here := w.String()
			ended[here] = w.over()
			for _, step := range slices.Sorted(maps.Keys(w.steps())) {
				to := append(slices.Clip(path), step)
				w := replay(begin, to)
				if flaw := w.check(); flaw != "" {
					t.Fatalf("after %s: %s", strings.Join(to, ", "), flaw)
				}
				there := w.String()
				before[there] = append(before[there], here)
				if _, seen := paths[there]; !seen {
					paths[there] = to
					next = append(next, to)
				}
			}
		}
		level = next
	}
	for more := true; more; {
		more = false
		for there, from := range before {
			for _, here := range from {
				if ended[there] && !ended[here] {
					ended[here], more = true, true
				}
			}
		}
	}
	for state, path := range paths {
		if !ended[state] {
			t.Fatalf("after %s: some message never ends", strings.Join(path, ", "))
		}
	}
	t.Logf("%d states", len(paths))
}

func replay(begin func() *world, path []string) *world {
	w := begin()
	for _, step := range path {
		w.steps()[step]()
	}
	return w
}
