package config_test

import (
	"slices"
	"testing"

	"github.com/parley-a2a/parley/internal/config"
	"github.com/parley-a2a/parley/internal/llm/guard"
)

// A file of an earlier version works as before, with a notice for each key to change.
func TestNotices(t *testing.T) {
	t.Parallel()
	for src, want := range map[string][]string{
		"safety: {words_of_others: redact}\nlimits: {half_open: 7}\n": {
			"safety.words_of_others has a new name; write safety: {untrusted_text: redact}",
			"limits.half_open has no effect; remove it",
		},
		"safety: {untrusted_text: redact}\n": nil,
		"safety: {untrusted_text: redact, words_of_others: refuse}\n": {
			"safety.words_of_others has no effect beside safety.untrusted_text; remove it",
		},
	} {
		c, err := config.Parse("parley.yaml", []byte(src), func(string) (string, bool) { return "", false })
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Notices(); !slices.Equal(got, want) {
			t.Errorf("%s: notices %q, want %q", src, got, want)
		}
		if got := c.Safety.Guard().Policy; got != guard.Policy("redact") {
			t.Errorf("%s: the policy is %q, want redact", src, got)
		}
	}
}
