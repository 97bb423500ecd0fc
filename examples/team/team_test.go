// Package team has no Go code but for one of its agents: it is a configuration. This test
// follows the steps of its README.
package team

import (
	"os/exec"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/parley-a2a/parley/examples/exampletest"
	"github.com/parley-a2a/parley/internal/testing/openaitest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// team holds its programs.
type team struct{ parley, facts string }

// start starts the team, and returns the address of the hub.
func (b *team) start(t *testing.T) (url string) {
	t.Helper()
	facts := exampletest.Start(t, b.facts, "-listen=127.0.0.1:0")
	t.Setenv("TEAM_FACTS_URL", facts.URL)
	data := t.TempDir()
	hub := exampletest.Start(t, b.parley, "serve", "--listen=127.0.0.1:0", "--data="+data)
	worker := exec.Command(b.parley, "agent", "run", "--data="+data, "--name=headline", "--exec=tr a-z A-Z")
	if err := worker.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = worker.Process.Kill()
		_ = worker.Wait() // it was killed
	})
	return hub.URL
}

// TestTeam asks the editor for pages.
func TestTeam(t *testing.T) {
	b := &team{exampletest.Parley(t), exampletest.Build(t, "facts")}
	t.Run("script", b.script)
	t.Run("server", b.server)
}

// script runs the team with scripted models.
func (b *team) script(t *testing.T) {
	url := b.start(t)
	answer, code := exampletest.Run(t, b.parley, "send", "--url="+url, "--agent=editor", "a page about whales")
	if want := "The page about whales has its headline, its text and its facts, and the critic wants more pictures."; answer != want || code != 0 {
		t.Errorf("the editor answers %q and parley send ends with %d, want %q and 0", answer, code, want)
	}
	for agent, want := range map[string]string{
		"facts": "blue whale", "headline": "WHALES, AND ALL THERE IS TO SAY", "writer": "Few have looked twice", "critic": "It lacks pictures.",
	} {
		id, _ := exampletest.Run(t, b.parley, "tasks", "list", "--url="+url+"/a2a/"+agent, "-q")
		said, _ := exampletest.Run(t, b.parley, "tasks", "get", "--url="+url+"/a2a/"+agent, id)
		if !strings.Contains(said, want) {
			t.Errorf("the task of %s does not say %q:\n%s", agent, want, said)
		}
	}
}

// server uses a model server instead.
func (b *team) server(t *testing.T) {
	models := openaitest.New(t, openaitest.Config{Key: "secret"}, func(r *openaitest.Request) openaitest.Turn {
		switch {
		case !strings.Contains(r.Last("system"), "You are the editor"):
			return openaitest.Turn{Text: "A sentence of " + r.Model + "."}
		case r.Round() == 0:
			return openaitest.Turn{Calls: []openaitest.Call{
				openaitest.CallOf("agent_run_facts", map[string]string{"prompt": "tea"}),
				openaitest.CallOf("agent_run_writer", map[string]string{"prompt": "tea"}),
			}}
		}
		return openaitest.Turn{Text: r.Results("agent_run_facts")[0] + r.Results("agent_run_writer")[0]}
	})
	t.Setenv("TEAM_MODEL_URL", models.URL)
	t.Setenv("TEAM_MODEL", "own-model")
	t.Setenv("TEAM_MODEL_KEY", "secret")
	url := b.start(t)
	answer, code := exampletest.Run(t, b.parley, "send", "--url="+url, "--agent=editor", "a page about tea")
	for _, want := range []string{"All tea comes from one plant.", "A sentence of own-model.", `from=\"agent/facts\"`} {
		if !strings.Contains(answer, want) || code != 0 {
			t.Errorf("the editor answers %q and parley send ends with %d, want %q in it and 0", answer, code, want)
		}
	}
}
