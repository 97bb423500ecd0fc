package safedial

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
)

// startServer serves h on loopback and returns its port.
func startServer(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	_, port, err := net.SplitHostPort(s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// newClient returns a client of p whose idle connections are closed. A dialer replaces that of p,
// unless it is nil; the client then follows redirects.
func newClient(t *testing.T, p *Policy, d *Dialer) *http.Client {
	c := p.Client()
	if d != nil {
		d.Policy = p
		c = &http.Client{Transport: d.Transport()}
	}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

func get(t *testing.T, c *http.Client, url string) (*http.Response, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer secret")
	r.Header.Set("A2A-Notification-Token", "token")
	r.Header.Set("A2A-Version", "1.0")
	resp, err := c.Do(r)
	if err == nil {
		t.Cleanup(func() { resp.Body.Close() })
	}
	return resp, err
}

func TestRebinding(t *testing.T) {
	t.Parallel()
	var reached atomic.Bool
	port := startServer(t, func(http.ResponseWriter, *http.Request) { reached.Store(true) })
	p := new(Policy)
	d := &Dialer{
		Resolver: resolver(t, "rebind.example=93.184.216.34", "rebind.example=127.0.0.1"),
		Control:  func(context.Context, string, string, syscall.RawConn) error { return errAllowed },
	}
	c := newClient(t, p, d)
	hook := "http://rebind.example.:" + port + "/"
	if err := p.CheckURL(hook); err != nil {
		t.Fatal(err)
	}
	if _, err := get(t, c, hook); !errors.Is(err, errAllowed) {
		t.Fatalf("the first request: %v, want its public address to be allowed", err)
	}
	if _, err := get(t, c, hook); !errors.Is(err, ErrForbidden) {
		t.Errorf("the second request: %v, want ErrForbidden", err)
	}
	if reached.Load() {
		t.Error("a name that changed its mind led inside")
	}
}

func TestEachAddressOfANameIsChecked(t *testing.T) {
	t.Parallel()
	port := startServer(t, func(http.ResponseWriter, *http.Request) {})
	d := &Dialer{Resolver: resolver(t, "mixed.example=10.255.255.1,127.0.0.1"), Policy: mustParse(t, "127.0.0.1")}
	conn, err := d.DialContext(t.Context(), "tcp", "mixed.example.:"+port)
	if err != nil {
		t.Fatalf("dial: %v, want the allowed address to be used", err)
	}
	defer conn.Close()
	if got := conn.RemoteAddr().String(); got != "127.0.0.1:"+port {
		t.Errorf("connected to %s", got)
	}
}

func TestRedirectInside(t *testing.T) {
	t.Parallel()
	inside := startServer(t, func(http.ResponseWriter, *http.Request) { t.Error("a redirect led inside") })
	for name, location := range map[string]string{
		"literal":  "http://127.0.0.2:" + inside + "/",
		"mapped":   "http://[::ffff:127.0.0.2]:" + inside + "/",
		"name":     "http://inside.example.:" + inside + "/",
		"spelling": "http://0x7f000002:" + inside + "/",
		"user":     "http://a:b@127.0.0.1:" + inside + "/",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			port := startServer(t, func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, location, http.StatusTemporaryRedirect)
			})
			p := mustParse(t, "127.0.0.1")
			c := newClient(t, p, &Dialer{Resolver: resolver(t, "inside.example=127.0.0.2")})
			resp, err := get(t, c, "http://127.0.0.1:"+port+"/")
			if !errors.Is(err, ErrForbidden) && !errors.Is(err, ErrInvalid) {
				t.Errorf("redirect to %s: %v, %v, want it to be refused", location, resp, err)
			}
			if strings.Contains(Explain(err), "127.0.0.2") != (name == "literal" || name == "mapped") {
				t.Errorf("Explain = %q", Explain(err))
			}
		})
	}
}

func TestRedirectsAreNotFollowedByDefault(t *testing.T) {
	t.Parallel()
	port := startServer(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			t.Error("the redirect was followed")
		}
		http.Redirect(w, r, "/next", http.StatusFound)
	})
	c := newClient(t, mustParse(t, "loopback"), nil)
	resp, err := get(t, c, "http://127.0.0.1:"+port+"/")
	if err != nil || resp.StatusCode != http.StatusFound {
		t.Errorf("got %v, %v, want the redirect itself", resp, err)
	}
}

func TestCertificatesAreVerified(t *testing.T) {
	t.Parallel()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the request arrived") }))
	s.Config.ErrorLog = quiet()
	s.StartTLS()
	t.Cleanup(s.Close)
	_, err := get(t, newClient(t, mustParse(t, "loopback"), nil), s.URL)
	if got := Explain(err); !strings.Contains(got, "certificate") {
		t.Errorf("got %v (%q), want it to be about the certificate", err, got)
	}
}

// TestProxyOfTheEnvironmentIsIgnored cannot run in parallel, because it sets variables.
func TestProxyOfTheEnvironmentIsIgnored(t *testing.T) {
	proxy := startServer(t, func(http.ResponseWriter, *http.Request) { t.Error("the proxy was asked") })
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY"} {
		t.Setenv(name, "http://127.0.0.1:"+proxy)
	}
	d := &Dialer{
		Resolver: resolver(t, "hooks.example=93.184.216.34"),
		Control:  func(context.Context, string, string, syscall.RawConn) error { return errAllowed },
	}
	c := newClient(t, nil, d)
	if _, err := get(t, c, "http://hooks.example./"); !errors.Is(err, errAllowed) {
		t.Errorf("got %v, want the address itself to be dialed", err)
	}
}

func TestTransportChecksUnregisteredRequests(t *testing.T) {
	t.Parallel()
	tr := new(Policy).Transport()
	t.Cleanup(tr.CloseIdleConnections)
	for _, raw := range []string{"http://127.1/", "http://user@example.org/", "http://localhost/", "http://[::1]/"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, raw, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tr.RoundTrip(r); !errors.Is(err, ErrForbidden) && !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v, want it to be refused", raw, err)
		}
	}
}

func TestHeadersOfResponsesAreBounded(t *testing.T) {
	t.Parallel()
	port := startServer(t, func(w http.ResponseWriter, _ *http.Request) {
		for range 64 {
			w.Header().Add("X-Large", strings.Repeat("x", 4<<10))
		}
	})
	if resp, err := get(t, newClient(t, mustParse(t, "loopback"), nil), "http://127.0.0.1:"+port+"/"); err == nil {
		t.Errorf("got %d with 256 KiB of headers, want an error", resp.StatusCode)
	}
}
