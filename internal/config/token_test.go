package config

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/auth/token"
	"github.com/parley-a2a/parley/internal/outbound/safedial"
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
		someIssuer + "    owner_claim: tid":                                                  "auth.tokens[0].owners: is required with owner_claim",
		someIssuer + "    owner: a\n    owner_claim: tid\n    owners: {a: b}":                "auth.tokens[0].owner: cannot be given together with owner_claim",
		someIssuer + "    owner: local":                                                      "auth.tokens[0]: a caller with a token cannot become the owner \"local\"",
		someIssuer + "    owner_claim: tid\n    owners: {a: local}":                          "auth.tokens[0]: a caller with a token cannot become",
		someIssuer + "    keys_url: ftp://id.example/keys":                                   "auth.tokens[0].keys_url: ",
		someIssuer + "    keys_url: https://id.example/k\n    keys_file: k":                  "auth.tokens[0].keys_file: cannot be given together with keys_url",
		someIssuer + "    sign_in: {client_secret: s3cret}":                                  "parley.yaml:6: auth.tokens[0].sign_in.client_id: is missing: the provider issues it",
		someIssuer + "    sign_in: {client_id: c, scopes: [\"a b\"]}":                        "auth.tokens[0].sign_in.scopes[0]: \"a b\" is not a scope",
		someIssuer + "    sign_in: {client_id: c, allow: [\"10.0.0.0/99\"]}":                 "auth.tokens[0].sign_in.allow[0]: ",
		someIssuer + "    sign_in: {client_id: c, redirect: x}":                              "auth.tokens[0].sign_in",
		someIssuer + "  - name: corp\n    issuer: https://id2.example\n    audiences: [hub]": "auth.tokens[1].name: is also used by auth.tokens[0]",
		someIssuer + "  - name: corp2\n    issuer: https://id.example\n    audiences: [hub]": "auth.tokens[1].issuer: is also used by auth.tokens[0]",
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

// TestSignIns checks the providers at which people sign in, and the addresses that the hub may dial
// for them.
func TestSignIns(t *testing.T) {
	t.Parallel()
	c, err := Parse("parley.yaml", []byte(someIssuer+"    required_scopes: [a2a]\n    sign_in: {client_id: c, client_secret: s}\n"+
		"  - {name: other, issuer: \"https://other.example\", audiences: [hub]}\n"+
		"  - {name: inner, issuer: \"http://127.0.0.1:1\", audiences: [hub], sign_in: {client_id: d, scopes: [openid, groups]}}\n"), env)
	if err != nil {
		t.Fatal(err)
	}
	v := new(token.Verifier)
	got, err := c.Auth.SignIns(v)
	if err != nil || len(got) != 2 {
		t.Fatalf("SignIns = %v, %v", got, err)
	}
	if p := got[0]; p.Name != "corp" || p.URL != "https://id.example" || p.ClientID != "c" || p.ClientSecret != "s" || p.Verifier != v {
		t.Errorf("the first is %+v", p)
	}
	if diff := cmp.Diff([][]string{{"openid", "profile", "a2a"}, {"openid", "groups"}}, [][]string{got[0].Scopes, got[1].Scopes}); diff != "" {
		t.Errorf("scopes (-want +got):\n%s", diff)
	}
	for i, address := range []string{"http://127.0.0.1:1/token", "http://127.0.0.2:1/token"} {
		resp, err := got[i].Client.Get(address)
		if err == nil {
			resp.Body.Close()
		}
		if !errors.Is(err, safedial.ErrForbidden) {
			t.Errorf("%s dials %s: %v", got[i].Name, address, err)
		}
	}
	if _, err := got[1].Client.Get("http://127.0.0.1:1/token"); err == nil || errors.Is(err, safedial.ErrForbidden) {
		t.Errorf("the host of the issuer: %v", err)
	}
}
