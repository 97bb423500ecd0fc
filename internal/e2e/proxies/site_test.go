package proxies

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/http/cookiejar"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
	"github.com/parley-a2a/parley/internal/testing/testenv"
	"github.com/parley-a2a/parley/internal/testing/tlstest"
)

const (
	host = "agents.example"
	key  = "prl_the-key-of-the-operator-0123456789"
	// silence is longer than the time after which the proxies end an idle connection by default.
	silence = "65"
)

// newHub starts a hub that callers reach at https://agents.example and a path.
func newHub(t *testing.T, path string) *hubtest.Hub {
	t.Helper()
	return hubtest.Start(t, hubtest.Options{Config: "public_url: https://" + host + path + `
cards: {grpc_url: https://` + host + `}
auth: {api_keys: {` + key + `: {agent_id: me, roles: [admin]}}}
agents_builtin: true
agents:
  - {name: silent, description: Says nothing for a while., command: "sleep ` + silence + `; echo late"}
`})
}

// proxy is a program of the page.
type proxy struct {
	name string
	// files are its files on the page, the main one first.
	files []string
	// adapt replaces addresses and paths of the page by those of the test.
	adapt func(t *testing.T, text string, at place) string
	// args are its arguments.
	args func(file string) []string
}

// place is where a test has a proxy and its files.
type place struct{ dir, port string }

var proxies = []proxy{
	{
		name: "nginx", files: []string{"nginx.conf"},
		adapt: func(t *testing.T, text string, at place) string {
			text = replaced(t, text, "listen 443 ", "listen 127.0.0.1:"+at.port+" ", "/etc/ssl", at.dir)
			var temporary strings.Builder
			for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
				fmt.Fprintf(&temporary, "%s_temp_path %s/%s; ", kind, at.dir, kind)
			}
			return "daemon off; master_process off; pid nginx.pid; error_log stderr; events {}\nhttp { access_log off; " + temporary.String() + "\n" + text + "}\n"
		},
		args: func(file string) []string { return []string{"-p", filepath.Dir(file), "-e", "stderr", "-c", file} },
	},
	{
		name: "Caddy", files: []string{"Caddyfile"},
		adapt: func(t *testing.T, text string, at place) string {
			text = replaced(t, text, host+" {", host+":"+at.port+" {\n\tbind 127.0.0.1\n\ttls "+at.dir+"/"+host+".pem "+at.dir+"/"+host+".key")
			return "{\n\tadmin off\n\tauto_https disable_redirects\n\tstorage file_system " + at.dir + "\n}\n" + text
		},
		args: func(file string) []string { return []string{"run", "--adapter", "caddyfile", "--config", file} },
	},
	{
		name: "HAProxy", files: []string{"haproxy.cfg"},
		adapt: func(t *testing.T, text string, at place) string {
			return replaced(t, text, "bind :443 ", "bind 127.0.0.1:"+at.port+" ", "/etc/ssl", at.dir)
		},
		args: func(file string) []string { return []string{"-db", "-f", file} },
	},
	{
		name: "Traefik", files: []string{"traefik.yaml", "traefik/parley.yaml"},
		adapt: func(t *testing.T, text string, at place) string {
			if strings.Contains(text, "entryPoints") {
				return replaced(t, text, `":443"`, `"127.0.0.1:`+at.port+`"`, "/etc/traefik", at.dir+"/traefik")
			}
			return replaced(t, text, "/etc/ssl", at.dir)
		},
		args: func(file string) []string { return []string{"--configFile=" + file} },
	},
}

// site is a hub behind a proxy.
type site struct {
	hub *hubtest.Hub
	// url is the address for callers, prefix its path.
	url, prefix string
	addr        string // of the proxy
	roots       *x509.CertPool
}

// start starts the proxy before a hub. keep returns the configuration as the operator changes it.
func (p *proxy) start(t *testing.T, hub *hubtest.Hub, prefix string, change func(text string) string) *site {
	t.Helper()
	program := testenv.Tool(t, strings.ToLower(p.name))
	at := place{t.TempDir(), fmt.Sprint(testenv.Port(t))}
	authority := tlstest.NewAuthority(t, "proxies")
	cert, secret := authority.Issue(t, x509.Certificate{DNSNames: []string{host}}).Write(t, at.dir, host)
	write(t, filepath.Join(at.dir, host+".both.pem"), read(t, cert)+read(t, secret))
	for _, name := range p.files {
		text := change(block(t, name))
		text = strings.ReplaceAll(text, "127.0.0.1:4100", hub.Addr())
		write(t, filepath.Join(at.dir, name), p.adapt(t, text, at))
	}
	process := hubtest.Launch(t, hubtest.Command{
		Path: program, Args: p.args(filepath.Join(at.dir, p.files[0])), Dir: at.dir, Env: []string{"HOME=" + at.dir},
	})
	t.Cleanup(func() {
		if err := syscall.Kill(process.PID(), syscall.SIGTERM); err == nil {
			<-process.Done()
		}
		if t.Failed() {
			t.Logf("%s said:\n%s", p.name, process.Output())
		}
	})
	s := &site{hub: hub, url: "https://" + host + prefix, prefix: prefix, addr: "127.0.0.1:" + at.port, roots: authority.Pool()}
	s.await(t, process)
	return s
}

// await waits until the hub answers through the proxy. No proxy announces that.
func (s *site) await(t *testing.T, process *hubtest.Process) {
	t.Helper()
	client := s.client(t, true)
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		if resp, err := client.Get(s.url + "/readyz"); err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return
			}
		}
		select {
		case <-process.Done():
			t.Fatalf("the proxy has ended:\n%s", process.Output())
		case <-t.Context().Done():
			t.Fatal("the hub does not answer through the proxy")
		case <-again.C:
		}
	}
}

// client returns a browser-like client that finds agents.example at the proxy.
func (s *site) client(t *testing.T, http2 bool) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	tr := &http.Transport{
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, s.addr)
		},
		TLSClientConfig: &tls.Config{RootCAs: s.roots, MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: http2,
	}
	if !http2 {
		tr.TLSNextProto = map[string]func(string, *tls.Conn) http.RoundTripper{}
	}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Jar: jar}
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
