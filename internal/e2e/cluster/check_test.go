package cluster

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

// story is the history of a task without flaws.
type story struct {
	log     []hubtest.Event
	acts    []act
	got     []string // notifications
	answers int
}

func event(id int, data string) hubtest.Event {
	return hubtest.Event{ID: fmt.Sprint(id), Data: data}
}

// good returns the history of a task with one question, read at two hubs.
func good() *story {
	status := func(state, text string) string {
		return fmt.Sprintf(`{"statusUpdate":{"status":{"state":"TASK_STATE_%s","message":{"parts":[{"text":%q}]}}}}`, state, text)
	}
	output := func(text string, more bool) string {
		return fmt.Sprintf(`{"artifactUpdate":{"artifact":{"artifactId":"1","parts":[{"text":%q}]},"append":%v}}`, text, more)
	}
	s := &story{answers: 1, log: []hubtest.Event{
		event(2, status("WORKING", "")), event(3, status("INPUT_REQUIRED", "which?")), // 4 is the answer
		event(5, status("WORKING", "on it")), event(6, output("x", false)), event(7, output("y", true)), event(8, status("COMPLETED", "done")),
	}}
	at := func(begin, end int, a act) act {
		a.begin, a.end = time.Duration(begin)*time.Second, time.Duration(end)*time.Second
		return a
	}
	s.acts = []act{
		at(1, 3, act{kind: "stream", hub: "a", least: 2}),
		at(1, 4, act{kind: "stream", hub: "a", least: 3}),
		at(5, 6, act{kind: "get", hub: "b", state: "INPUT_REQUIRED", saw: `INPUT_REQUIRED "which?" ""`}),
		at(7, 8, act{kind: "send", hub: "b", least: 4}),
		at(8, 12, act{kind: "get", hub: "c", err: "no answer"}),
		at(9, 11, act{kind: "get", hub: "b", state: "WORKING", saw: `WORKING "on it" "x"`}),
		at(10, 15, act{kind: "get", hub: "c", state: "WORKING", saw: `WORKING "on it" ""`}),
		at(16, 17, act{kind: "list", hub: "a", state: "WORKING"}),
		at(18, 19, act{kind: "get", hub: "a", state: "COMPLETED", saw: `COMPLETED "done" "xy"`}),
	}
	for _, ev := range s.log {
		s.got = append(s.got, ev.Data)
	}
	s.acts[6].begin -= 2 * time.Second // it overlaps with the one before, which shows more
	return s
}

func (s *story) check() error {
	moments, err := fold(s.log)
	if err != nil {
		return err
	}
	if err := checkLog(moments, s.answers); err != nil {
		return err
	}
	if err := checkActs(s.acts, moments); err != nil {
		return err
	}
	if err := checkNotifications(s.got, s.log); err != nil {
		return err
	}
	return checkHandovers(s.got, s.log, 1)
}

// TestChecker: the checker finds nothing in a good history, and the flaw in each damaged one.
func TestChecker(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		damage func(*story)
		want   string
	}{
		"none":                         {func(*story) {}, ""},
		"a repeated notification":      {func(s *story) { s.got = slices.Insert(s.got, 3, s.got[1:3]...) }, ""},
		"two deliverers":               {func(s *story) { s.got = slices.Insert(s.got, 3, s.got[1], s.got[2], s.got[1], s.got[2]) }, "went back 2 times"},
		"a stale answer":               {func(s *story) { s.acts[6].begin = 12 * time.Second }, "not linearizable"},
		"a stale list":                 {func(s *story) { s.acts[7].state = "INPUT_REQUIRED" }, "not linearizable"},
		"an answer behind a stream":    {func(s *story) { s.acts[1].least = 5 }, "not linearizable"},
		"content that is never stored": {func(s *story) { s.acts[5].saw = `WORKING "" "y"` }, "never has the content"},
		"an event that is lost":        {func(s *story) { s.acts[8] = act{kind: "stream", least: 9, begin: 18, end: 19} }, "ends at version 8"},
		"two ends":                     {func(s *story) { s.log[2] = event(5, s.log[5].Data) }, "is COMPLETED"},
		"no end":                       {func(s *story) { s.log = s.log[:5] }, "is WORKING"},
		"a gap":                        {func(s *story) { s.answers = 0 }, "have no event"},
		"a repeated event":             {func(s *story) { s.log[3].ID = "5" }, "comes after 5"},
		"a notification too early":     {func(s *story) { s.got[2], s.got[3] = s.got[3], s.got[2] }, "before that of event"},
		"a lost notification":          {func(s *story) { s.got = s.got[:5] }, "5 of 6 events"},
		"a notification of no event":   {func(s *story) { s.got[1] = "{}" }, "no event of the log"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := good()
			c.damage(s)
			err := s.check()
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("check = %v, want an error with %q", err, c.want)
			}
		})
	}
}

// TestProgress: runs of the agent slow follow each other, and never mix.
func TestProgress(t *testing.T) {
	t.Parallel()
	for progress, want := range map[string]bool{"0 1 2": true, "0 1 0 1 2": true, "0 1 0 1 2 2": false, "0 1 0 2": false} {
		var log []hubtest.Event
		for at := range strings.FieldsSeq(progress) {
			log = append(log, event(2, fmt.Sprintf(`{"statusUpdate":{"status":{"message":{"parts":[{"text":"%s s of 3 s"}]}}}}`, at)))
		}
		if err := checkProgress(log); (err == nil) != want {
			t.Errorf("progress %s: %v", progress, err)
		}
	}
}
