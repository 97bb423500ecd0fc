package config_test

import (
	"strings"
	"testing"

	"github.com/parley-a2a/parley/internal/config"
)

func TestMemoryProblems(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]string{
		"memory: {outcome_ttl: 7h}":                   "memory.outcome_ttl",
		"memory: {value: 100}":                        "memory.value",
		"memory: {max_ttl: 2h}":                       "memory.outcome_ttl",
		"memory: {max_ttl: 25h, ttl: 26h}":            "memory.ttl",
		"memory: {primary_session: a/b}":              "memory.primary_session",
		"memory: {primary_session: ..}":               "memory.primary_session",
		"memory: {outcomes: [echo, No One]}":          "memory.outcomes[1]",
		"memory: {outcomes: ['*'], outcome_ttl: 12h}": "",
	} {
		_, err := config.Parse("parley.yaml", []byte(src), func(string) (string, bool) { return "", false })
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("Parse(%s) = %v, want a problem of %q", src, err, want)
		}
	}
}
