package cli

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	a2agrpc "github.com/a2aproject/a2a-go/v2/a2agrpc/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/parley-a2a/parley/internal/config"
	"github.com/parley-a2a/parley/internal/server"
	"github.com/parley-a2a/parley/internal/testing/testenv"
	"github.com/parley-a2a/parley/internal/testing/tlstest"
)

// tlsHub is a hub with TLS, an authority that it trusts and one that it does not trust.
type tlsHub struct {
	*server.Hub
	t          *testing.T
	acme, evil *tlstest.Authority
	dir        string
	log        *testenv.Buffer
	settings   *config.Config
}

const buyerID = "spiffe://acme.example/agent/buyer"

// rulesOfTest allow the buyer, by certificate and by key, and a few other callers.
const rulesOfTest = `
agents_builtin: true
auth:
  api_keys:
    key-of-the-buyer-0123: {agent_id: buyer}
    key-of-another-0123456: {agent_id: another}
  certificates:
    - {uri: "` + buyerID + `", agent_id: buyer}
    - {dns: worker.acme.example, agent_id: worker, roles: [admin]}
    - {each: email, name: acme, ca: acme.pem}
`

// startTLS serves with a TLS configuration until the test ends.
func startTLS(t *testing.T, more, rules string) *tlsHub {
	t.Helper()
	h := &tlsHub{
		t: t, acme: tlstest.NewAuthority(t, "acme"), evil: tlstest.NewAuthority(t, "evil"), dir: t.TempDir(), log: new(testenv.Buffer),
	}
	h.acme.Write(t, h.dir, "acme")
	h.acme.Issue(t, x509.Certificate{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}).Write(t, h.dir, "hub")
	if err := os.WriteFile(filepath.Join(h.dir, "crl.pem"), h.acme.Revoke(t, x509.RevocationList{}), 0o600); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(h.dir, "parley.yaml")
	text := "tls: {cert: hub.pem, key: hub.key, client_ca: acme.pem" + more + "}\nbus: {url: off}\n" + rules
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c := serveCmd{Config: file, Listen: "127.0.0.1:0", GRPCListen: "127.0.0.1:0", Data: t.TempDir()}
	cfg, err := c.settings()
	if err != nil {
		t.Fatal(err)
	}
	h.settings = cfg
	h.Hub, _ = running(t, cfg, slog.New(slog.NewTextHandler(h.log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	return h
}

// config returns the TLS configuration of a caller with a certificate, or without one if p is
// nil.
func (h *tlsHub) config(p *tlstest.Pair) *tls.Config {
	c := &tls.Config{RootCAs: h.acme.Pool()}
	if p != nil {
		pair := p.TLS()
		c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
	}
	return c
}

// web returns a client for HTTP/1.1 or HTTP/2, which is closed when the test ends.
func (h *tlsHub) web(c *tls.Config, http2 bool) *http.Client {
	t := &http.Transport{TLSClientConfig: c, ForceAttemptHTTP2: http2}
	h.t.Cleanup(t.CloseIdleConnections)
	return &http.Client{Transport: t}
}

// rpc makes a JSON-RPC call and returns the status and the body.
func (h *tlsHub) rpc(web *http.Client, body string, lines ...string) (int, string, error) {
	h.t.Helper()
	q := httpQuery{web: web, at: h.URL(), what: "POST /a2a", body: body, header: append([]string{"A2A-Version: 1.0"}, lines...)}
	resp, err := q.ask(h.t.Context())
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b), err
}

const (
	sendV1  = `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"%s","role":"ROLE_USER","parts":[{"text":"hello"}]}}}`
	sendV03 = `{"jsonrpc":"2.0","id":1,"method":"message/%s","params":{"message":{"kind":"message","messageId":"%s","role":"user","parts":[{"kind":"text","text":"hello"}]}}}`
	listV1  = `{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{}}`
)

func parsedURL(t *testing.T, text string) *url.URL {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// TestMutualTLSRefuses lists callers that are refused by the handshake, or by the hub with the
// same text for all. Each is tried over HTTP and gRPC.
func TestMutualTLSRefuses(t *testing.T) {
	t.Parallel()
	h := startTLS(t, "", rulesOfTest)
	past, later := time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	buyer := []*url.URL{parsedURL(t, buyerID)}
	worker := "worker.acme.example"
	var group sync.WaitGroup
	for name, tc := range map[string]struct {
		by        *tlstest.Authority
		cert      *x509.Certificate
		headers   []string
		handshake bool // the handshake refuses
		want      bool // the caller is allowed, as a check of the table itself
	}{
		"the buyer":                    {by: h.acme, cert: &x509.Certificate{URIs: buyer}, want: true},
		"one of many":                  {by: h.acme, cert: &x509.Certificate{EmailAddresses: []string{"a@acme.example"}}, want: true},
		"none":                         {},
		"another CA":                   {by: h.evil, cert: &x509.Certificate{URIs: buyer}, handshake: true},
		"expired":                      {by: h.acme, cert: &x509.Certificate{URIs: buyer, NotBefore: past.Add(-time.Hour), NotAfter: past}, handshake: true},
		"not yet valid":                {by: h.acme, cert: &x509.Certificate{URIs: buyer, NotBefore: later, NotAfter: later.Add(time.Hour)}, handshake: true},
		"for servers only":             {by: h.acme, cert: &x509.Certificate{URIs: buyer, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}, handshake: true},
		"nobody knows it":              {by: h.acme, cert: &x509.Certificate{URIs: []*url.URL{parsedURL(t, "spiffe://acme.example/agent/thief")}}},
		"longer":                       {by: h.acme, cert: &x509.Certificate{URIs: []*url.URL{parsedURL(t, buyerID+"/x")}}},
		"the name in the wrong field":  {by: h.acme, cert: &x509.Certificate{Subject: pkix.Name{CommonName: buyerID}}},
		"a common name for a DNS name": {by: h.acme, cert: &x509.Certificate{Subject: pkix.Name{CommonName: worker}}},
		"capitals":                     {by: h.acme, cert: &x509.Certificate{DNSNames: []string{"Worker.acme.example"}}},
		"a dot at the end":             {by: h.acme, cert: &x509.Certificate{ExtraExtensions: []pkix.Extension{dnsExtension(worker + ".")}}, handshake: true},
		"a NUL":                        {by: h.acme, cert: &x509.Certificate{ExtraExtensions: []pkix.Extension{dnsExtension(worker + "\x00.evil.example")}}, handshake: true},
		"a wildcard":                   {by: h.acme, cert: &x509.Certificate{DNSNames: []string{"*.acme.example"}}},
		"two addresses of mail":        {by: h.acme, cert: &x509.Certificate{EmailAddresses: []string{"a@acme.example", "b@acme.example"}}},
		"a wrong key beside it":        {by: h.acme, cert: &x509.Certificate{URIs: buyer}, headers: []string{"X-Api-Key: wrong-key-0123456789"}},
		"a header of a proxy":          {headers: []string{"X-Client-Cert: " + buyerID, "X-Forwarded-Client-Cert: URI=" + buyerID, "X-SSL-Client-Verify: SUCCESS"}},
		"a header and a strange one":   {by: h.acme, cert: &x509.Certificate{DNSNames: []string{"x.example"}}, headers: []string{"X-Forwarded-Client-Cert: URI=" + buyerID}},
		"the certificate in a header":  {headers: []string{"Client-Cert: :" + strings.Repeat("A", 64) + ":", "X-Client-Subject: CN=" + worker}},
	} {
		// The answers to refused callers are delayed, so all rows run concurrently.
		group.Go(func() {
			var shown *tlstest.Pair
			if tc.cert != nil {
				shown = tc.by.Issue(t, *tc.cert)
			}
			status, body, err := h.rpc(h.web(h.config(shown), true), fmt.Sprintf(sendV1, "m-"+name), tc.headers...)
			switch {
			case tc.want && (err != nil || status != 200):
				t.Errorf("%s: %d %s %v, want to be let in", name, status, body, err)
			case tc.handshake && err == nil && status != 401:
				t.Errorf("%s: %d %s, want that the handshake fails", name, status, body)
			case !tc.want && !tc.handshake && (status != 401 || !strings.Contains(body, "Authentication required: provide X-Api-Key header or a bearer token")):
				t.Errorf("%s: %d %s %v, want the error that all callers get", name, status, body, err)
			}
			if err := h.overGRPC(shown, tc.headers); (err == nil) != tc.want {
				t.Errorf("%s over gRPC: %v, want to be let in: %v", name, err, tc.want)
			}
		})
	}
	group.Wait()
	if log := h.log.String(); !strings.Contains(log, "no rule names it (uri") || !strings.Contains(log, "agent/thief") {
		t.Error("the log does not name the unknown certificate")
	}
}

// dnsExtension returns an extension with a DNS name that package x509 would not put into a
// certificate.
func dnsExtension(name string) pkix.Extension {
	der := append([]byte{0x30, byte(len(name) + 2), 0x82, byte(len(name))}, name...)
	return pkix.Extension{Id: []int{2, 5, 29, 17}, Value: der}
}

// overGRPC lists the tasks with the certificate and with the headers as metadata.
func (h *tlsHub) overGRPC(p *tlstest.Pair, headers []string) error {
	ctx, cancel := context.WithTimeout(h.t.Context(), time.Minute)
	defer cancel()
	c, err := a2aclient.NewFromEndpoints(ctx, []*a2a.AgentInterface{a2a.NewAgentInterface(h.About().GRPC, a2a.TransportProtocolGRPC)},
		a2aclient.WithDefaultsDisabled(), a2agrpc.WithGRPCTransport(grpc.WithTransportCredentials(credentials.NewTLS(h.config(p)))))
	if err != nil {
		return err
	}
	defer c.Destroy()
	params := make(a2aclient.ServiceParams)
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ": ")
		params[strings.ToLower(name)] = []string{value}
	}
	_, err = c.ListTasks(a2aclient.AttachServiceParams(ctx, params), &a2a.ListTasksRequest{})
	return err
}

// TestMutualTLSRequired checks that a hub that requires certificates serves no caller without
// one.
func TestMutualTLSRequired(t *testing.T) {
	t.Parallel()
	h := startTLS(t, ", clients: required", rulesOfTest)
	if resp, err := h.web(h.config(nil), true).Get(h.URL() + "/healthz"); err == nil {
		resp.Body.Close()
		t.Errorf("/healthz without a certificate: %s", resp.Status)
	}
	buyer := h.acme.Issue(t, x509.Certificate{URIs: []*url.URL{parsedURL(t, buyerID)}})
	status, body, err := h.rpc(h.web(h.config(buyer), true), fmt.Sprintf(sendV1, "m"))
	if err != nil || status != 200 {
		t.Errorf("with one: %d %s %v", status, body, err)
	}
	// Without TLS, no caller is served.
	resp, err := http.Get(strings.Replace(h.URL(), "https:", "http:", 1) + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	http.DefaultClient.CloseIdleConnections()
	if resp.Body.Close(); resp.StatusCode != http.StatusBadRequest {
		t.Errorf("in the clear: %s", resp.Status)
	}
}

// TestMutualTLSCard checks that cards declare that a certificate is enough, in the form of
// either version, and name HTTPS addresses.
func TestMutualTLSCard(t *testing.T) {
	t.Parallel()
	h := startTLS(t, "", rulesOfTest)
	web := h.web(h.config(nil), true)
	for path, scheme := range map[string]string{
		"/.well-known/agent-card.json": `"mutualTLS":{"mtlsSecurityScheme":{`,
		"/.well-known/agent.json":      `"type":"mutualTLS"`,
	} {
		resp, err := web.Get(h.URL() + path)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{scheme, `"url":"` + h.URL() + `/a2a"`, `"mutualTLS":`} {
			if !strings.Contains(string(b), want) {
				t.Errorf("%s lacks %s:\n%s", path, want, b)
			}
		}
		if strings.Contains(string(b), "http://127") {
			t.Errorf("%s names an address in the clear:\n%s", path, b)
		}
	}
}

// TestCertFlagsFollow checks that proposed commands have the same files as the command itself.
func TestCertFlagsFollow(t *testing.T) {
	t.Parallel()
	c := target{URL: defaultURL, certFlags: certFlags{CA: "ca.pem", ClientCert: "my cert.pem", ClientKey: "k"}}
	if got, want := c.flags(), " --ca ca.pem --client-cert 'my cert.pem' --client-key k"; got != want {
		t.Errorf("flags() = %q, want %q", got, want)
	}
	if h := c.hub(); h.certFlags != c.certFlags {
		t.Errorf("the hub's own interface is asked with %+v", h.certFlags)
	}
}

// TestStrictTransportSecurity checks that all answers carry the header if the configuration sets
// it, over both versions of HTTP, and none otherwise.
func TestStrictTransportSecurity(t *testing.T) {
	t.Parallel()
	for more, want := range map[string]string{"": "", ", hsts: 365d": "max-age=31536000", ", hsts: 90s": "max-age=90"} {
		h := startTLS(t, more, rulesOfTest)
		for _, path := range []string{"/.well-known/agent-card.json", "/healthz", "/console/", "/v1/a2a/tasks", "/nothing"} {
			for _, http2 := range []bool{true, false} {
				req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, h.URL()+path, http.NoBody)
				if err != nil {
					t.Fatal(err)
				}
				resp, err := h.web(h.config(nil), http2).Do(req)
				if err != nil {
					t.Fatal(err)
				}
				resp.Body.Close()
				if got := resp.Header.Get("Strict-Transport-Security"); got != want {
					t.Errorf("%q: %s %s has %q, want %q", more, resp.Proto, path, got, want)
				}
			}
		}
	}
}
