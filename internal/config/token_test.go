package config

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/auth/token"
)

const someIssuer = "auth:\n  tokens:\n  - name: corp\n    issuer: https://id.example\n    audiences: [hub]\n"

func TestTokens(t *testing.T) {
	t.Parallel()
	c, err := Parse("/etc/parley/parley.yaml", []byte(someIssuer+
		"    skew: 5s\n    owner_claim: tid\n    owners: {t-1: acme}\n    scopes: {operate: admin}\n    required_scopes: [a2a]\n"), env)
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.Auth.Issuers()
	if err != nil {
		t.Fatal(err)
	}
	want := []*token.Issuer{{
		Name: "corp", URL: "https://id.example", Audiences: []string{"hub"}, Skew: 5 * time.Second, OrgClaim: "tid",
		Orgs: map[string]string{"t-1": "acme"}, Scopes: map[string]string{"operate": "admin"}, RequiredScopes: []string{"a2a"},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("issuers (-want +got):\n%s", diff)
	}
}

func TestTokenErrors(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]string{
		"auth:\n  tokens:\n  - issuer: https://id.example\n    audiences: [x]":               "auth.tokens[0].name: is required",
		"auth:\n  tokens:\n  - name: a\n    issuer: https://id.example":                      "auth.tokens[0].audiences: at least one",
		strings.Replace(someIssuer, "https", "http", 1):                                      "parley.yaml:4: auth.tokens[0].issuer: \"http://id.example\" must begin with https://",
		someIssuer + "    algorithms: [HS256]":                                               "parley.yaml:6: auth.tokens[0].algorithms: \"HS256\" is not one of",
		someIssuer + "    owner_claim: tid":                                                  "auth.tokens[0].owners: is required with an owner_claim",
		someIssuer + "    owner: a\n    owner_claim: tid\n    owners: {a: b}":                "auth.tokens[0].owner: cannot be given together with owner_claim",
		someIssuer + "    owner: local":                                                      "auth.tokens[0]: no caller with a token becomes the owner \"local\"",
		someIssuer + "    owner_claim: tid\n    owners: {a: local}":                          "auth.tokens[0]: no caller with a token becomes",
		someIssuer + "    keys_url: ftp://id.example/keys":                                   "auth.tokens[0].keys_url: ",
		someIssuer + "    keys_url: https://id.example/k\n    keys_file: k":                  "auth.tokens[0].keys_file: cannot be given together with keys_url",
		someIssuer + "  - name: corp\n    issuer: https://id2.example\n    audiences: [hub]": "auth.tokens[1].name: is the same as that of auth.tokens[0]",
		someIssuer + "  - name: corp2\n    issuer: https://id.example\n    audiences: [hub]": "auth.tokens[1].issuer: is the same",
	} {
		if _, err := Parse("parley.yaml", []byte(src), env); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", src, err, want)
		}
	}
	c, err := Parse("parley.yaml", []byte(someIssuer+"    keys_file: missing.json"), env)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Auth.Issuers(); err == nil || !strings.Contains(err.Error(), "auth.tokens[0].keys_file: ") {
		t.Errorf("Issuers = %v, want something about the file", err)
	}
}
