package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/file/tlsfile"
	"github.com/parley-a2a/parley/internal/secret/certificate"
	"github.com/parley-a2a/parley/internal/testing/tlstest"
)

const tlsFiles = "tls: {cert: hub.pem, key: keys/hub.key, client_ca: /etc/ca.pem}\n"

func TestTLS(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ca := tlstest.NewAuthority(t, "acme")
	ca.Write(t, dir, "acme")
	c, err := Parse(filepath.Join(dir, "parley.yaml"), []byte(strings.Replace(tlsFiles, "}", ", client_crl: lists.pem, clients: required}", 1)+`
auth:
  certificates:
    - {uri: "spiffe://acme.example/a", agent_id: a, display_name: A, roles: [admin], owner: acme}
    - {dns: b.acme.example, agent_id: b, ca: acme.pem}
    - {fingerprint: "sha256:`+strings.Repeat("AB:", 31)+`AB", agent_id: c}
    - {each: uri, ca: acme.pem, name: acme, owner: acme, roles: [partner]}
`), env)
	if err != nil {
		t.Fatal(err)
	}
	want := tlsfile.Files{
		Cert: filepath.Join(dir, "hub.pem"), Key: filepath.Join(dir, "keys", "hub.key"), ClientCA: "/etc/ca.pem", ClientCRL: filepath.Join(dir, "lists.pem"), Required: true,
	}
	if diff := cmp.Diff(want, c.TLS.Files()); diff != "" {
		t.Errorf("Files (-want +got):\n%s", diff)
	}
	rules, err := c.Auth.CertificateRules()
	if err != nil {
		t.Fatal(err)
	}
	for i := range rules {
		if own := rules[i].Authorities; (own != nil) != (i == 1 || i == 3) || own != nil && !own[0].Equal(ca.Leaf) {
			t.Errorf("rule %d has the authorities %v", i, own)
		}
		rules[i].Authorities = nil
	}
	wantRules := certificate.Rules{
		{Field: "uri", Value: "spiffe://acme.example/a", Principal: auth.Principal{ID: "a", DisplayName: "A", Roles: []string{"admin"}, Org: "acme"}},
		{Field: "dns", Value: "b.acme.example", Principal: auth.Principal{ID: "b"}},
		{Field: "fingerprint", Value: strings.Repeat("ab", 32), Principal: auth.Principal{ID: "c"}},
		{Field: "uri", Name: "acme", Principal: auth.Principal{Roles: []string{"partner"}, Org: "acme"}},
	}
	if diff := cmp.Diff(wantRules, rules); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
	if err := os.Remove(filepath.Join(dir, "acme.pem")); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Auth.CertificateRules(); err == nil || !strings.Contains(err.Error(), "auth.certificates[1].ca: "+filepath.Join(dir, "acme.pem")) {
		t.Errorf("without the file: %v, want key and file", err)
	}
}

func TestTLSErrors(t *testing.T) {
	t.Parallel()
	rules := func(all ...string) string {
		return tlsFiles + "auth:\n  certificates:\n  - " + strings.Join(all, "\n  - ") + "\n"
	}
	for src, want := range map[string]string{
		"tls: {cert: a}":                        "parley.yaml:1: tls: needs cert and key",
		"tls: {client_ca: a}":                   "tls.cert: is missing",
		"tls: {cert: a, key: b, clients: some}": `tls.clients: "some" is not one of optional, required`,
		"tls: {cert: a, key: b, client_crl: c}": "tls.client_ca: is required: the authority whose certificates client_crl",
		"tls: {client_crl: c}":                  "tls.cert: is missing",
		"tls: {hsts: 365d}":                     "tls.cert: is missing: without it the hub does not speak TLS",
		"tls: {cert: a, key: b, hsts: -1d}":     "tls.hsts: ",
		"tls: {cert: a, key: b, client_ca: c, client_crl: \"-----BEGIN X509 CRL-----\"}": "tls.client_crl: is a file name",
		"tls: {cert: a, key: b, clients: required}":                                      "tls.client_ca: is required",
		"tls: {cert: a, key: \"-----BEGIN PRIVATE KEY-----\\ns3cret\"}":                  "tls.key: is a file name",
		rules("{agent_id: a}"):                                                          "auth.certificates[0].each: a rule has one of",
		rules("{dns: a, uri: \"x:y\", agent_id: a}"):                                    "auth.certificates[0].each: a rule has one of",
		rules("{dns: a}"):                                                               "parley.yaml:4: auth.certificates[0].agent_id: the id of the caller is missing",
		rules("{dns: '*.a', agent_id: a}"):                                              "auth.certificates[0].dns: is compared exactly",
		rules("{each: dns, name: a}"):                                                   "auth.certificates[0].ca: is required",
		rules("{each: dns, ca: x}"):                                                     "auth.certificates[0].name: must be",
		rules("{each: dns, ca: x, name: a, owner: local}"):                              "auth.certificates[0].owner: a rule for many callers",
		rules("{each: serial, ca: x, name: a}"):                                         `auth.certificates[0].each: "serial" is not one of`,
		rules("{dns: a, agent_id: a}", "{dns: a, agent_id: b}"):                         "auth.certificates[1]: names the same certificate as auth.certificates[0]",
		rules("{each: dns, ca: x, name: a}", "{each: uri, ca: y, name: a}"):             "auth.certificates[1].name: is also used by auth.certificates[0]",
		tlsFiles + someIssuer + "  certificates:\n  - {each: dns, ca: x, name: corp}\n": "auth.certificates[0].name: is also used by auth.tokens[0]",
	} {
		_, err := Parse("parley.yaml", []byte(src), env)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", src, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%q: the error tells the key", src)
		}
	}
	c, err := Parse("parley.yaml", []byte("auth: {certificates: [{dns: a, agent_id: a}]}"), env)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.CheckCertificates(); err == nil || !strings.Contains(err.Error(), "tls.client_ca is missing") {
		t.Errorf("rules without authorities: %v", err)
	}
}
