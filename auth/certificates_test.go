package auth

import (
	"bytes"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/testing/tlstest"
)

// knownCertificates accepts the certificate with a common name.
type knownCertificates string

func (k knownCertificates) Certificate(chains [][]*x509.Certificate) (*Principal, error) {
	if name := chains[0][0].Subject.CommonName; name != string(k) {
		return nil, fmt.Errorf("no rule names %s: %w", name, ErrUnauthenticated)
	}
	return &Principal{ID: string(k)}, nil
}

func (knownCertificates) Security() (a2a.NamedSecuritySchemes, a2a.SecurityRequirementsOptions) {
	return a2a.NamedSecuritySchemes{"mutualTLS": a2a.MutualTLSSecurityScheme{}}, a2a.SecurityRequirementsOptions{{"mutualTLS": {}}}
}

// The precedence of a certificate and a key of one caller.
func TestCertificates(t *testing.T) {
	t.Parallel()
	good, text := NewKey(Principal{ID: "keyed"}, time.Now())
	old, oldText := NewKey(Principal{ID: "old"}, time.Now())
	old.RevokedAt = time.Now()
	var log bytes.Buffer
	for name, tc := range map[string]struct {
		certificate string
		header      http.Header
		anonymous   bool
		want        string
	}{
		"a certificate":                     {"worker", nil, false, "worker"},
		"another one":                       {"stranger", nil, false, ""},
		"none":                              {"", nil, false, ""},
		"a key beside it":                   {"worker", http.Header{"X-Api-Key": {text}}, false, "keyed"},
		"a wrong key beside it":             {"worker", http.Header{"X-Api-Key": {"wrong-key-0123456789"}}, false, ""},
		"a wrong key, where all may call":   {"worker", http.Header{"X-Api-Key": {"wrong-key-0123456789"}}, true, ""},
		"a revoked key beside it":           {"worker", http.Header{"X-Api-Key": {oldText}}, false, ""},
		"an empty key beside it":            {"worker", http.Header{"X-Api-Key": {""}}, false, ""},
		"another scheme beside it":          {"worker", http.Header{"Authorization": {"Basic d29ya2VyOng="}}, false, ""},
		"a token that no issuer accepts":    {"worker", http.Header{"Authorization": {"Bearer eyJ.e30.x"}}, false, ""},
		"one where all may call":            {"worker", nil, true, "worker"},
		"another one where all may call":    {"stranger", nil, true, Local},
		"in a header of a proxy":            {"", http.Header{"X-Client-Cert": {"worker"}, "X-Forwarded-Client-Cert": {`Hash=1;Subject="CN=worker"`}}, false, ""},
		"in a header, beside a strange one": {"stranger", http.Header{"X-Forwarded-Client-Cert": {`Subject="CN=worker"`}}, false, ""},
	} {
		r := &Keyring{
			Configured: []Key{*good, *old}, Certificates: knownCertificates("worker"), AllowAnonymous: tc.anonymous,
			Logger: slog.New(slog.NewTextHandler(&log, nil)),
		}
		req := &Request{Header: tc.header.Values, RemoteAddr: "127.0.0.1:5000"}
		if tc.certificate != "" {
			c := new(x509.Certificate)
			c.Subject.CommonName = tc.certificate
			req.Chains = [][]*x509.Certificate{{c}}
		}
		p, err := r.Authenticate(t.Context(), req)
		switch {
		case tc.want == "" && !errors.Is(err, ErrUnauthenticated):
			t.Errorf("%s: is %+v, %v, want a refusal", name, p, err)
		case tc.want == "" && err.Error() != errRequired.Error():
			t.Errorf("%s: the caller gets %q, want the error that all callers get", name, err)
		case tc.want != "" && (err != nil || p.ID != tc.want):
			t.Errorf("%s: is %+v, %v, want %s", name, p, err, tc.want)
		}
	}
	if !strings.Contains(log.String(), "no rule names stranger") {
		t.Errorf("the log does not say which certificate was refused: %s", &log)
	}
}

// Certificates turn on a hub without keys, and a certificate authenticates no caller if the
// Keyring has no Certificates.
func TestCertificatesTurnOn(t *testing.T) {
	t.Parallel()
	c := new(x509.Certificate)
	c.Subject.CommonName = "worker"
	req := &Request{Header: http.Header(nil).Values, RemoteAddr: "192.0.2.1:5", Chains: [][]*x509.Certificate{{c}}}
	on := &Keyring{Certificates: knownCertificates("worker")}
	if !on.On() {
		t.Error("a Keyring with Certificates is off")
	}
	if p, err := on.Authenticate(t.Context(), &Request{Header: req.Header, RemoteAddr: "127.0.0.1:5"}); err == nil {
		t.Errorf("without a certificate, on this machine: %v, want a refusal", p)
	}
	schemes, requirements := on.Security()
	if len(schemes) != 3 || len(requirements) != 3 {
		t.Errorf("Security() = %v, %v, want a certificate, a key or a bearer token", schemes, requirements)
	}
	if len(keySchemes) != 2 {
		t.Error("the shared schemes have changed")
	}
	if p, err := new(Keyring).Authenticate(t.Context(), req); err == nil {
		t.Errorf("off, from elsewhere: %v, want a refusal", p)
	}
}

// uncertain has an expired revocation list.
type uncertain struct{ knownCertificates }

func (uncertain) Certificate([][]*x509.Certificate) (*Principal, error) {
	return nil, fmt.Errorf("%w: %w: the list has ended", ErrUnauthenticated, ErrUncertain)
}

// unread is a store whose keys have not been read.
type unread struct{ KeyStore }

// TestValid: a credential that cannot be checked now has not ended.
func TestValid(t *testing.T) {
	t.Parallel()
	key, _ := NewKey(Principal{ID: "keyed"}, time.Now())
	old, _ := NewKey(Principal{ID: "old"}, time.Now())
	old.RevokedAt = time.Now()
	pair, err := tlstest.Make(&x509.Certificate{Subject: pkix.Name{CommonName: "worker"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	worker := credentialOf([][]*x509.Certificate{{pair.Leaf}})
	for name, tc := range map[string]struct {
		rules        Certificates
		store        KeyStore
		credential   string
		valid, known bool
	}{
		"a key":                      {nil, nil, key.ID, true, true},
		"a revoked key":              {nil, nil, old.ID, false, true},
		"a missing key":              {nil, nil, "none", false, true},
		"keys that were not read":    {nil, unread{}, key.ID, false, false},
		"a certificate":              {knownCertificates("worker"), nil, worker, true, true},
		"one that no rule names":     {knownCertificates("other"), nil, worker, false, true},
		"one with an expired list":   {uncertain{}, nil, worker, false, false},
		"one of a hub without rules": {nil, nil, worker, false, false},
		"what is no certificate":     {knownCertificates("worker"), nil, certificatePrefix + "!", false, true},
	} {
		r := &Keyring{Configured: []Key{*key, *old}, Certificates: tc.rules, Store: tc.store}
		if valid, known := r.Valid(tc.credential); valid != tc.valid || known != tc.known {
			t.Errorf("%s: valid %v, known %v, want %v and %v", name, valid, known, tc.valid, tc.known)
		}
	}
}
