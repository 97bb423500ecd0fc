package client_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/client"
)

// cards serves each body at its path. "HOST" in a body is the server's URL.
func cards(t *testing.T, bodies map[string]string) string {
	t.Helper()
	var srv *httptest.Server
	srv = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, ok := bodies[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		fmt.Fprint(w, strings.ReplaceAll(body, "HOST", srv.URL))
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

func cardJSON(name, at string) string {
	return fmt.Sprintf(`{"name":%q,"supportedInterfaces":[{"url":%q,"protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}`, name, at)
}

func TestDialFindsTheCard(t *testing.T) {
	t.Parallel()
	const newest, older = "/.well-known/agent-card.json", "/.well-known/agent.json"
	tests := []struct {
		name   string
		bodies map[string]string
		path   string
		want   string // the card's name and its interface, or the error
	}{
		{"well known", map[string]string{newest: cardJSON("new", "HOST/a"), older: cardJSON("old", "HOST/b")}, "", "new /a"},
		{"older place", map[string]string{older: cardJSON("old", "HOST/b")}, "/", "old /b"},
		{"below a path", map[string]string{"/a2a/echo" + newest: cardJSON("echo", "HOST/x"), newest: cardJSON("root", "HOST/")}, "/a2a/echo", "echo /x"},
		{"the card itself", map[string]string{"/my/card.json": cardJSON("mine", "HOST/m")}, "/my/card.json", "mine /m"},
		{"an interface of the root's card", map[string]string{newest: cardJSON("root", "HOST/rpc")}, "/rpc", "root /rpc"},
		{"not an interface of the root's card", map[string]string{newest: cardJSON("root", "HOST/rpc")}, "/other", "no agent card"},
		{"relative interface", map[string]string{newest: cardJSON("rel", "/rpc")}, "", "rel /rpc"},
		{
			"version with a patch and none",
			map[string]string{newest: `{"name":"v","supportedInterfaces":[{"url":"HOST/1","protocolBinding":"JSONRPC"}]}`},
			"", "v /1",
		},
		{"nothing", nil, "", "no agent card"},
		{"a web page", map[string]string{newest: "<html>"}, "", "no agent card"},
		{"wrong type", map[string]string{newest: `{"name":7}`}, "", "read card"},
		{"only v0.3", map[string]string{newest: `{"name":"old","url":"HOST/","protocolVersion":"0.3.0"}`}, "", "old /"},
		{
			"another major version",
			map[string]string{newest: strings.Replace(cardJSON("two", "HOST/"), `"1.0"`, `"2.0"`, 1)},
			"", "JSONRPC 2.0",
		},
		{
			"unknown security scheme",
			map[string]string{newest: strings.Replace(cardJSON("sec", "HOST/s"), "{", `{"securitySchemes":{"x":{"strange":{}}},`, 1)},
			"", "sec /s",
		},
		{"too large", map[string]string{newest: strings.Repeat(" ", 1<<20) + cardJSON("big", "HOST/")}, "", "answer too large"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			base := cards(t, tt.bodies)
			c, err := client.Dial(t.Context(), base+tt.path, client.Options{})
			got := fmt.Sprint(err)
			if err == nil {
				defer c.Close()
				got = c.Card().Name + " " + strings.TrimPrefix(c.Interface().URL, base)
			}
			if err == nil && got != tt.want || err != nil && !strings.Contains(got, tt.want) {
				t.Errorf("Dial(%q) = %s, want %s", tt.path, got, tt.want)
			}
		})
	}
}

func TestDialKeepsTheRawCard(t *testing.T) {
	t.Parallel()
	body := `{"name":"raw","x-unknown":12345678901234567890,"supportedInterfaces":[{"url":"http://127.0.0.1:1/","protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}`
	c := dial(t, cards(t, map[string]string{"/.well-known/agent-card.json": body}), client.Options{})
	if diff := cmp.Diff(body, string(c.RawCard())); diff != "" {
		t.Errorf("RawCard() (-want +got):\n%s", diff)
	}
}

func TestDialErrors(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]error{
		"127.0.0.1:1":        client.ErrUnreachable,
		"http://127.0.0.1:1": client.ErrUnreachable,
	} {
		if _, err := client.Dial(t.Context(), url, client.Options{}); !errors.Is(err, want) {
			t.Errorf("Dial(%q) = %v, want %v", url, err, want)
		}
	}
	for _, url := range []string{"", "ftp://host/", "http://", "://"} {
		if _, err := client.Dial(t.Context(), url, client.Options{}); err == nil {
			t.Errorf("Dial(%q) = nil, want an error", url)
		}
	}
}

func TestRedirects(t *testing.T) {
	t.Parallel()
	const place = "/.well-known/agent-card.json"
	away := cards(t, map[string]string{place: cardJSON("away", "HOST/")})
	for name, to := range map[string]string{"same host": "/moved/card.json", "other host": away + place} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mux := http.NewServeMux()
			mux.Handle(place, http.RedirectHandler(to, http.StatusFound))
			mux.HandleFunc("/moved/card.json", func(w http.ResponseWriter, _ *http.Request) {
				fmt.Fprint(w, cardJSON("moved", "http://127.0.0.1:1/"))
			})
			srv := httptest.NewServer(mux)
			t.Cleanup(srv.Close)
			c, err := client.Dial(t.Context(), srv.URL, client.Options{Key: "secret"})
			if name == "same host" {
				if err != nil || c.Card().Name != "moved" {
					t.Errorf("Dial() = %v, want the card that was moved", err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), "refuse redirect") {
				t.Errorf("Dial() = %v, want the redirect refused", err)
			}
		})
	}
}

func TestNoDowngrade(t *testing.T) {
	t.Parallel()
	srv := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, cardJSON("down", "http://127.0.0.1:1/"))
	}))
	t.Cleanup(srv.Close)
	_, err := client.Dial(t.Context(), srv.URL, client.Options{HTTP: srv.Client()})
	if !errors.Is(err, client.ErrNoInterface) {
		t.Errorf("Dial() = %v, want ErrNoInterface", err)
	}
}

func TestLoopback(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]bool{
		"localhost": true, "localhost:80": true, "a.localhost:1": true, "127.0.0.1:4100": true, "127.9.9.9": true, "[::1]:80": true,
		"::1": true, "localhost/path": true, "example.org": false, "10.0.0.1:80": false, "[2001:db8::1]:80": false, "": false, "0.0.0.0:1": false,
	} {
		if got := client.Loopback(host); got != want {
			t.Errorf("Loopback(%q) = %v, want %v", host, got, want)
		}
	}
}
