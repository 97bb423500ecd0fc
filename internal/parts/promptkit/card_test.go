package promptkit_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/outbound/card"
	_ "github.com/parley-a2a/parley/internal/parts/promptkit"
)

// TestCard: a card without interfaces that has skills or capabilities is one of PromptKit.
func TestCard(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string][]string{
		`{"name":"pk","capabilities":{},"skills":[]}`:             {"other", "promptkit", "../a2a"},
		`{"name":"pk","skills":null}`:                             {"other", "promptkit", "../a2a"},
		`{"name":"a","url":"http://x/","skills":[]}`:              {"v0.3", "", "http://x/"},
		`{"name":"a","supportedInterfaces":[],"capabilities":{}}`: {"v1.0", ""},
		`{"agentName":"a","url":"http://x","capabilities":{}}`:    {"jobs", "", "http://x/tasks/send"},
		`{"name":"a"}`: {"v1.0", ""},
	} {
		c, err := card.Read([]byte(raw))
		if err != nil {
			t.Fatal(err)
		}
		got := []string{c.Layout.String(), c.Dialect}
		for _, i := range c.A2A.SupportedInterfaces {
			got = append(got, i.URL)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", raw, diff)
		}
	}
}
