package tlsfile_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/parley-a2a/parley/internal/file/tlsfile"
	"github.com/parley-a2a/parley/internal/testing/tlstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var hub = x509.Certificate{DNSNames: []string{"hub.example"}}

// shake performs a handshake over a pipe. It returns both states; the error is that of the
// client.
func shake(t *testing.T, server, client *tls.Config) (s, c tls.ConnectionState, err error) {
	t.Helper()
	here, there := net.Pipe()
	defer here.Close()
	done := make(chan tls.ConnectionState, 1)
	go func() {
		defer there.Close()
		conn := tls.Server(there, server)
		if conn.Handshake() == nil {
			conn.Write([]byte{1})
		}
		done <- conn.ConnectionState()
	}()
	conn := tls.Client(here, client)
	if err = conn.Handshake(); err == nil {
		_, err = conn.Read(make([]byte, 1)) // in TLS 1.3 the server refuses after the handshake
	}
	here.Close()
	return <-done, conn.ConnectionState(), err
}

// put replaces hub.pem and hub.key with a pair, as a renewal does.
func put(t *testing.T, dir string, p *tlstest.Pair) {
	t.Helper()
	p.Write(t, dir, "new")
	for _, ext := range []string{".pem", ".key"} {
		if err := os.Rename(filepath.Join(dir, "new"+ext), filepath.Join(dir, "hub"+ext)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestRenewal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ca, dir := tlstest.NewAuthority(t, "ca"), t.TempDir()
		first, second := ca.Issue(t, hub), ca.Issue(t, hub)
		cert, key := first.Write(t, dir, "hub")
		var log bytes.Buffer
		s, err := tlsfile.Open(tlsfile.Files{Cert: cert, Key: key, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		config := s.Config("h2", "http/1.1")
		shows := func(want *tlstest.Pair, when string) {
			t.Helper()
			_, c, err := shake(t, config, &tls.Config{RootCAs: ca.Pool(), ServerName: "hub.example", NextProtos: []string{"h2"}})
			if err != nil || !c.PeerCertificates[0].Equal(want.Leaf) || c.NegotiatedProtocol != "h2" {
				t.Errorf("%s: %v, %s, want the other certificate, over h2", when, err, c.NegotiatedProtocol)
			}
		}
		shows(first, "at first")
		put(t, dir, second)
		shows(first, "within the second")
		time.Sleep(time.Second)
		synctest.Wait()
		shows(second, "a second later")

		// A certificate without its key is an incomplete renewal.
		third := ca.Issue(t, hub)
		if err := os.WriteFile(cert, third.CertPEM, 0o600); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			time.Sleep(time.Second)
			synctest.Wait()
			shows(second, "while the key is missing")
		}
		if n := strings.Count(log.String(), "cannot be renewed"); n != 1 {
			t.Errorf("%d records about the broken renewal, want 1:\n%s", n, &log)
		}
		if err := os.WriteFile(key, third.KeyPEM, 0o600); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		shows(third, "when the key has come")
		if err := os.Remove(cert); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		shows(third, "when the file is gone")
	})
}

// TestClients has clients that a handshake refuses, and checks that no session is resumed.
func TestClients(t *testing.T) {
	t.Parallel()
	ca, evil, dir := tlstest.NewAuthority(t, "ca"), tlstest.NewAuthority(t, "evil"), t.TempDir()
	cert, key := ca.Issue(t, hub).Write(t, dir, "hub")
	clientCA, _ := ca.Write(t, dir, "ca")
	now := time.Now()
	serverOnly := []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	for name, tc := range map[string]struct {
		show               *tlstest.Pair
		optional, required bool // whether the handshake succeeds
	}{
		"none":        {nil, true, false},
		"good":        {ca.Issue(t, x509.Certificate{DNSNames: []string{"a"}}), true, true},
		"another CA":  {evil.Issue(t, x509.Certificate{DNSNames: []string{"a"}}), false, false},
		"expired":     {ca.Issue(t, x509.Certificate{NotBefore: now.Add(-2 * time.Hour), NotAfter: now.Add(-time.Hour)}), false, false},
		"not yet":     {ca.Issue(t, x509.Certificate{NotBefore: now.Add(time.Hour), NotAfter: now.Add(2 * time.Hour)}), false, false},
		"for servers": {ca.Issue(t, x509.Certificate{ExtKeyUsage: serverOnly}), false, false},
		"not its key": {&tlstest.Pair{Leaf: ca.Issue(t, hub).Leaf, Key: ca.Issue(t, hub).Key}, false, false},
		"self-signed": {&evil.Pair, false, false},
	} {
		for _, required := range []bool{false, true} {
			s, err := tlsfile.Open(tlsfile.Files{Cert: cert, Key: key, ClientCA: clientCA, Required: required})
			if err != nil {
				t.Fatal(err)
			}
			for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
				client := &tls.Config{
					RootCAs: ca.Pool(), ServerName: "hub.example", MinVersion: version, MaxVersion: version,
					ClientSessionCache: tls.NewLRUClientSessionCache(4),
				}
				if tc.show != nil {
					pair := tc.show.TLS()
					client.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
				}
				config := s.Config("h2")
				want := tc.optional && !required || tc.required && required
				for range 2 {
					state, _, err := shake(t, config, client)
					if (err == nil) != want {
						t.Errorf("%s, required %v, TLS %x: %v, want success to be %v", name, required, version, err, want)
					}
					if state.DidResume {
						t.Errorf("%s: a session was resumed, and its certificate not verified", name)
					}
					if n := len(state.VerifiedChains); err == nil && (n > 0) != (tc.show != nil) {
						t.Errorf("%s: %d chains", name, n)
					}
				}
			}
		}
	}
}

// Removed authorities are not accepted for connections that begin afterwards.
func TestAuthoritiesChange(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ca, next, dir := tlstest.NewAuthority(t, "ca"), tlstest.NewAuthority(t, "next"), t.TempDir()
		cert, key := ca.Issue(t, hub).Write(t, dir, "hub")
		clientCA, _ := ca.Write(t, dir, "ca")
		s, err := tlsfile.Open(tlsfile.Files{Cert: cert, Key: key, ClientCA: clientCA})
		if err != nil {
			t.Fatal(err)
		}
		client := &tls.Config{
			RootCAs: ca.Pool(), ServerName: "hub.example", ClientSessionCache: tls.NewLRUClientSessionCache(4),
		}
		pair := ca.Issue(t, hub).TLS()
		client.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
		config := s.Config("h2")
		if _, _, err := shake(t, config, client); err != nil {
			t.Fatal(err)
		}
		next.Write(t, dir, "ca")
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if _, _, err := shake(t, config, client); err == nil {
			t.Error("a certificate of the old authority is good after it was taken out")
		}
	})
}

func TestOldVersionsAreRefused(t *testing.T) {
	t.Parallel()
	ca := tlstest.NewAuthority(t, "ca")
	cert, key := ca.Issue(t, hub).Write(t, t.TempDir(), "hub")
	s, err := tlsfile.Open(tlsfile.Files{Cert: cert, Key: key})
	if err != nil {
		t.Fatal(err)
	}
	old := &tls.Config{RootCAs: ca.Pool(), ServerName: "hub.example", MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}
	if _, _, err := shake(t, s.Config(), old); err == nil {
		t.Error("TLS 1.1 is spoken")
	}
}

// TestClient tests the client's side: it sends a renewed certificate, and none that the server
// does not accept.
func TestClient(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ca, evil, dir := tlstest.NewAuthority(t, "ca"), tlstest.NewAuthority(t, "evil"), t.TempDir()
		cert, key := ca.Issue(t, hub).Write(t, dir, "hub")
		clientCA, _ := ca.Write(t, dir, "ca")
		s, err := tlsfile.Open(tlsfile.Files{Cert: cert, Key: key, ClientCA: clientCA})
		if err != nil {
			t.Fatal(err)
		}
		one := ca.Issue(t, x509.Certificate{})
		mine, mineKey := one.Write(t, dir, "me")
		client, err := tlsfile.Client(tlsfile.ClientFiles{Cert: mine, Key: mineKey, CA: clientCA})
		if err != nil {
			t.Fatal(err)
		}
		client.ServerName = "hub.example"
		shown := func() *x509.Certificate {
			state, _, err := shake(t, s.Config(), client)
			if err != nil || len(state.PeerCertificates) == 0 {
				return nil
			}
			return state.PeerCertificates[0]
		}
		if got := shown(); got == nil || !got.Equal(one.Leaf) {
			t.Errorf("the certificate is not shown: %v", got)
		}
		two := ca.Issue(t, x509.Certificate{})
		two.Write(t, dir, "me")
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if got := shown(); got == nil || !got.Equal(two.Leaf) {
			t.Errorf("the renewed certificate is not shown: %v", got)
		}
		evil.Issue(t, x509.Certificate{}).Write(t, dir, "me")
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if got := shown(); got != nil {
			t.Errorf("a certificate that the server does not want is shown")
		}
	})
}

// TestErrors has invalid files: each error names its file, and none contains its content.
func TestErrors(t *testing.T) {
	t.Parallel()
	ca, dir := tlstest.NewAuthority(t, "ca"), t.TempDir()
	cert, key := ca.Issue(t, hub).Write(t, dir, "hub")
	_, other := ca.Issue(t, hub).Write(t, dir, "other")
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	garbage := write("garbage.pem", "s3cret s3cret")
	for name, tc := range map[string]struct {
		files       tlsfile.Files
		which, says string
	}{
		"no certificate":       {tlsfile.Files{Cert: filepath.Join(dir, "x.pem"), Key: key}, "cert", "no such file"},
		"no key":               {tlsfile.Files{Cert: cert, Key: filepath.Join(dir, "x.key")}, "key", "no such file"},
		"no authorities":       {tlsfile.Files{Cert: cert, Key: key, ClientCA: filepath.Join(dir, "x")}, "client_ca", "no such file"},
		"not a certificate":    {tlsfile.Files{Cert: garbage, Key: key}, "cert", "has no certificate"},
		"a key in its place":   {tlsfile.Files{Cert: key, Key: key}, "cert", "has no certificate"},
		"not a key":            {tlsfile.Files{Cert: cert, Key: garbage}, "key", "is not the key of"},
		"another key":          {tlsfile.Files{Cert: cert, Key: other}, "key", "is not the key of"},
		"not authorities":      {tlsfile.Files{Cert: cert, Key: key, ClientCA: garbage}, "client_ca", "has no certificate"},
		"a folder":             {tlsfile.Files{Cert: dir, Key: key}, "cert", "is not a regular file"},
		"a broken certificate": {tlsfile.Files{Cert: write("b.pem", "-----BEGIN CERTIFICATE-----\nczNjcmV0\n-----END CERTIFICATE-----\n"), Key: key}, "cert", "certificate 1 is unreadable"},
	} {
		_, err := tlsfile.Open(tc.files)
		var f *tlsfile.FileError
		if !errors.As(err, &f) || f.Which != tc.which || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %v, want something about %s: %s", name, err, tc.which, tc.says)
			continue
		}
		if !strings.HasPrefix(err.Error(), f.Path+": ") || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v, want the file, and nothing that is in it", name, err)
		}
	}
	if _, err := tlsfile.Client(tlsfile.ClientFiles{CA: garbage}); err == nil {
		t.Error("Client takes garbage for authorities")
	}
}
