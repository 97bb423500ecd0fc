package config

import (
	"strings"
	"testing"
)

func TestPushProblems(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]string{
		"push:\n  allow:\n  - loopback\n  - http://a.example\n":                        "parley.yaml:4: push.allow[1]: ",
		"push:\n  allow: [10.0.0.0/99]\n":                                              "parley.yaml:2: push.allow[0]: ",
		"push:\n  signing_secrets:\n  - whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n  - x": "parley.yaml:4: push.signing_secrets[1]: ",
		"push:\n  signing_secrets: ['whsec_${KEY}']\n":                                 "parley.yaml:2: push.signing_secrets[0]: ",
		"push:\n  alow: [all]\n":                                                       "parley.yaml:2: push.alow: unknown key; did you mean allow?",
	} {
		_, err := Parse("parley.yaml", []byte(src), env)
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("Parse(%q): %v, want an error that begins with %q", src, err, want)
		} else if strings.Contains(err.Error(), secret) {
			t.Errorf("Parse(%q): %v contains the secret", src, err)
		}
	}
}
