package rockbot_test

import (
	"strings"
	"testing"

	"github.com/parley-a2a/parley/internal/config"
	_ "github.com/parley-a2a/parley/internal/parts/rockbot"
)

// TestKeys: the keys of the part are read and checked, with file, line and key.
func TestKeys(t *testing.T) {
	t.Parallel()
	const at = "rockbot: {url: 'amqp://x.example'}\n"
	for src, want := range map[string]string{
		at + "agents: [{name: a, rockbot: B}]":                              "",
		"rockbot: {url: 'amqp://x.example', name: hub, serve: [echo, hub]}": "",
		"telemetry: {metrics: admin, rockbot_names: true}":                  "",
		"telemetry: {rockbot_name: true}":                                   "parley.yaml:1: telemetry.rockbot_name: unknown key; did you mean rockbot_names?",
		"rockbot: {urls: x}":                                                "parley.yaml:1: rockbot.urls: unknown key; did you mean url?",
		"rockbot: {url: 'nats://x'}":                                        "parley.yaml:1: rockbot.url: is not the address of a broker like amqp://user:password@host/vhost",
		"rockbot: {name: a.b}":                                              `parley.yaml:1: rockbot.name: "a.b" is not a name on RockBot's exchange: it has a space, a dot, * or #`,
		"rockbot:\n  serve: [a, A]":                                         `parley.yaml:2: rockbot.serve[1]: invalid agent name "A"`,
		"rockbot:\n  serve: [a, a]":                                         "parley.yaml:2: rockbot.serve[1]: appears twice",
		"rockbot: {name: " + strings.Repeat("n", 65) + "}":                  "parley.yaml:1: rockbot.name: is longer than 64 bytes",
		"rockbot: {serve: [a]}\nagents: [{name: a, rockbot: B}]":            `parley.yaml:1: rockbot.serve[0]: "a" is RockBot's itself`,
		at + "agents:\n- name: a\n  rockbot: B\n  queue: c":                 "parley.yaml:5: agents[0].queue: the queue of an agent of RockBot has the name that RockBot gives it",
		at + "agents:\n- name: a\n  rockbot: B\n  command: c":               "parley.yaml:3: agents[0]: set only one of command, url, endpoint, model and rockbot",
		at + "agents:\n- name: a\n":                                         "parley.yaml:3: agents[0].command: is required unless the agent has one of url, endpoint, model, queue and rockbot (there is no built-in agent with this name)",
		at + "agents:\n- name: a\n  rockbot: 'B C'":                         `parley.yaml:4: agents[0].rockbot: "B C" is not a name on RockBot's exchange: it has a space, a dot, * or #`,
	} {
		_, err := config.Parse("parley.yaml", []byte(src), func(string) (string, bool) { return "", false })
		var got string
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("Parse(%q):\n%s, want\n%s", src, got, want)
		}
	}
}

// TestChangedKeys: a changed value of a key of the part is a change of the configuration, and hubs on
// one database that differ in it have different fingerprints.
func TestChangedKeys(t *testing.T) {
	t.Parallel()
	parse := func(src string) *config.Config {
		c, err := config.Parse("parley.yaml", []byte(src), func(string) (string, bool) { return "", false })
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	for key, src := range map[string][2]string{
		"rockbot.name":            {"rockbot: {name: a}", "rockbot: {name: b}"},
		"agents":                  {"agents: [{name: a, rockbot: A}]", "agents: [{name: a, rockbot: B}]"},
		"directory.well_known":    {"directory: {well_known: /a}", "directory: {well_known: /b}"},
		"telemetry.rockbot_names": {"", "telemetry: {rockbot_names: true}"},
	} {
		a, b := parse(src[0]), parse(src[1])
		if got := config.Changed(a, b); len(got) != 1 || got[0] != key {
			t.Errorf("from %q to %q, %q have changed", src[0], src[1], got)
		}
		if a.Fingerprint() == b.Fingerprint() {
			t.Errorf("%q and %q have the same fingerprint", src[0], src[1])
		}
	}
}
