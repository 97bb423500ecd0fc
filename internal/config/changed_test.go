package config

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestChanged(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		a, b string
		want []string
	}{
		{"log: {level: info}", "log: {level: info}", nil},
		{"", "# a comment", nil},
		{"log: {level: info}", "log: {level: debug}", []string{"log.level"}},
		{"listen: 127.0.0.1:1", "listen: 127.0.0.1:2\nlimits: {body: 1MiB, streams: 3}", []string{"listen", "limits.body", "limits.streams"}},
		{"agents: [{name: a, command: b}]", "agents: [{name: a, command: c}]", []string{"agents"}},
		{"auth: {api_keys: {0123456789abcdef: {agent_id: a}}}", "auth: {api_keys: {0123456789abcdef: {agent_id: b}}}", []string{"auth.api_keys"}},
		{"directory: {lists: [a], allow: [all]}", "directory: {lists: [b]}", []string{"directory.allow", "directory.lists"}},
		{"", "directory: {lists: [b]}", []string{"directory.lists"}},
		{"policy: rules.yaml", "policy: {rules: [{allow: send, who: anybody}]}", []string{"policy"}},
	} {
		var parsed []*Config
		for _, src := range []string{tt.a, tt.b} {
			c, err := Parse("parley.yaml", []byte(src), func(string) (string, bool) { return "", false })
			if err != nil {
				t.Fatal(err)
			}
			parsed = append(parsed, c)
		}
		if diff := cmp.Diff(tt.want, Changed(parsed[0], parsed[1])); diff != "" {
			t.Errorf("%q and %q (-want +got):\n%s", tt.a, tt.b, diff)
		}
	}
}
