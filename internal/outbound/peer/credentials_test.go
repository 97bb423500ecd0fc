package peer_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/outbound/card"
	"github.com/parley-a2a/parley/internal/outbound/peer"
	"github.com/parley-a2a/parley/internal/outbound/transport"
	"github.com/parley-a2a/parley/internal/testing/testenv"
)

const finished = `{"id":"t","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"}}`

// shown calls a peer with credentials and schemes, and returns the request that the peer got.
func shown(t *testing.T, c transport.Credentials, schemes a2a.NamedSecuritySchemes, o peer.Options) (*http.Request, error) {
	t.Helper()
	var seen *http.Request
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		seen = r.Clone(context.Background())
		respondWith(200, "application/json", finished)(w, r)
	})
	o.Credentials = c
	p, err := peer.New(&card.Card{A2A: &a2a.AgentCard{
		Name: "secured", SecuritySchemes: schemes,
		SupportedInterfaces: []*a2a.AgentInterface{a2a.NewAgentInterface(url, rest)},
	}}, &o)
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { p.Close() })
	_, err = p.Get(t.Context(), "t", nil)
	return seen, err
}

func TestCredentials(t *testing.T) {
	t.Setenv("PEER_TEST_KEY", "from-env")
	key := func(in, name string) a2a.NamedSecuritySchemes {
		return a2a.NamedSecuritySchemes{"k": a2a.APIKeySecurityScheme{Location: a2a.APIKeySecuritySchemeLocation(in), Name: name}}
	}
	bearer := a2a.NamedSecuritySchemes{"b": a2a.HTTPAuthSecurityScheme{Scheme: "Bearer"}}
	tests := map[string]struct {
		creds   transport.Credentials
		schemes a2a.NamedSecuritySchemes
		want    string // "header: value", or the query
	}{
		"an API key without a scheme":    {transport.Credentials{APIKey: "s"}, nil, "X-Api-Key: s"},
		"from the environment":           {transport.Credentials{APIKeyEnv: "PEER_TEST_KEY"}, nil, "X-Api-Key: from-env"},
		"in the header of the card":      {transport.Credentials{APIKey: "s"}, key("header", "X-Mine"), "X-Mine: s"},
		"in the query":                   {transport.Credentials{APIKey: "s"}, key("query", "k"), "?k=s"},
		"in a cookie":                    {transport.Credentials{APIKey: "s"}, key("cookie", "k"), "Cookie: k=s"},
		"as a bearer":                    {transport.Credentials{APIKey: "s"}, bearer, "Authorization: Bearer s"},
		"the configured scheme wins":     {transport.Credentials{APIKey: "s", Scheme: transport.SchemeAPIKey}, bearer, "X-Api-Key: s"},
		"the configured scheme wins too": {transport.Credentials{APIKey: "s", Scheme: transport.SchemeBearer}, key("header", "X-Mine"), "Authorization: Bearer s"},
		"a bearer":                       {transport.Credentials{Bearer: "s"}, nil, "Authorization: Bearer s"},
		"any header":                     {transport.Credentials{HeaderName: "X-Any", HeaderValueBase64: "c2VjcmV0"}, nil, "X-Any: secret"},
		"a card cannot take any header":  {transport.Credentials{APIKey: "s"}, key("header", "Content-Type"), "X-Api-Key: s"},
	}
	for name, tt := range tests {
		r, err := shown(t, tt.creds, tt.schemes, peer.Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		header, value, _ := strings.Cut(tt.want, ": ")
		if got := r.Header.Get(header); got != value && "?"+r.URL.RawQuery != tt.want {
			t.Errorf("%s: %s = %q, query %q, want %s", name, header, got, r.URL.RawQuery, tt.want)
		}
	}
}

// TestCredentialsAreHidden checks that errors about credentials do not contain their values,
// and that they are never printed.
func TestCredentialsAreHidden(t *testing.T) {
	t.Parallel()
	const secret = "hunter2"
	for _, c := range []transport.Credentials{
		{APIKeyEnv: "PARLEY_NO_SUCH_VARIABLE"},
		{Scheme: secret + "\n"},
		{HeaderName: "X", HeaderValueBase64: "%" + secret},
		{HeaderName: "X"},
		{Bearer: secret + "\r\nX: y"},
		{OAuth2: &transport.ClientCredentials{ClientSecret: secret}},
		{OAuth2: &transport.ClientCredentials{ClientID: "me", ClientSecret: secret}},
		{TLS: &transport.TLS{CertFile: "/nowhere", KeyFile: "/nowhere"}},
	} {
		_, err := shown(t, c, nil, peer.Options{})
		if err == nil || strings.Contains(err.Error(), secret) && c.Scheme == "" {
			t.Errorf("the error is %v", err)
		}
	}
	c := transport.Credentials{
		Key: secret, APIKey: secret, Bearer: secret, HeaderValueBase64: secret, OAuth2: &transport.ClientCredentials{ClientSecret: secret},
	}
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "c", c, "o", *c.OAuth2)
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "c", c, "p", &c)
	printed, _ := json.Marshal([]any{c, &c, c.OAuth2})
	all := fmt.Sprintf("%s%s%v%+v%#v%v%#v", &log, printed, c, c, c, *c.OAuth2, c.OAuth2)
	if strings.Contains(all, secret) {
		t.Errorf("credentials are shown: %s", all)
	}
}

// TestCredentialsStayAtHome checks that credentials are sent only to the configured host.
func TestCredentialsStayAtHome(t *testing.T) {
	t.Parallel()
	_, err := net.LookupHost("localhost")
	testenv.Met(t, err == nil, "name localhost (127.0.0.1 localhost in /etc/hosts)")
	var got http.Header
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got = r.Header.Clone()
		respondWith(200, "application/json", finished)(w, r)
	})
	other := strings.Replace(url, "127.0.0.1", "localhost", 1)
	for _, allowed := range []bool{false, true} {
		p := at(t, other, rest, "1.0", peer.Options{
			URL: url, FollowCard: true, Credentials: transport.Credentials{Bearer: "s", AnyHost: allowed},
			Header: http.Header{"X-Secret": {"s"}, "User-Agent": {"me"}},
		})
		if _, err := p.Get(t.Context(), "t", nil); err != nil {
			t.Fatal(err)
		}
		if sent := got.Get("Authorization") != "" || got.Get("X-Secret") != ""; sent != allowed || got.Get("User-Agent") != "me" {
			t.Errorf("allowed %t: sent %v", allowed, got)
		}
	}
}

func TestClientCredentials(t *testing.T) {
	t.Parallel()
	issued := 0
	tokens := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id, secret, _ := r.BasicAuth()
		r.ParseForm()
		if id != "me" || secret != "s%26cret" || r.Form.Get("grant_type") != "client_credentials" || r.Form.Get("scope") != "a b" {
			w.WriteHeader(http.StatusUnauthorized)
			io.WriteString(w, `{"error":"invalid_client"}`)
			return
		}
		issued++
		fmt.Fprintf(w, `{"access_token":"token-%d","expires_in":3600}`, issued)
	}))
	t.Cleanup(tokens.Close)
	var seen []string
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.Header.Get("Authorization"))
		if len(seen) == 2 {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		respondWith(200, "application/json", finished)(w, r)
	})
	creds := &transport.ClientCredentials{TokenURL: tokens.URL, ClientID: "me", ClientSecret: "s&cret", Scopes: []string{"a", "b"}}
	p := at(t, url, rest, "1.0", peer.Options{Credentials: transport.Credentials{OAuth2: creds}})
	for range 3 {
		p.Get(t.Context(), "t", nil)
	}
	if got := strings.Join(seen, ", "); got != "Bearer token-1, Bearer token-1, Bearer token-2" {
		t.Errorf("shown %s, want the token kept until it is refused", got)
	}
	creds.ClientSecret = "wrong"
	p = at(t, url, rest, "1.0", peer.Options{Credentials: transport.Credentials{OAuth2: creds}})
	if _, err := p.Get(t.Context(), "t", nil); err == nil || !strings.Contains(err.Error(), "invalid_client") || strings.Contains(err.Error(), "wrong") {
		t.Errorf("Get() = %v, want the answer of the token endpoint", err)
	}
}

func TestIdempotencyKey(t *testing.T) {
	t.Parallel()
	for _, asked := range []bool{false, true} {
		var got string
		url := serve(t, func(w http.ResponseWriter, r *http.Request) {
			got = r.Header.Get("Idempotency-Key") + r.Header.Get("X-Correlation-Id")
			respondWith(200, "application/json", `{"task":`+finished+`}`)(w, r)
		})
		p := at(t, url, rest, "1.0", peer.Options{Idempotent: asked})
		_, err := p.Send(t.Context(), []byte(`{"message":{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"x"}]},"metadata":{"correlationId":"-c"}}`))
		if want := map[bool]string{false: "-c", true: "m1-c"}[asked]; err != nil || got != want {
			t.Errorf("asked %t: headers %q, %v, want %q", asked, got, err, want)
		}
	}
}
