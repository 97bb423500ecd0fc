package rockbothttp_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/parts/rockbot/e2e/rockbothttp"
	rb "github.com/parley-a2a/parley/internal/parts/rockbot/e2e/rockbotpeer"
	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

// TestPinnedSkills: an HTTP agent whose skills stand in well-known-agents.json is called at
// /tasks/send, also for the answer to its question after a kill of the hub. No card is fetched.
func TestPinnedSkills(t *testing.T) {
	t.Parallel()
	bob := rockbothttp.StartAgent(t, &rockbothttp.Agent{Header: "X-Api-Key", Value: "alice-calls-bob", Handle: asksOnce})
	file := write(t, "well-known-agents.json", fmt.Sprintf(`[
  {
    "agentName": "Bob",
    "url": %q,
    "authHeaderName": "X-Api-Key",
    "authHeaderValueBase64": "YWxpY2UtY2FsbHMtYm9i",
    "skills": [{"id": "general", "name": "General", "description": "Anything."}]
  }
]`, bob.URL()))
	h := hubtest.Start(t, hubtest.Options{Config: "directory: {well_known: " + file + "}\n"})
	m := &moving{name: "bob", hub: h}
	m.call(t, "hi", "c1", "Echo: hi")
	m.call(t, "weather", "trip", "which city?")
	h.Restart()
	m.call(t, "Oslo", "trip", "sunny in Oslo")
	m.call(t, "ho", "c1", "Echo: ho")
	var jobs []string
	for _, job := range bob.Jobs() {
		jobs = append(jobs, rb.Val(job.Skill)+": "+job.Message.Text())
	}
	if diff := cmp.Diff([]string{"general: hi", "general: weather", "general: Oslo", "general: ho"}, jobs); diff != "" {
		t.Errorf("jobs (-want +got):\n%s", diff)
	}
	for _, c := range bob.Calls() {
		if c.Method != http.MethodPost || c.Key != "alice-calls-bob" {
			t.Errorf("%s %s with the key %q", c.Method, c.Path, c.Key)
		}
	}
}
