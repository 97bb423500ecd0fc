package crash

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// story is the part of a ledger about one job.
type story struct {
	name, load       string
	tasks            map[string]bool
	versions         []int64
	sums, pushed     []uint64
	answered, ends   int
	canceled         bool
	state, text      string
	runs, exits      map[string]bool // by the id of the run
	effects          map[string]int  // by the key of the message
	agent            string
	sent, mayAnswers int
}

// checkLedger compares a ledger with the tasks of the hub, by id. It is a pure function.
func checkLedger(lines []line, stored map[string]*taskJSON) (found []error) {
	stories := storiesOf(lines)
	known := map[string]string{} // job by task
	for _, name := range slices.Sorted(maps.Keys(stories)) {
		s := stories[name]
		found = append(found, s.check(stored)...)
		for id := range s.tasks {
			if other := known[id]; other != "" {
				found = append(found, flawed(lost, "task %s is that of %s and of %s", id, other, name))
			}
			known[id] = name
		}
	}
	for id := range stored {
		if known[id] == "" {
			found = append(found, flawed(repeated, "the hub has task %s, which no caller knows", id))
		}
	}
	return found
}

// storiesOf sorts the lines by job.
func storiesOf(lines []line) map[string]*story {
	all, byTask := map[string]*story{}, map[string]*story{}
	for i := range lines {
		if e := &lines[i]; e.Op != "" && e.Op != opExit {
			s := all[e.Job]
			if s == nil {
				s = &story{name: e.Job, tasks: map[string]bool{}, runs: map[string]bool{}, exits: map[string]bool{}, effects: map[string]int{}}
				all[e.Job] = s
			}
			if s.add(e); e.Task != "" {
				byTask[e.Task] = s
			}
		}
	}
	for i := range lines {
		// An effect whose task no caller knows is one of a job that was never answered.
		e := &lines[i]
		s := byTask[e.Task]
		switch {
		case s == nil:
		case e.Op == opExit:
			s.exits[e.Run] = true
		case e.Op == "":
			s.agent = e.Agent
			s.runs[e.Run] = true
			s.effects[e.Key]++
		}
	}
	return all
}

func (s *story) add(e *line) {
	switch e.Op {
	case opSend:
		s.sent++
	case opEvent:
		s.versions, s.sums = append(s.versions, e.Version), append(s.sums, e.Sum)
	case opAnswer:
		s.mayAnswers++
	case opAnswered:
		s.answered++
	case opCanceled:
		s.canceled = true
	case opEnd:
		s.ends++
		s.state, s.text, s.load = e.State, e.Text, e.Load
	case opPush:
		s.pushed = append(s.pushed, e.Sum)
	}
	if e.Task != "" {
		s.tasks[e.Task] = true
	}
}

func (s *story) check(stored map[string]*taskJSON) (found []error) {
	add := func(f flaw, format string, args ...any) {
		found = append(found, flawed(f, s.name+" ("+s.load+"): "+format, args...))
	}
	if s.ends != 1 {
		add(stuck, "it has %d ends", s.ends)
		return found
	}
	if len(s.tasks) != 1 {
		add(repeated, "it has the tasks %v", slices.Sorted(maps.Keys(s.tasks)))
	}
	for id := range s.tasks {
		t := stored[id]
		if t == nil {
			add(lost, "the hub does not know its task %s", id)
			continue
		}
		s.compare(t, add)
	}
	s.checkEvents(add)
	s.checkPushes(add)
	s.checkEffects(add)
	return found
}

type addFlaw func(f flaw, format string, args ...any)

// compare compares the end that the caller has read with the stored task.
func (s *story) compare(t *taskJSON, add addFlaw) {
	if t.state() != s.state || t.text() != s.text {
		add(lost, "task %s is %s with %q; its caller read %s with %q", t.ID, t.state(), t.text(), s.state, s.text)
	}
	if s.canceled && t.state() != "CANCELED" {
		add(lost, "the hub confirmed a cancellation, and task %s is %s", t.ID, t.state())
	}
	messages := map[string]int{}
	for i := range t.History {
		if m := &t.History[i]; m.Role == "ROLE_USER" {
			messages[m.ID]++
		}
	}
	if messages[s.name] == 0 || s.answered > 0 && messages[s.name+"-answer"] == 0 {
		add(lost, "task %s has the messages %v", t.ID, messages)
	}
	for id, n := range messages {
		if n > 1 {
			add(repeated, "task %s has message %s %d times", t.ID, id, n)
		}
	}
}

// checkEvents: versions increase. Between them are at most the messages of the caller, which are
// entries without an event.
func (s *story) checkEvents(add addFlaw) {
	missing := int64(0)
	for i := 1; i < len(s.versions); i++ {
		step := s.versions[i] - s.versions[i-1]
		if step < 1 {
			add(gap, "event %d comes after %d", s.versions[i], s.versions[i-1])
			return
		}
		missing += step - 1
	}
	if missing > int64(s.mayAnswers) {
		add(gap, "%d events are missing in %v", missing, s.versions)
	}
}

// checkPushes: the webhook has accepted each event after the first one, in order. Repetitions are
// allowed.
func (s *story) checkPushes(add addFlaw) {
	if s.load != webhookLoad {
		return
	}
	index := map[uint64]int{}
	for i, sum := range s.sums {
		index[sum] = i
	}
	got, next := map[uint64]bool{}, 0
	for _, sum := range s.pushed {
		i, known := index[sum]
		if known && i > next && !got[sum] {
			next = i
		} else if known && i < next && !got[sum] {
			add(lost, "notification %d comes after %d", i, next)
		}
		got[sum] = true
	}
	for i := 1; i < len(s.sums); i++ {
		if !got[s.sums[i]] {
			add(lost, "event %d was not sent to the webhook", s.versions[i])
		}
	}
}

// checkEffects: an agent that is not idempotent is executed once for a message, another one at
// most three times. A completed task has the output of one of its executions, which has exited.
func (s *story) checkEffects(add addFlaw) {
	most := 1
	if slices.Contains([]string{robust, again, serialQueue, serialCommand}, s.agent) {
		most = 3
	}
	for key, n := range s.effects {
		if n > most {
			add(repeated, "message %q of agent %s was executed %d times", key, s.agent, n)
		}
	}
	if len(s.effects) > 1+s.mayAnswers {
		add(repeated, "%d messages were executed for %d sent: %v", len(s.effects), 1+s.mayAnswers, s.effects)
	}
	if run, _, _ := strings.Cut(s.text, ":"); programs[s.load] && s.state == "COMPLETED" && !(s.runs[run] && s.exits[run]) {
		add(lost, "it is completed with %q, which no program has written before it exited", s.text)
	}
}

// good is a ledger without flaws, and the tasks that belong to it.
func good() ([]line, map[string]*taskJSON) {
	lines := []line{
		{Op: opSend, Job: "a"},
		{Op: opTask, Job: "a", Task: "t1"},
		{Op: opEvent, Job: "a", Version: 1, Sum: 1},
		{Op: opEvent, Job: "a", Version: 2, Sum: 2},
		{Op: opEvent, Job: "a", Version: 3, Sum: 3},
		{Op: opPush, Job: "a", Sum: 2},
		{Op: opPush, Job: "a", Sum: 2},
		{Op: opPush, Job: "a", Sum: 3},
		{Task: "t1", Agent: once, Key: "k1", Run: "r1"},
		{Op: opEnd, Job: "a", Task: "t1", Load: webhookLoad, State: "COMPLETED", Text: "r1:0 "},
		{Op: opSend, Job: "b"},
		{Op: opTask, Job: "b", Task: "t2"},
		{Op: opEvent, Job: "b", Version: 2, Sum: 4},
		{Task: "t2", Agent: robust, Key: "k2", Run: "r2"},
		{Task: "t2", Agent: robust, Key: "k2", Run: "r3"},
		{Op: opAnswer, Job: "b"},
		{Op: opAnswered, Job: "b"},
		{Op: opCanceled, Job: "b"},
		{Op: opEvent, Job: "b", Version: 4, Sum: 5},
		{Op: opEnd, Job: "b", Task: "t2", Load: "queue", State: "CANCELED"},
		{Op: opExit, Task: "t1", Run: "r1"},
	}
	text := func(ids ...string) (all []messageJSON) {
		for _, id := range ids {
			all = append(all, messageJSON{ID: id, Role: "ROLE_USER"})
		}
		return all
	}
	one := &taskJSON{ID: "t1", Status: statusJSON{State: "TASK_STATE_COMPLETED"}, History: text("a"), Artifacts: make([]artifactJSON, 1)}
	one.Artifacts[0].Parts = make(parts, 1)
	one.Artifacts[0].Parts[0].Text = "r1:0 "
	two := &taskJSON{ID: "t2", Status: statusJSON{State: "TASK_STATE_CANCELED"}, History: text("b", "b-answer")}
	return lines, map[string]*taskJSON{"t1": one, "t2": two}
}

// TestLedgerCheck: the check finds nothing in a good ledger, and the flaw in each damaged one.
func TestLedgerCheck(t *testing.T) {
	t.Parallel()
	drop := func(i int) func([]line, map[string]*taskJSON) []line {
		return func(l []line, _ map[string]*taskJSON) []line { return slices.Delete(l, i, i+1) }
	}
	add := func(e line) func([]line, map[string]*taskJSON) []line {
		return func(l []line, _ map[string]*taskJSON) []line { return append(l, e) }
	}
	hub := func(change func(map[string]*taskJSON)) func([]line, map[string]*taskJSON) []line {
		return func(l []line, s map[string]*taskJSON) []line { change(s); return l }
	}
	for name, c := range map[string]struct {
		damage func([]line, map[string]*taskJSON) []line
		want   flaw
	}{
		"the hub forgets a task":             {hub(func(s map[string]*taskJSON) { delete(s, "t1") }), lost},
		"the hub has another end":            {hub(func(s map[string]*taskJSON) { s["t1"].Status.State = "TASK_STATE_FAILED" }), lost},
		"the hub has another text":           {hub(func(s map[string]*taskJSON) { s["t1"].Artifacts = nil }), lost},
		"an answer is not in the log":        {hub(func(s map[string]*taskJSON) { s["t2"].History = s["t2"].History[:1] }), lost},
		"a message appears twice":            {hub(func(s map[string]*taskJSON) { s["t1"].History = append(s["t1"].History, s["t1"].History...) }), repeated},
		"a task of no caller":                {hub(func(s map[string]*taskJSON) { s["t3"] = &taskJSON{ID: "t3"} }), repeated},
		"two tasks for a key":                {add(line{Op: opTask, Job: "a", Task: "t2"}), repeated},
		"a notification is dropped":          {drop(7), lost},
		"a notification is late":             {func(l []line, _ map[string]*taskJSON) []line { l[5], l[6], l[7] = l[7], l[7], l[5]; return l }, lost},
		"an event is missing":                {func(l []line, _ map[string]*taskJSON) []line { l[4].Version = 4; return l }, gap},
		"an event comes twice":               {func(l []line, _ map[string]*taskJSON) []line { l[4].Version = 2; return l }, gap},
		"an event beside the answer":         {func(l []line, _ map[string]*taskJSON) []line { l[18].Version = 5; return l }, gap},
		"a program that may run once":        {add(line{Task: "t1", Agent: once, Key: "k1", Run: "r9"}), repeated},
		"an idempotent one, four times":      {func(l []line, _ map[string]*taskJSON) []line { return append(l, l[13], l[14]) }, repeated},
		"an execution with another key":      {add(line{Task: "t1", Agent: once, Key: "k9", Run: "r9"}), repeated},
		"a completion without an effect":     {drop(8), lost},
		"a completion without an exit":       {drop(20), lost},
		"a task that does not end":           {drop(9), stuck},
		"a confirmed cancellation is undone": {hub(func(s map[string]*taskJSON) { s["t2"].Status.State = "TASK_STATE_COMPLETED" }), lost},
		"none":                               {hub(func(map[string]*taskJSON) {}), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lines, stored := good()
			found := checkLedger(c.damage(lines, stored), stored)
			if c.want == "" && len(found) == 0 {
				return
			}
			if !slices.ContainsFunc(found, func(err error) bool { return flawOf(err) == c.want }) {
				t.Errorf("found %v, want a flaw of kind %q", fmt.Sprint(found), c.want)
			}
		})
	}
}
