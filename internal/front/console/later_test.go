package console

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-a2a/parley/internal/adminjson"
)

// TestLater: calls keep their pace, one that repeats comes sooner if asked for, and none follows the
// end but that which is due.
func TestLater(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n, repeats := 0, true
		var l later
		l.f = func() {
			if n++; repeats {
				l.againLocked(farPace)
			}
		}
		after := func(d time.Duration, want int) {
			t.Helper()
			time.Sleep(d)
			synctest.Wait()
			l.mu.Lock()
			defer l.mu.Unlock()
			if n != want {
				t.Fatalf("%d calls, want %d", n, want)
			}
		}
		l.ask()
		l.ask()
		after(pace-time.Millisecond, 0)
		after(2*time.Millisecond, 1)
		after(farPace, 2)
		after(farPace, 3)
		l.ask() // sooner than it would repeat
		after(pace+time.Millisecond, 4)
		l.ask()
		l.mu.Lock()
		repeats = false
		l.mu.Unlock()
		l.end()
		after(time.Hour, 5)
		l.end()
		after(time.Hour, 5)
	})
}

// TestTreeState: the state of a tree changes with the content of a page, and not with the time.
func TestTreeState(t *testing.T) {
	t.Parallel()
	one := func() *treeSum {
		return &treeSum{Tasks: []treeView{{TaskID: "a", State: "TASK_STATE_WORKING", AgeMs: 1}, {TaskID: "b", State: "TASK_STATE_WORKING"}}}
	}
	want, seen := one().state(), make(map[string]bool)
	later := one()
	later.Tasks[0].AgeMs, later.Tasks[1].Took = 7, time.Hour
	if later.state() != want {
		t.Error("the state changes with time")
	}
	for i, change := range []func(s *treeSum){
		func(*treeSum) {}, func(s *treeSum) { s.Tasks = nil }, func(s *treeSum) { s.Tasks = s.Tasks[:1] },
		func(s *treeSum) { s.Tasks[1].State = "TASK_STATE_COMPLETED" }, func(s *treeSum) { s.Tasks[1].Below = "asking" },
		func(s *treeSum) { s.Tasks[1].Text = "x" }, func(s *treeSum) { s.Tasks[1].More = true }, func(s *treeSum) { s.Tasks[1].USD = 0.5 },
		func(s *treeSum) { s.Tasks[1].Input = 4 }, func(s *treeSum) { s.Tasks[1].Output = 4 },
	} {
		s := one()
		change(s)
		if seen[s.state()] {
			t.Errorf("change %d does not change the state", i)
		}
		seen[s.state()] = true
	}
}

// TestForemost checks that the overview of a hub with many agents is bounded and begins with those in trouble.
func TestForemost(t *testing.T) {
	t.Parallel()
	all := make([]adminjson.Agent, 2000)
	all[1500].State, all[1700].Paused, all[1900].State = "down", true, "up"
	shown, more := foremost(all)
	if len(shown) != maxForemost || more != 2000-maxForemost || shown[0].State != "down" || !shown[1].Paused || shown[2].State != "" || all[0].State != "" {
		t.Errorf("%d agents, %d more, first %+v", len(shown), more, shown[:3])
	}
	if shown, more := foremost(all[:maxForemost]); len(shown) != maxForemost || more != 0 {
		t.Errorf("of few: %d agents, %d more", len(shown), more)
	}
}
