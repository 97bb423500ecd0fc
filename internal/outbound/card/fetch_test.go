package card_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/outbound/card"
	"github.com/parley-a2a/parley/internal/outbound/httpcall"
)

const (
	newest = "/.well-known/agent-card.json"
	older  = "/.well-known/agent.json"
)

// cards serves each body at its path. "HOST" in a body is replaced by the server's URL.
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

func named(name, at string) string {
	return fmt.Sprintf(`{"name":%q,"supportedInterfaces":[{"url":%q,"protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}`, name, at)
}

func TestFetchFindsTheCard(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		bodies map[string]string
		path   string
		want   string // the card's name and its interfaces, or the error
	}{
		{"well known", map[string]string{newest: named("new", "HOST/a"), older: named("old", "HOST/b")}, "", "new /a"},
		{"older place", map[string]string{older: named("old", "HOST/b")}, "/", "old /b"},
		{"a page in the place of the newer one", map[string]string{newest: "<html>", older: named("old", "HOST/b")}, "", "old /b"},
		{"below a path", map[string]string{"/bots/echo" + newest: named("echo", "HOST/x"), newest: named("root", "HOST/")}, "/bots/echo", "echo /x"},
		{"above a2a", map[string]string{"/bots/echo" + older: named("echo", "HOST/x"), newest: named("root", "HOST/")}, "/bots/echo/a2a", "echo /x"},
		{"at the root, above a2a", map[string]string{newest: named("pw", "http://container:7870/")}, "/a2a", "pw http://container:7870/"},
		{"an interface of the root's card", map[string]string{newest: named("root", "http://localhost:1/rpc")}, "/rpc", "root http://localhost:1/rpc"},
		{"another agent's card at the root", map[string]string{newest: named("root", "HOST/rpc")}, "/other", "belongs to another agent"},
		{"the card itself", map[string]string{"/my/card.json": named("mine", "HOST/m")}, "/my/card.json", "mine /m"},
		{"relative", map[string]string{older: `{"agentName":"Bob"}`}, "", "Bob /tasks/send"},
		{"relative below a path", map[string]string{"/bob" + older: `{"agentName":"Bob"}`}, "/bob", "Bob /bob/tasks/send"},
		{"nothing", nil, "", "no agent card"},
		{"a web page", map[string]string{newest: "<html>"}, "", "it is a web page"},
		{"no card", map[string]string{newest: `{"status":"ok"}`}, "", "it has no name"},
		{"too large", map[string]string{newest: strings.Repeat(" ", card.DefaultMaxBytes) + named("big", "HOST/")}, "", "answer too large"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			base := cards(t, tt.bodies)
			c, err := card.Fetch(t.Context(), base+tt.path, nil)
			got := fmt.Sprint(err)
			if err == nil {
				got = c.A2A.Name
				for _, i := range c.A2A.SupportedInterfaces {
					got += " " + strings.TrimPrefix(i.URL, base)
				}
			}
			if err == nil && got != tt.want || err != nil && !strings.Contains(got, tt.want) {
				t.Errorf("Fetch(%q) = %s, want %s", tt.path, got, tt.want)
			}
		})
	}
}

// The card of a tenant is below the address. Without one, the card of the address may be
// another agent's.
func TestFetchTheCardOfATarget(t *testing.T) {
	t.Parallel()
	const below = "/v1/a2a/interview" + newest
	for name, tt := range map[string]struct {
		bodies   map[string]string
		want     string
		fallback bool
	}{
		"its own":       {map[string]string{below: named("interview", "HOST/v1/a2a/interview"), newest: named("root", "HOST/v1/a2a")}, "interview", false},
		"the address's": {map[string]string{"/v1/a2a" + newest: named("echo", "HOST/v1/a2a")}, "echo", true},
		"the root's":    {map[string]string{newest: named("root", "HOST/v1/a2a")}, "root", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := card.Fetch(t.Context(), cards(t, tt.bodies)+"/v1/a2a", &card.FetchOptions{Target: "interview"})
			if err != nil {
				t.Fatal(err)
			}
			if c.A2A.Name != tt.want || c.Fallback != tt.fallback {
				t.Errorf("card of %s, fallback %t, want %s, %t", c.A2A.Name, c.Fallback, tt.want, tt.fallback)
			}
		})
	}
}

// A host has the cards of its tenants only below the HTTP+JSON interface of its own card.
func TestFetchTheCardOfATargetOfAHost(t *testing.T) {
	t.Parallel()
	const below = "/v1/a2a/interview" + newest
	root := func(url string) string {
		return `{"name":"root","supportedInterfaces":[{"url":"HOST/a2a","protocolBinding":"JSONRPC","protocolVersion":"1.0"},{"url":"` + url + `","protocolBinding":"HTTP+JSON","protocolVersion":"1.0"}]}`
	}
	for name, tt := range map[string]struct {
		url, want string
		fallback  bool
	}{
		"of the host":     {"HOST/v1/a2a", "interview", false},
		"of another host": {"http://127.0.0.2:1/v1/a2a", "root", true},
		"without a card":  {"HOST/v2", "root", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := cards(t, map[string]string{newest: root(tt.url), below: named("interview", "HOST/v1/a2a/interview")})
			c, err := card.Fetch(t.Context(), at, &card.FetchOptions{Target: "interview"})
			if err != nil {
				t.Fatal(err)
			}
			if c.A2A.Name != tt.want || c.Fallback != tt.fallback {
				t.Errorf("card of %s, fallback %t, want %s, %t", c.A2A.Name, c.Fallback, tt.want, tt.fallback)
			}
		})
	}
}

func TestFetchETag(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != older {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("ETag", `"v1"`)
		if r.Header.Get("If-None-Match") == `"v1"` {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		io.WriteString(w, named("a", "/rpc"))
	}))
	t.Cleanup(srv.Close)
	c, err := card.Fetch(t.Context(), srv.URL, nil)
	if err != nil || c.ETag != `"v1"` || c.From.String() != srv.URL+older {
		t.Fatalf("Fetch() = %+v, %v, want the card with its tag and place", c, err)
	}
	if _, err := card.Fetch(t.Context(), srv.URL, &card.FetchOptions{ETag: c.ETag}); !errors.Is(err, card.ErrNotModified) {
		t.Errorf("Fetch(tag) = %v, want ErrNotModified", err)
	}
	if _, err := card.Fetch(t.Context(), srv.URL, &card.FetchOptions{ETag: `"v0"`}); err != nil {
		t.Errorf("Fetch(old tag) = %v, want the card", err)
	}
}

func TestFetchSendsHeaders(t *testing.T) {
	t.Parallel()
	var got http.Header
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.Header.Clone()
		io.WriteString(w, named("a", "/rpc"))
	}))
	t.Cleanup(srv.Close)
	mine := http.Header{"Authorization": {"Bearer secret"}}
	if _, err := card.Fetch(t.Context(), srv.URL, &card.FetchOptions{Header: mine, Client: srv.Client()}); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"Authorization": "Bearer secret", "A2A-Version": "1.0", "Accept": "application/json, application/a2a+json",
	} {
		if got.Get(name) != want {
			t.Errorf("%s = %q, want %q", name, got.Get(name), want)
		}
	}
	if diff := cmp.Diff(http.Header{"Authorization": {"Bearer secret"}}, mine); diff != "" {
		t.Errorf("the caller's headers were changed:\n%s", diff)
	}
}

func TestFetchErrors(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
	}
	away := cards(t, map[string]string{newest: named("away", "HOST/")})
	drip := func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "{")
		http.NewResponseController(w).Flush()
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}
	endless := func(w http.ResponseWriter, _ *http.Request) {
		for {
			if _, err := w.Write(make([]byte, 64<<10)); err != nil {
				return
			}
		}
	}
	tests := map[string]struct {
		handler http.HandlerFunc
		is      error
		says    string
	}{
		"unauthenticated": {status(401), a2a.ErrUnauthenticated, "HTTP 401 Unauthorized"},
		"forbidden":       {status(403), a2a.ErrUnauthorized, "HTTP 403"},
		"broken":          {status(502), nil, "HTTP 502 Bad Gateway"},
		"redirect":        {http.RedirectHandler(away+newest, http.StatusFound).ServeHTTP, nil, "refuse redirect"},
		"redirects":       {http.RedirectHandler("/again", http.StatusFound).ServeHTTP, nil, "stop after 5 redirects"},
		"slow":            {drip, context.DeadlineExceeded, "no answer within 50ms"},
		"endless":         {endless, httpcall.ErrTooLarge, "more than 262144 bytes"},
		"reset":           {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, nil, "EOF"},
	}
	t.Cleanup(func() { close(release) })
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := httptest.NewServer(tt.handler)
			t.Cleanup(srv.Close)
			o := &card.FetchOptions{Timeout: -1}
			if name == "slow" {
				o.Timeout = 50 * time.Millisecond
			}
			_, err := card.Fetch(t.Context(), srv.URL, o)
			if err == nil || tt.is != nil && !errors.Is(err, tt.is) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("Fetch() = %v, want %v that says %q", err, tt.is, tt.says)
			}
			if errors.Is(err, card.ErrNoCard) {
				t.Errorf("Fetch() = %v, which says that there is no card", err)
			}
		})
	}
}

func TestFetchUnreachable(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"127.0.0.1:1", "http://127.0.0.1:1/a"} {
		if _, err := card.Fetch(t.Context(), url, nil); !errors.Is(err, httpcall.ErrUnreachable) {
			t.Errorf("Fetch(%q) = %v, want ErrUnreachable", url, err)
		}
	}
	for _, url := range []string{"", "ftp://host/", "http://", "://"} {
		if _, err := card.Fetch(t.Context(), url, nil); err == nil {
			t.Errorf("Fetch(%q) = nil, want an error", url)
		}
	}
	_, err := card.Fetch(t.Context(), "http://me:secret@127.0.0.1:1", nil)
	if err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("Fetch() = %v, which contains the password", err)
	}
}
