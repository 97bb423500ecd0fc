package caller_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/client"
	"github.com/parley-a2a/parley/grpcbind"
	"github.com/parley-a2a/parley/internal/agents/builtin"
	"github.com/parley-a2a/parley/internal/outbound/caller"
	"github.com/parley-a2a/parley/internal/outbound/card"
	"github.com/parley-a2a/parley/internal/outbound/peer"
	"github.com/parley-a2a/parley/internal/outbound/transport"
)

// authority signs certificates.
type authority struct {
	t    *testing.T
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{t: t, dir: t.TempDir()}
	a.cert, a.key = a.sign("authority", time.Now().Add(time.Hour))
	return a
}

// sign writes a certificate with an expiry, and its key, to NAME.pem and NAME.key.
func (a *authority) sign(name string, end time.Time) (*x509.Certificate, *ecdsa.PrivateKey) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: end.Add(-2 * time.Hour), NotAfter: end, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		BasicConstraintsValid: true, IsCA: a.cert == nil, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	parent, signer := template, key
	if a.cert != nil {
		parent, signer = a.cert, a.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		a.t.Fatal(err)
	}
	secret, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	a.write(name+".pem", "CERTIFICATE", der)
	a.write(name+".key", "EC PRIVATE KEY", secret)
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return cert, key
}

func (a *authority) write(name, kind string, der []byte) {
	a.t.Helper()
	if err := os.WriteFile(a.file(name), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		a.t.Fatal(err)
	}
}

func (a *authority) file(name string) string { return filepath.Join(a.dir, name) }

// demanding returns the configuration of a server that requires client certificates.
func (a *authority) demanding(name string) *tls.Config {
	a.t.Helper()
	pair, err := tls.LoadX509KeyPair(a.file(name+".pem"), a.file(name+".key"))
	if err != nil {
		a.t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return &tls.Config{
		MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}, NextProtos: []string{"h2", "http/1.1"},
		ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool,
	}
}

// secured starts a hub whose HTTP and gRPC listeners have a TLS configuration, and returns
// their addresses.
func secured(t *testing.T, config *tls.Config) (web, calls string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h := new(parley.Hub)
	server := httptest.NewUnstartedServer(h.Handler())
	server.TLS, server.Config.ErrorLog = config, log.New(io.Discard, "", 0)
	h.PublicURL = "https://" + server.Listener.Addr().String()
	for _, a := range builtin.Agents() {
		if a.Name == "echo" {
			h.Handle(a.Card, a.Executor)
		}
	}
	server.StartTLS()
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 2)
	go func() { done <- h.Run(ctx) }()
	go func() {
		done <- grpcbind.New(grpcbind.Config{Engine: h.Engine()}).Serve(ctx, tls.NewListener(l, config))
	}()
	t.Cleanup(func() {
		server.Close()
		stop()
		<-done
		<-done
	})
	return h.PublicURL, "https://" + l.Addr().String()
}

// TestCertificates calls a hub that requires certificates, over both kinds of transports.
func TestCertificates(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	a.sign("server", time.Now().Add(time.Hour))
	a.sign("caller", time.Now().Add(time.Hour))
	a.sign("late", time.Now().Add(-time.Minute))
	type place struct{ web, calls string }
	var at, late place
	at.web, at.calls = secured(t, a.demanding("server"))
	late.web, late.calls = secured(t, a.demanding("late"))
	other := newAuthority(t)
	other.sign("caller", time.Now().Add(time.Hour))
	for name, tt := range map[string]struct {
		at   place
		tls  client.TLS
		want string // a part of the error text; empty for no error
	}{
		"with a certificate": {at, client.TLS{CertFile: a.file("caller.pem"), KeyFile: a.file("caller.key"), CAFile: a.file("authority.pem")}, ""},
		"without one":        {at, client.TLS{CAFile: a.file("authority.pem")}, "certificate required"},
		"with a stranger's": {
			at,
			client.TLS{CertFile: other.file("caller.pem"), KeyFile: other.file("caller.key"), CAFile: a.file("authority.pem")},
			"unknown certificate authority",
		},
		"without trust in the server": {at, client.TLS{CertFile: a.file("caller.pem"), KeyFile: a.file("caller.key")}, "signed by unknown authority"},
		"at a server that has expired": {
			late,
			client.TLS{CertFile: a.file("caller.pem"), KeyFile: a.file("caller.key"), CAFile: a.file("authority.pem")},
			"certificate has expired",
		},
	} {
		for binding, url := range map[a2a.TransportProtocol]string{
			a2a.TransportProtocolJSONRPC: tt.at.web, a2a.TransportProtocolHTTPJSON: tt.at.web, a2a.TransportProtocolGRPC: tt.at.calls,
		} {
			t.Run(name+"/"+string(binding), func(t *testing.T) {
				t.Parallel()
				text, err := greet(t, url, binding, &tt.tls)
				switch {
				case tt.want == "" && (err != nil || text != "hello"):
					t.Errorf("the echo is %q, %v", text, err)
				case tt.want != "" && !hasText(err, tt.want):
					t.Errorf("error %v, want one that says %q", err, tt.want)
				}
			})
		}
	}
}

// hasText reports whether the error contains want. A server of TLS 1.3 verifies a caller after the
// handshake; the end of the connection may arrive before its alert.
func hasText(err error, want string) bool {
	if err == nil {
		return false
	}
	text := []string{want}
	if strings.Contains(want, "required") || strings.Contains(want, "unknown certificate") {
		text = append(text, "broken pipe", "connection reset", "client conn could not be established")
	}
	return slices.ContainsFunc(text, func(s string) bool { return strings.Contains(err.Error(), s) })
}

// greet sends a message over a binding, and returns the reply. Over gRPC the card exists
// already, so that only gRPC can fail.
func greet(t *testing.T, url string, binding a2a.TransportProtocol, certificate *client.TLS) (string, error) {
	t.Helper()
	o := client.Options{
		Credentials: client.Credentials{TLS: certificate}, Bindings: []a2a.TransportProtocol{binding},
		Transports: map[a2a.TransportProtocol]client.Transport{a2a.TransportProtocolGRPC: caller.Dial},
	}
	var c *client.Client
	var err error
	if binding == a2a.TransportProtocolGRPC {
		c, err = client.New(&a2a.AgentCard{Name: "echo", SupportedInterfaces: []*a2a.AgentInterface{a2a.NewAgentInterface(url, binding)}}, o)
	} else {
		c, err = client.Dial(t.Context(), url, o)
	}
	if err != nil {
		return "", err
	}
	defer c.Close()
	res, err := c.Send(t.Context(), &a2a.SendMessageRequest{Message: a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart("hello"))})
	if err != nil {
		return "", err
	}
	task, ok := res.(*a2a.Task)
	if !ok || len(task.Artifacts) == 0 {
		t.Fatalf("Send() = %v, want a task with an artifact", res)
	}
	return task.Artifacts[0].Parts[0].Text(), nil
}

// TestCertificateStaysAtHome follows a card to another host than the configured one.
func TestCertificateStaysAtHome(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	a.sign("server", time.Now().Add(time.Hour))
	a.sign("caller", time.Now().Add(time.Hour))
	_, calls := secured(t, a.demanding("server"))
	for configured, want := range map[string]string{calls: "Task not found", "https://localhost": "certificate required"} {
		p, err := peer.New(&card.Card{A2A: &a2a.AgentCard{
			Name: "echo", SupportedInterfaces: []*a2a.AgentInterface{a2a.NewAgentInterface(calls, a2a.TransportProtocolGRPC)},
		}}, &peer.Options{
			URL: configured, FollowCard: true, Retries: -1,
			Credentials: transport.Credentials{TLS: &transport.TLS{CertFile: a.file("caller.pem"), KeyFile: a.file("caller.key"), CAFile: a.file("authority.pem")}},
			Transports:  map[a2a.TransportProtocol]transport.Factory{a2a.TransportProtocolGRPC: caller.Dial},
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Get(t.Context(), "none", nil); !hasText(err, want) {
			t.Errorf("configured as %s: error %v, want one that says %q", configured, err, want)
		}
		p.Close()
	}
}
