package tlsfile_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/file/tlsfile"
	"github.com/parley-a2a/parley/internal/testing/tlstest"
)

// intermediate creates an authority below another one.
func intermediate(t *testing.T, above *tlstest.Authority, name string) *tlstest.Authority {
	t.Helper()
	return &tlstest.Authority{Pair: *above.Issue(t, x509.Certificate{
		Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	})}
}

// TestRevocation changes the lists of a running server.
func TestRevocation(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ca, other, dir := tlstest.NewAuthority(t, "ca"), tlstest.NewAuthority(t, "other"), t.TempDir()
		below := intermediate(t, ca, "below")
		cert, key := ca.Issue(t, hub).Write(t, dir, "hub")
		clientCA, crl := filepath.Join(dir, "clients.pem"), filepath.Join(dir, "crl.pem")
		write := func(path string, texts ...[]byte) {
			if err := os.WriteFile(path, bytes.Join(texts, nil), 0o600); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * time.Second)
		}
		write(clientCA, ca.CertPEM, other.CertPEM)
		one, two := ca.Issue(t, x509.Certificate{}), ca.Issue(t, x509.Certificate{})
		deep, foreign := below.Issue(t, x509.Certificate{}), other.Issue(t, x509.Certificate{})
		write(crl, ca.Revoke(t, x509.RevocationList{}, one))
		var log bytes.Buffer
		s, err := tlsfile.Open(tlsfile.Files{Cert: cert, Key: key, ClientCA: clientCA, ClientCRL: crl, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		config := s.Config("h2")
		lets := func(when string, want string) {
			t.Helper()
			got := ""
			for _, c := range []struct {
				name  string
				pair  *tlstest.Pair
				above []*tlstest.Authority
			}{{"one", one, nil}, {"two", two, nil}, {"deep", deep, []*tlstest.Authority{below}}, {"foreign", foreign, nil}} {
				shown := c.pair.TLS()
				chain := []*x509.Certificate{c.pair.Leaf}
				for _, a := range c.above {
					shown.Certificate, chain = append(shown.Certificate, a.Leaf.Raw), append(chain, a.Leaf)
				}
				_, _, err := shake(t, config, &tls.Config{RootCAs: ca.Pool(), ServerName: "hub.example", GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &shown, nil }})
				if err == nil {
					got += " " + c.name
				}
				if again := s.Good([][]*x509.Certificate{chain}); (again == nil) != (err == nil) {
					t.Errorf("%s: %s is let in with %v, and later it is %v", when, c.name, err, again)
				}
			}
			if _, _, err := shake(t, config, &tls.Config{RootCAs: ca.Pool(), ServerName: "hub.example"}); err != nil {
				t.Errorf("%s: without a certificate: %v", when, err)
			}
			if got != want {
				t.Errorf("%s: let in are%s, want%s\n%s", when, got, want, &log)
			}
		}
		lets("at first", " two deep foreign")
		write(crl, ca.Revoke(t, x509.RevocationList{}, two, &below.Pair))
		lets("with another list", " one foreign")
		older := ca.Revoke(t, x509.RevocationList{}, two)
		newer := ca.Revoke(t, x509.RevocationList{}, two, &below.Pair)
		write(crl, newer)
		lets("with a newer list", " one foreign")
		write(crl, older, other.Revoke(t, x509.RevocationList{}, foreign))
		lets("with an older list beside a new one of another authority", " one")
		if text := log.String(); !strings.Contains(text, "older than the current one") || !strings.Contains(text, "CN=ca") {
			t.Errorf("the log does not name the older list:\n%s", text)
		}
		write(crl, newer)
		lets("with the newer list again", " one foreign")
		if err := os.Remove(crl); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		lets("without the file", " one foreign")
		write(crl, []byte("garbage"))
		lets("with garbage", " one foreign")
		evil := tlstest.NewAuthority(t, "ca")
		write(crl, evil.Revoke(t, x509.RevocationList{}))
		lets("with a list that somebody else has signed", " one foreign")
		write(crl, ca.Revoke(t, x509.RevocationList{}), other.Revoke(t, x509.RevocationList{NextUpdate: time.Now().Add(30 * time.Minute)}, foreign))
		lets("with two lists", " one two deep")
		write(crl, ca.Revoke(t, x509.RevocationList{NextUpdate: time.Now().Add(10 * time.Minute)}), other.Revoke(t, x509.RevocationList{}))
		lets("with lists that are good", " one two deep foreign")
		time.Sleep(11 * time.Minute)
		synctest.Wait()
		// No list was added for "below", and the list of its authority has expired.
		lets("when one list has ended", " foreign")
		lets("and again", " foreign")
		if n := strings.Count(log.String(), "a revocation list has expired"); n != 1 {
			t.Errorf("the end of a list is logged %d times, want once:\n%s", n, &log)
		}
		write(crl, ca.Revoke(t, x509.RevocationList{}))
		lets("with a new one", " one two deep foreign")
		want := []tlsfile.List{{Authority: "CN=ca", Ends: s.Lists()[0].Ends}}
		if diff := cmp.Diff(want, s.Lists()); diff != "" {
			t.Errorf("Lists (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{"CN=other"}, s.Unlisted()); diff != "" {
			t.Errorf("Unlisted (-want +got):\n%s", diff)
		}
	})
}

// TestBadLists has lists with which a server does not start.
func TestBadLists(t *testing.T) {
	t.Parallel()
	ca, evil, dir := tlstest.NewAuthority(t, "ca"), tlstest.NewAuthority(t, "ca"), t.TempDir()
	cert, key := ca.Issue(t, hub).Write(t, dir, "hub")
	clientCA, _ := ca.Write(t, dir, "ca")
	crl := filepath.Join(dir, "crl.pem")
	open := func(text []byte) error {
		if err := os.WriteFile(crl, text, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := tlsfile.Open(tlsfile.Files{Cert: cert, Key: key, ClientCA: clientCA, ClientCRL: crl})
		return err
	}
	good, revoked := ca.Revoke(t, x509.RevocationList{}), ca.Issue(t, x509.Certificate{}).Leaf.SerialNumber
	critical := pkix.Extension{Id: asn1.ObjectIdentifier{2, 5, 29, 28}, Critical: true, Value: []byte{0x30, 0}}
	for name, tt := range map[string]struct {
		text []byte
		says string
	}{
		"empty":         {nil, "revocation list 1 cannot be read"},
		"a certificate": {ca.CertPEM, "revocation list 1 cannot be read"},
		"cut short":     {pem.EncodeToMemory(&pem.Block{Type: "X509 CRL", Bytes: []byte{0x30, 0x03}}), "revocation list 1 cannot be read"},
		"forged":        {evil.Revoke(t, x509.RevocationList{}), `revocation list 1 was issued by "CN=ca", but none of the authorities has signed it`},
		"twice":         {append(bytes.Clone(good), good...), `revocation list 2 is the second one of "CN=ca"`},
		"partial":       {ca.Revoke(t, x509.RevocationList{ExtraExtensions: []pkix.Extension{critical}}), "revocation list 1 has a critical extension"},
		"indirect": {ca.Revoke(t, x509.RevocationList{RevokedCertificateEntries: []x509.RevocationListEntry{
			{SerialNumber: revoked, RevocationTime: time.Now(), ExtraExtensions: []pkix.Extension{critical}},
		}}), "revocation list 1 has a critical extension"},
	} {
		err := open(tt.text)
		var f *tlsfile.FileError
		if !errors.As(err, &f) || f.Which != "client_crl" || !strings.Contains(err.Error(), crl+": "+tt.says) {
			t.Errorf("%s: %v, want %q", name, err, tt.says)
		}
	}
	der, _ := pem.Decode(good)
	for name, text := range map[string][]byte{"PEM": good, "DER": der.Bytes} {
		if err := open(text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := os.Remove(crl); err != nil {
		t.Fatal(err)
	}
	if _, err := tlsfile.Open(tlsfile.Files{Cert: cert, Key: key, ClientCA: clientCA, ClientCRL: crl}); err == nil || !strings.Contains(err.Error(), crl) {
		t.Errorf("without the file: %v", err)
	}
}
