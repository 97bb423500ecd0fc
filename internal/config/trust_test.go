package config_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/config"
)

func TestGated(t *testing.T) {
	t.Parallel()
	const src = `extended_card: {authenticated: true}
agents:
  - {name: all, command: x, trust: gated}
  - {name: some, command: x, skills: [{id: a}, {id: b, trust: gated}], extended: {skills: [{id: c, trust: gated}]}}
  - {name: none, command: x, trust: open, skills: [{id: a}]}
`
	c, err := config.Parse("parley.yaml", []byte(src), func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct {
		skills []string
		ok     bool
	}{{nil, true}, {[]string{"b", "c"}, true}, {nil, false}} {
		skills, ok := c.Agents[i].Gated()
		if ok != want.ok || !cmp.Equal(want.skills, skills) {
			t.Errorf("%s: gated %v %v, want %v %v", c.Agents[i].Name, skills, ok, want.skills, want.ok)
		}
	}
}

func TestTrustProblems(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]string{
		"trust: {refused: burnt}":                       "trust.refused",
		"agents: [{name: a, command: x, trust: blind}]": "agents[0].trust",
		"front_desk: {hours: nine to five}":             "front_desk.hours", "front_desk: {hours: '17:00-09:00'}": "the end is before the start",
		"front_desk: {time_zone: Moon}": "front_desk.time_zone", "front_desk: {trust: blind}": "front_desk.trust",
		"trust: {gated: [a, 'B c']}": "trust.gated[1]",
		"{trust: {summarizer: a, gated: [a]}, agents: [{name: a, command: x}]}":      "trust.gated[0]: the agent summarises",
		"{trust: {gated: [echo]}, questions: {policy: auto, answering_agent: echo}}": "trust.gated[0]: the agent answers",
		"questions: {policy: auto}":    "parley.yaml:1: questions: there is no agent that answers",
		"directory: {trust: blind}":    "directory.trust",
		"trust: {notify_url: nowhere}": "trust.notify_url",
		"{trust: {summarizer: a}, agents: [{name: a, command: x, trust: gated}]}":           "the agent \"a\" is gated itself",
		"{trust: {summarizer: a}, agents: [{name: a, command: x, trust: open}], listen: 1}": "listen",
	} {
		_, err := config.Parse("parley.yaml", []byte(src), func(string) (string, bool) { return "", false })
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want a problem with %s", src, err, want)
		}
	}
}
