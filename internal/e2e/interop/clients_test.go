package interop

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/internal/agents/builtin"
)

// TestClients runs each scenario with each peer over each of its bindings. A failure that is
// not accepted fails the test, and so does an accepted one that passes.
func TestClients(t *testing.T) {
	t.Parallel()
	union, plain := startHub(t), startPlainHub(t)
	var book ledger
	t.Cleanup(func() {
		if table, gap := clientsTable(&book); whole(t, gap) {
			wantPart(t, "clients", table)
			wantPart(t, "accepted failures", acceptedTable(t))
		}
	})
	for i := range peers {
		p := &peers[i]
		t.Run(p.name, func(t *testing.T) {
			all, err := readKnown(knownFile(p), p)
			if err != nil {
				t.Fatal(err)
			}
			for _, binding := range p.bindings {
				t.Run(binding, func(t *testing.T) {
					t.Parallel()
					hub := union
					if p.plainCard {
						hub = plain
					}
					c := &caller{book: &book, peer: p, binding: binding, client: p.start(t, hub, binding)}
					if why := p.missing[binding]; why != "" {
						runMissing(t, c, why)
						return
					}
					runScenarios(t, c, all)
				})
			}
		})
	}
}

// runScenarios runs all scenarios that suit a caller.
func runScenarios(t *testing.T, c *caller, all []known) {
	for _, s := range scenarios {
		reason := accepted(all, c.binding, s.name)
		if !s.suits(c.peer) {
			if reason != "" {
				t.Errorf("%s is an accepted failure, but %s does not offer it", s.name, c.peer.name)
			}
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			failures := tryScenario(t, c, &s)
			c.book.note(c.peer.name, c.binding, s.name, outcome(failures, reason))
			judge(t, failures, reason)
		})
	}
}

// runMissing checks that a missing binding is still missing: the first scenario fails.
func runMissing(t *testing.T, c *caller, why string) {
	first := scenarios[0]
	t.Run(first.name, func(t *testing.T) {
		failures := tryScenario(t, c, &first)
		c.book.note(c.peer.name, c.binding, first.name, notThere)
		judge(t, failures, why)
	})
}

// tryScenario returns the failures of a scenario.
func tryScenario(t *testing.T, c *caller, s *scenario) []string {
	return try(t, func(tb testing.TB) {
		ctx, cancel := context.WithTimeout(t.Context(), timeout)
		defer cancel()
		s.run(&caller{TB: tb, peer: c.peer, binding: c.binding, client: c.client, ctx: ctx})
	})
}

// judge compares failures with the accepted reason.
func judge(t testing.TB, failures []string, reason string) {
	t.Helper()
	text := strings.Join(failures, "\n")
	switch {
	case len(failures) > 0 && reason == "":
		t.Error(text)
	case len(failures) > 0:
		t.Logf("accepted, because %s:\n%s", reason, text)
	case reason != "":
		t.Errorf("passes, although this is an accepted failure: %s", reason)
	}
}

func TestJudge(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		failures []string
		reason   string
		ok       bool
	}{
		"pass":             {nil, "", true},
		"failure":          {[]string{"wrong"}, "", false},
		"accepted failure": {[]string{"wrong"}, "the SDK is", true},
		"unexpected pass":  {nil, "the SDK is", false},
	} {
		got := try(t, func(tb testing.TB) { judge(tb, tt.failures, tt.reason) })
		if (len(got) == 0) != tt.ok {
			t.Errorf("%s: %q, want ok = %v", name, got, tt.ok)
		}
	}
}

// suits reports whether a scenario is meaningful for a peer.
func (s *scenario) suits(p *peer) bool {
	return (s.only == "" || s.only == p.speaks) &&
		!slices.ContainsFunc(strings.Fields(s.needs), func(op string) bool { return !p.offers(op) })
}

// wantChart returns the image that the agent report draws for words, without any hub.
func wantChart(t testing.TB, words string) []byte {
	t.Helper()
	for _, a := range builtin.Agents() {
		if a.Name != "report" {
			continue
		}
		ec := &a2asrv.ExecutorContext{Message: a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart(words))}
		for ev := range a.Executor.Execute(t.Context(), ec) {
			if u, ok := ev.(*a2a.TaskArtifactUpdateEvent); ok && u.Artifact.Name == "chart.png" {
				return u.Artifact.Parts[0].Raw()
			}
		}
	}
	t.Fatal("there is no chart to compare with")
	return nil
}
