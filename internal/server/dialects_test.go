package server

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/config"
	"github.com/parley-a2a/parley/internal/front/httpfront"
	"github.com/parley-a2a/parley/task"
)

func TestProfilesOfTheConfiguration(t *testing.T) {
	t.Parallel()
	src := `
auth:
  api_keys: {0123456789abcdef: {agent_id: bot, dialect: v1.0}, 1123456789abcdef: {agent_id: plain}}
  bearer_tokens: {2123456789abcdef: {agentId: kit, Dialect: v0.3}}
agents:
  - {name: old, command: cat, dialect: v0.3}
  - {name: new, command: cat}
`
	cfg, err := config.Parse("parley.yaml", []byte(src), func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	want := httpfront.Profiles{
		Callers: map[string]string{"bot": "v1.0", "kit": "v0.3"},
		Agents:  map[task.Agent]string{"old": "v0.3"},
	}
	if diff := cmp.Diff(want, (&Hub{given: given{cfg: cfg}}).profiles()); diff != "" {
		t.Errorf("profiles mismatch (-want +got):\n%s", diff)
	}
}
