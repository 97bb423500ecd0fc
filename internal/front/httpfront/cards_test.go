package httpfront_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/front/httpfront"
)

type cardDoc struct {
	Name                string
	URL                 string
	ProtocolVersion     string
	SupportedInterfaces []a2a.AgentInterface
	// AdditionalInterfaces are those of v0.3.
	AdditionalInterfaces []legacyInterface
}

type legacyInterface struct{ URL, Transport string }

func parseCard(t *testing.T, body string) cardDoc {
	t.Helper()
	var d cardDoc
	if err := json.Unmarshal([]byte(body), &d); err != nil {
		t.Fatalf("not a card: %v\n%s", err, body)
	}
	return d
}

func TestCards(t *testing.T) {
	t.Parallel()
	h := startHub(t, httpfront.Config{PublicURL: "https://hub.example/", GRPCAddr: "hub.example:4101"}, everyone()...)
	iface := func(url string, b a2a.TransportProtocol, tenant string) a2a.AgentInterface {
		return a2a.AgentInterface{URL: url, ProtocolBinding: b, Tenant: tenant, ProtocolVersion: "1.0"}
	}
	root := cardDoc{Name: "echo", SupportedInterfaces: []a2a.AgentInterface{
		iface("https://hub.example/a2a", "JSONRPC", ""),
		iface("https://hub.example/v1/a2a", "HTTP+JSON", ""),
		iface("hub.example:4101", "GRPC", ""),
	}}
	ask := cardDoc{Name: "ask", SupportedInterfaces: []a2a.AgentInterface{
		iface("https://hub.example/a2a/ask", "JSONRPC", ""),
		iface("https://hub.example/v1/a2a/ask", "HTTP+JSON", ""),
		iface("hub.example:4101", "GRPC", "ask"),
	}}
	// Over gRPC, v0.3 cannot name an agent, so only the default agent is listed there.
	echo := cardDoc{Name: "echo", SupportedInterfaces: []a2a.AgentInterface{
		iface("https://hub.example/a2a/echo", "JSONRPC", ""),
		iface("https://hub.example/v1/a2a/echo", "HTTP+JSON", ""),
		iface("hub.example:4101", "GRPC", "echo"),
	}}
	onGRPC := legacyInterface{"hub.example:4101", "GRPC"}
	at := func(rpc, rest string) []legacyInterface {
		return []legacyInterface{{"https://hub.example" + rpc, "JSONRPC"}, {"https://hub.example" + rest, "HTTP+JSON"}}
	}
	for _, tt := range []struct {
		prefix string
		want   cardDoc
		legacy []legacyInterface
	}{
		{"", root, append(at("/a2a", ""), onGRPC)},
		{"/a2a", root, append(at("/a2a", ""), onGRPC)},
		{"/v1/a2a", root, append(at("/a2a", ""), onGRPC)},
		{"/a2a/echo", echo, append(at("/a2a/echo", "/a2a/echo"), onGRPC)},
		{"/a2a/ask", ask, at("/a2a/ask", "/a2a/ask")},
		{"/v1/a2a/ask", ask, at("/a2a/ask", "/a2a/ask")},
	} {
		got := h.do("GET", tt.prefix+"/.well-known/agent-card.json", "")
		if got.code != 200 || got.header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: %d %s", tt.prefix, got.code, got.header.Get("Content-Type"))
		}
		want := tt.want
		want.URL, want.ProtocolVersion, want.AdditionalInterfaces = tt.legacy[0].URL, "0.3.0", tt.legacy
		if diff := cmp.Diff(want, parseCard(t, got.body)); diff != "" {
			t.Errorf("%s: card mismatch (-want +got):\n%s", tt.prefix, diff)
		}
		if older := h.do("GET", tt.prefix+"/.well-known/agent.json", ""); older.body != got.body {
			t.Errorf("%s: agent.json is %s, want %s", tt.prefix, older.body, got.body)
		}
	}
	for _, path := range []string{"/a2a/nobody/.well-known/agent-card.json", "/v1/a2a/nobody/.well-known/agent.json", "/.well-known/other.json"} {
		if got := h.do("GET", path, ""); got.code != 404 {
			t.Errorf("GET %s = %d, want 404", path, got.code)
		}
	}
}

// TestCardLeadsToTheAgent checks that the interfaces that a card names are served.
func TestCardLeadsToTheAgent(t *testing.T) {
	t.Parallel()
	h := startHub(t, httpfront.Config{}, everyone()...)
	d := parseCard(t, h.do("GET", "/a2a/greet/.well-known/agent-card.json", "").body)
	for _, i := range d.SupportedInterfaces {
		path, found := strings.CutPrefix(i.URL, h.url)
		if !found {
			t.Errorf("interface %s is not below %s", i.URL, h.url)
			continue
		}
		body := message("hi")
		if i.ProtocolBinding == "JSONRPC" {
			body = rpc("SendMessage", body)
		} else {
			path += "/message:send"
		}
		if got := h.do("POST", path, body, v1); !strings.Contains(got.body, "good day") {
			t.Errorf("POST %s = %d %s, want the agent's answer", path, got.code, got.body)
		}
	}
}

// TestLegacyCardLeadsToTheAgent checks the same for v0.3, for the hub and for each of its
// agents.
func TestLegacyCardLeadsToTheAgent(t *testing.T) {
	t.Parallel()
	h := startHub(t, httpfront.Config{}, everyone()...)
	for prefix, want := range map[string]string{"": `"hi"`, "/a2a/greet": "good day"} {
		d := parseCard(t, h.do("GET", prefix+"/.well-known/agent.json", "").body)
		bodies := map[string][2]string{
			"JSONRPC":   {"", rpc("message/send", `{"message":{"kind":"message","messageId":"m","role":"user","parts":[{"kind":"text","text":"hi"}]}}`)},
			"HTTP+JSON": {"/v1/message:send", `{"message":{"messageId":"m","role":"ROLE_USER","content":[{"text":"hi"}]}}`},
		}
		for _, i := range d.AdditionalInterfaces {
			path, _ := strings.CutPrefix(i.URL, h.url)
			call := bodies[i.Transport]
			if got := h.do("POST", path+call[0], call[1]); got.code != 200 || !strings.Contains(got.body, want) {
				t.Errorf("POST %s = %d %s, want %s", path, got.code, got.body, want)
			}
		}
		if len(d.AdditionalInterfaces) != len(bodies) {
			t.Errorf("the card of %q lists %v", prefix, d.AdditionalInterfaces)
		}
	}
}

// TestUnionCard checks that a card has the keys of both protocol versions wherever v0.3 can reach
// the agent over a listed binding, and is otherwise one of v1.0.
func TestUnionCard(t *testing.T) {
	t.Parallel()
	h := startHub(t, httpfront.Config{GRPCAddr: "h:1", Interfaces: []a2a.TransportProtocol{a2a.TransportProtocolGRPC}}, everyone()...)
	for path, union := range map[string]bool{
		"/.well-known/agent-card.json": true, "/a2a/ask/.well-known/agent-card.json": false, "/a2a/ask/.well-known/agent.json": false,
	} {
		got := h.do("GET", path, "")
		if d := parseCard(t, got.body); (d.URL != "") != union || len(d.SupportedInterfaces) != 1 {
			t.Errorf("%s: %s, want the keys of v0.3: %t", path, got, union)
		}
	}
}

func TestCardCaching(t *testing.T) {
	t.Parallel()
	h := startHub(t, httpfront.Config{}, everyone()...)
	const path = "/.well-known/agent-card.json"
	first := h.do("GET", path, "")
	etag, modified := first.header.Get("ETag"), first.header.Get("Last-Modified")
	if etag == "" || modified == "" || first.header.Get("Cache-Control") != "public, max-age=60" {
		t.Fatalf("headers = %v, want validators and a life time", first.header)
	}
	tests := []struct {
		name    string
		headers []string
		want    int
	}{
		{"same tag", []string{"If-None-Match: " + etag}, 304},
		{"weak tag in a list", []string{`If-None-Match: "x", W/` + etag}, 304},
		{"any tag", []string{"If-None-Match: *"}, 304},
		{"other tag", []string{`If-None-Match: "x"`}, 200},
		{"other tag, same date", []string{`If-None-Match: "x"`, "If-Modified-Since: " + modified}, 200},
		{"same date", []string{"If-Modified-Since: " + modified}, 304},
		{"older date", []string{"If-Modified-Since: Mon, 02 Jan 2006 15:04:05 GMT"}, 200},
		{"no date", []string{"If-Modified-Since: yesterday"}, 200},
	}
	for _, tt := range tests {
		got := h.do("GET", path, "", tt.headers...)
		if got.code != tt.want || (got.code == 304) != (got.body == "") {
			t.Errorf("%s: %d %q, want %d", tt.name, got.code, got.body, tt.want)
		}
		if got.header.Get("ETag") != etag {
			t.Errorf("%s: ETag %s, want %s", tt.name, got.header.Get("ETag"), etag)
		}
	}
	if got := h.do("GET", "/a2a/ask/.well-known/agent-card.json", ""); got.header.Get("ETag") == etag {
		t.Error("another card has the same tag")
	}
}

func TestCardForScripts(t *testing.T) {
	t.Parallel()
	h := startHub(t, httpfront.Config{Auth: byKey()}, everyone()...)
	for _, method := range []string{"GET", "HEAD", "OPTIONS"} {
		got := h.do(method, "/.well-known/agent-card.json", "", "Origin: https://page.example", "A2A-Version: 1.0")
		if got.code != 200 && got.code != 204 {
			t.Errorf("%s = %d", method, got.code)
		}
		if o := got.header.Get("Access-Control-Allow-Origin"); o != "*" {
			t.Errorf("%s: Access-Control-Allow-Origin = %q, want *", method, o)
		}
		if c := got.header.Get("Access-Control-Allow-Credentials"); c != "" {
			t.Errorf("%s: Access-Control-Allow-Credentials = %q, want none", method, c)
		}
		if (got.body != "") != (method == "GET") {
			t.Errorf("%s: body %q", method, got.body)
		}
	}
	got := h.do("GET", "/v1/a2a/tasks", "", "Origin: https://page.example", "Authorization: Bearer ann")
	if o := got.header.Get("Access-Control-Allow-Origin"); o != "" {
		t.Errorf("tasks: Access-Control-Allow-Origin = %q, want none", o)
	}
}

func TestCardAddress(t *testing.T) {
	t.Parallel()
	e := startEngine(t, everyone()...)
	tests := []struct {
		name  string
		cfg   httpfront.Config
		proto string
		host  string
		want  string
	}{
		{"host", httpfront.Config{}, "", "", "http://seen.example"},
		{"untrusted proxy", httpfront.Config{}, "https", "public.example", "http://seen.example"},
		{"trusted proxy", httpfront.Config{TrustForwarded: true}, "https", "public.example", "https://public.example"},
		{"chain of proxies", httpfront.Config{TrustForwarded: true}, "https, http", "public.example, inner", "https://public.example"},
		{"odd scheme", httpfront.Config{TrustForwarded: true}, "javascript", "public.example", "http://public.example"},
		{"public URL", httpfront.Config{TrustForwarded: true, PublicURL: "https://fixed.example/hub"}, "http", "public.example", "https://fixed.example/hub"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.cfg.Engine, tt.cfg.Auth = e, auth.Anyone()
			r := httptest.NewRequest("GET", "/.well-known/agent-card.json", nil)
			r.Host = "seen.example"
			if tt.host != "" {
				r.Header.Set("X-Forwarded-Proto", tt.proto)
				r.Header.Set("X-Forwarded-Host", tt.host)
			}
			w := httptest.NewRecorder()
			httpfront.New(tt.cfg).ServeHTTP(w, r)
			if got := parseCard(t, w.Body.String()).SupportedInterfaces[0].URL; got != tt.want+"/a2a" {
				t.Errorf("URL = %s, want %s/a2a", got, tt.want)
			}
		})
	}
}

// TestCardsOfManyHosts checks that the cache is bounded, because addresses come from callers.
func TestCardsOfManyHosts(t *testing.T) {
	t.Parallel()
	f := httpfront.New(httpfront.Config{Engine: startEngine(t, everyone()...), Auth: auth.Anyone()})
	for i := range 3 * httpfront.MaxCards {
		r := httptest.NewRequest("GET", "/.well-known/agent-card.json", nil)
		r.Host = "h" + strings.Repeat("x", i%50) + string(rune('a'+i%26)) + ".example"
		w := httptest.NewRecorder()
		f.ServeHTTP(w, r)
		if w.Code != 200 || !strings.Contains(w.Body.String(), r.Host) {
			t.Fatalf("host %s: %d %s", r.Host, w.Code, w.Body)
		}
		if n := httpfront.CardsKept(f); n > httpfront.MaxCards {
			t.Fatalf("%d cards are kept, want at most %d", n, httpfront.MaxCards)
		}
	}
}

// polyglot describes itself in the language of the reader.
type polyglot struct{ a2asrv.AgentExecutor }

// CardFor implements agent.Carder.
func (polyglot) CardFor(_ context.Context, r *agent.CardRequest) *a2a.AgentCard {
	if r.Header.Get("Accept-Language") != "fr" {
		return nil
	}
	return &a2a.AgentCard{Name: "perroquet", Description: "Répète ce qu’on lui dit à " + r.Host + "."}
}

// TestCardForEachRequest checks that an agent may build a card for each request. Such a card is
// not cacheable, and is as complete as any other.
func TestCardForEachRequest(t *testing.T) {
	t.Parallel()
	parrot := newAgent("parrot", agent.With(polyglot{echo()}, agent.Traits{AfterCrash: agent.Repeat}))
	h := startHub(t, httpfront.Config{PublicURL: "https://hub.example"}, parrot)
	const path = "/.well-known/agent-card.json"
	plain := h.do("GET", path, "")
	french := h.do("GET", path, "", "Accept-Language: fr")
	if got := parseCard(t, plain.body).Name; got != "parrot" || plain.header.Get("Cache-Control") != "public, max-age=60" {
		t.Errorf("card = %q, %v", got, plain.header)
	}
	d := parseCard(t, french.body)
	if d.Name != "perroquet" || !strings.Contains(french.body, "Répète") || french.header.Get("Cache-Control") != "private, no-cache" {
		t.Errorf("card in French = %s, %v", french.body, french.header)
	}
	if len(d.SupportedInterfaces) == 0 || d.SupportedInterfaces[0].URL != "https://hub.example/a2a" {
		t.Errorf("interfaces in French = %v, want those of the hub", d.SupportedInterfaces)
	}
	if again := h.do("GET", path, ""); again.body != plain.body {
		t.Errorf("the next card = %s, want the registered one", again.body)
	}
}

// TestAllSkills checks that with AllSkills the hub's own card lists the skills of each agent,
// once, with the media types of their agent. The cards of agents stay unchanged.
func TestAllSkills(t *testing.T) {
	t.Parallel()
	one, two := newAgent("one", echo()), newAgent("two", ask())
	two.Card.DefaultInputModes = []string{"application/json"}
	two.Card.Skills = append(two.Card.Skills, a2a.AgentSkill{ID: "ONE"}, a2a.AgentSkill{ID: "own", InputModes: []string{"text/csv"}})
	h := startHub(t, httpfront.Config{AllSkills: true}, one, two)
	skills := func(path string) string {
		var c struct {
			Skills []struct {
				ID         string
				InputModes []string
			}
		}
		got := h.do("GET", path, "")
		if err := json.Unmarshal([]byte(got.body), &c); err != nil {
			t.Fatalf("%s: %s", path, got)
		}
		return fmt.Sprint(c.Skills)
	}
	const all = "[{one []} {two [application/json]} {own [text/csv]}]"
	for path, want := range map[string]string{
		"/.well-known/agent-card.json": all, "/.well-known/agent.json": all,
		"/a2a/one/.well-known/agent-card.json": "[{one []}]", "/a2a/two/.well-known/agent-card.json": "[{two []} {ONE []} {own [text/csv]}]",
	} {
		if got := skills(path); got != want {
			t.Errorf("%s has %s, want %s", path, got, want)
		}
	}
	first := h.do("GET", "/.well-known/agent-card.json", "")
	if again := h.do("GET", "/.well-known/agent-card.json", "", "If-Modified-Since: "+first.header.Get("Last-Modified")); again.code != 304 {
		t.Errorf("the same card again: %d", again.code)
	}
	if got := h.do("POST", "/", rpc("SendMessage", `{"message":{"role":"user","parts":[{"text":"hi"}]},"metadata":{"skill":"OWN"}}`)); !strings.Contains(got.body, "which city?") {
		t.Errorf("a skill of the other agent: %s", got)
	}
}
