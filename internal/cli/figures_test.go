package cli

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/adminjson"
	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/config"
	"github.com/parley-a2a/parley/internal/sse"
)

// countTile matches a tile of the console: a state and its number.
var countTile = regexp.MustCompile(`state=TASK_STATE_([A-Z_]+)"><b>(\d+)</b>`)

// tiles returns the counts of a page of the console, by state.
func tiles(page string) map[string]float64 {
	all := make(map[string]float64)
	for _, m := range countTile.FindAllStringSubmatch(page, -1) {
		var n float64
		if _, err := fmt.Sscan(m[2], &n); err == nil && n > 0 {
			all[strings.ToLower(m[1])] = n
		}
	}
	return all
}

// charted returns parley_tasks, which the dashboard shows, by state.
func charted(t *testing.T, h *busHub) map[string]float64 {
	t.Helper()
	all := make(map[string]float64)
	for _, m := range scraped(t, h)["parley_tasks"].GetMetric() {
		for _, l := range m.GetLabel() {
			if n := m.GetGauge().GetValue(); l.GetName() == "state" && n > 0 {
				all[l.GetValue()] = n
			}
		}
	}
	return all
}

// TestDashboardEqualsConsole sends a load, and compares the figures of the dashboard with those of the console:
// while the load runs those that it does not change, and after it all of them. It does not run in parallel: the
// provider belongs to the process.
func TestDashboardEqualsConsole(t *testing.T) {
	const senders, each, waiting, asking = 4, 100, 25, 5
	h := serveOn(t, new(bus.Memory), t.TempDir(), func(c *config.Config) {
		c.Agents = []config.Agent{{Name: "greeter", Queue: "greeter"}, {Name: "echo"}, {Name: "interview"}}
	})
	for i := range waiting {
		h.send("greeter", fmt.Sprint("w", i))
	}
	for i := range asking {
		h.send("interview", fmt.Sprint("q", i))
	}
	var load sync.WaitGroup
	for i := range senders {
		load.Go(func() {
			for j := range each {
				h.send("echo", fmt.Sprintf("e-%d-%d", i, j))
			}
		})
	}
	defer load.Wait()
	// until returns when the console's stream has shown counts that f accepts.
	until := func(f func(counts map[string]int) bool) {
		t.Helper()
		resp, err := (&httpQuery{at: h.URL(), what: "GET /api/v1/counts/events?scope=all"}).ask(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		for events := sse.NewReader(resp.Body, 1<<20, nil); ; {
			var now adminjson.TaskCounts
			e, err := events.Next()
			if err == nil {
				err = json.Unmarshal(e.Data, &now)
			}
			if err != nil {
				t.Fatalf("the stream of counts: %v", err)
			}
			if f(now.Counts) {
				return
			}
		}
	}
	const tasksOfAll = "GET /console/tasks?scope=all"
	until(func(c map[string]int) bool {
		return c["TASK_STATE_INPUT_REQUIRED"] == asking && c["TASK_STATE_SUBMITTED"] >= waiting && c["TASK_STATE_COMPLETED"] > 0
	})
	_, page := h.call(tasksOfAll, "")
	console, dashboard := tiles(page), charted(t, h)
	for name, of := range map[string]map[string]float64{"console": console, "dashboard": dashboard} {
		if of["input_required"] != asking || of["submitted"] < waiting {
			t.Errorf("under load the %s shows %v", name, of)
		}
	}
	if _, page := h.call("GET /console/queues", ""); !strings.Contains(page, `">greeter</a></td><td class="num">25</td>`) || !strings.Contains(page, `<span class="badge bad">none</span>`) {
		t.Errorf("the page of queues lacks 25 tasks without a worker: %s", page)
	}
	load.Wait()
	until(func(c map[string]int) bool { return c["TASK_STATE_COMPLETED"] == senders*each })
	_, page = h.call(tasksOfAll, "")
	want := map[string]float64{"completed": senders * each, "submitted": waiting, "input_required": asking}
	console, dashboard = tiles(page), charted(t, h)
	if !maps.Equal(console, want) || !maps.Equal(dashboard, want) {
		t.Errorf("figures after the load (-console +dashboard), want %v:\n%s", want, cmp.Diff(console, dashboard))
	}
}
