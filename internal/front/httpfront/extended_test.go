package httpfront_test

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2aclient/agentcard"
	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/front/httpfront"
	"github.com/parley-a2a/parley/internal/outbound/card"
)

const cardToken = "a-token-of-the-extended-cards"

// extendedAgents returns echo, which has an extended card, and greet, which has none.
func extendedAgents() []engine.Agent {
	more := newAgent("echo", echo())
	more.Extended = card.Extend(more.Card, &a2a.AgentCard{
		Description: "for insiders", Skills: []a2a.AgentSkill{{ID: "secret", SecurityRequirements: a2a.SecurityRequirementsOptions{{"apiKey": {}}}}},
	})
	return []engine.Agent{more, newAgent("greet", greet())}
}

// extendedHub serves extended cards.
func extendedHub(t *testing.T, x engine.ExtendedCards, cfg httpfront.Config) *hub {
	t.Helper()
	cfg.Engine = startEngineWith(t, engine.Config{Extended: x}, extendedAgents()...)
	return startHub(t, cfg)
}

// keyring has one key, whose text is returned.
func keyring(t *testing.T) (*auth.Keyring, string) {
	t.Helper()
	const key = "the-key-of-ann-is-long"
	k, err := auth.ConfiguredKey(key, auth.Principal{ID: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	return &auth.Keyring{Configured: []auth.Key{*k}}, key
}

// TestExtendedCardByToken checks that each operation for the card returns it to callers with
// the token, and a challenge to others.
func TestExtendedCardByToken(t *testing.T) {
	t.Parallel()
	const key = "the-key-of-ann"
	// A keyring would slow the wrong tokens down.
	closed := auth.Func(func(_ context.Context, r *auth.Request) (*auth.Principal, error) {
		if slices.Equal(r.Header("Authorization"), []string{"Bearer " + key}) {
			return &auth.Principal{ID: "ann"}, nil
		}
		return nil, auth.ErrUnauthenticated
	})
	for name, by := range map[string]auth.Authenticator{"open": nil, "closed": closed} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := extendedHub(t, engine.ExtendedCards{Token: cardToken}, httpfront.Config{Auth: by})
			for _, tt := range []struct{ method, path, body, agent string }{
				{"GET", "/v1/a2a/extendedAgentCard", "", "echo"},
				{"GET", "/v1/a2a/greet/extendedAgentCard", "", "greet"},
				{"GET", "/v1/a2a/extendedAgentCard?tenant=greet", "", "greet"},
				{"POST", "/a2a", rpc("GetExtendedAgentCard", `{}`), "echo"},
				{"POST", "/a2a", `{"jsonrpc":"2.0","id":1,"method":"GetExtendedAgentCard"}`, "echo"},
				{"POST", "/a2a", rpc("GetExtendedAgentCard", `{"tenant":"greet"}`), "greet"},
				{"POST", "/a2a/greet", rpc("GetExtendedAgentCard", `{}`), "greet"},
			} {
				got := h.do(tt.method, tt.path, tt.body, v1, "Authorization: Bearer "+cardToken)
				checkExtended(t, got, tt.agent)
				for _, credentials := range []string{"X-Other: x", "Authorization: Bearer wrong", "Authorization: Bearer " + key, "Authorization: Basic " + cardToken} {
					got := h.do(tt.method, tt.path, tt.body, v1, credentials)
					if got.code != 401 || got.header.Get("WWW-Authenticate") == "" || strings.Contains(got.body, "insiders") {
						t.Errorf("%s %s with %s = %d %s, want 401 with a challenge", tt.method, tt.path, credentials, got.code, got.body)
					}
				}
			}
		})
	}
}

func checkExtended(t *testing.T, got *answer, agent string) {
	t.Helper()
	if got.code != 200 || got.header.Get("Cache-Control") != "private, no-store" || got.header.Get("ETag") != "" {
		t.Errorf("%d %v %s; want a card that no cache keeps", got.code, got.header, got.body)
	}
	var in struct{ Result json.RawMessage }
	body := []byte(got.body)
	if json.Unmarshal(body, &in) == nil && in.Result != nil {
		body = in.Result
	}
	var c struct {
		Name, Description   string
		Skills              []struct{ ID string }
		Capabilities        struct{ ExtendedAgentCard bool }
		SupportedInterfaces []a2a.AgentInterface
		SecuritySchemes     map[string]any
	}
	if err := json.Unmarshal(body, &c); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	more := agent == "echo"
	if c.Name != agent || more != (c.Description == "for insiders") || more != (len(c.Skills) == 2) {
		t.Errorf("card = %+v, want the extended one of %s", c, agent)
	}
	if !c.Capabilities.ExtendedAgentCard || c.SecuritySchemes["extendedCardBearer"] == nil || len(c.SupportedInterfaces) != 2 {
		t.Errorf("card = %+v, want it to be as complete as the public one", c)
	}
}

// TestTokenOfExtendedCardsIsNoKey checks that the token is not a key: it authorizes nothing
// else, on a closed hub and beside a key.
func TestTokenOfExtendedCardsIsNoKey(t *testing.T) {
	t.Parallel()
	ring, key := keyring(t)
	h := extendedHub(t, engine.ExtendedCards{Token: cardToken}, httpfront.Config{Auth: ring, API: http.NotFoundHandler()})
	token := "Authorization: Bearer " + cardToken
	for _, tt := range [][3]string{
		{"POST", "/a2a", rpc("SendMessage", message("hi"))},
		{"POST", "/a2a", rpc("SendStreamingMessage", message("hi"))},
		{"POST", "/a2a", rpc("ListTasks", `{}`)},
		{"POST", "/a2a", rpc("GetTask", `{"id":"x"}`)},
		{"POST", "/a2a", rpc("CreateTaskPushNotificationConfig", `{"taskId":"x","url":"https://x.example"}`)},
		{"GET", "/v1/a2a/tasks", ""},
		{"POST", "/v1/a2a/message:send", message("hi")},
		{"GET", "/api/v1/status", ""},
	} {
		got := h.do(tt[0], tt[1], tt[2], v1, token)
		if got.code != 401 || got.header.Get("WWW-Authenticate") == "" {
			t.Errorf("%s %s %s = %d %s, want 401", tt[0], tt[1], tt[2], got.code, got.body)
		}
	}
	// A gateway may send both.
	got := h.do("POST", "/a2a", rpc("SendMessage", message("hi")), v1, token, "X-Api-Key: "+key)
	if got.code != 200 || !strings.Contains(got.body, "TASK_STATE_COMPLETED") {
		t.Errorf("with token and key: %d %s, want an answer", got.code, got.body)
	}
}

func TestExtendedCardForCallers(t *testing.T) {
	t.Parallel()
	ring, key := keyring(t)
	ring.AllowAnonymous = true
	h := extendedHub(t, engine.ExtendedCards{Authenticated: true}, httpfront.Config{Auth: ring})
	for _, header := range []string{"X-Api-Key: " + key, "Authorization: Bearer " + key} {
		for _, path := range []string{"/v1/a2a/extendedAgentCard", "/v1/a2a/echo/extendedAgentCard"} {
			if got := h.do("GET", path, "", header); got.code != 200 || !strings.Contains(got.body, "for insiders") {
				t.Errorf("GET %s with %s = %d %s, want the card", path, header, got.code, got.body)
			}
		}
	}
	got := h.do("GET", "/v1/a2a/extendedAgentCard", "")
	if got.code != 401 || !strings.Contains(got.body, "Authentication required") {
		t.Errorf("anonymous: %d %s, want 401", got.code, got.body)
	}
	if public := h.do("GET", "/.well-known/agent-card.json", ""); strings.Contains(public.body, "extendedCardBearer") {
		t.Errorf("the public card names a token that there is not: %s", public.body)
	}
}

// counted is an authenticator that accepts all callers and counts refusals.
type counted struct {
	auth.Authenticator

	refused atomic.Int64
}

func (c *counted) Refuse(context.Context, *auth.Request, string) error {
	c.refused.Add(1)
	return auth.ErrUnauthenticated
}

// TestWrongTokensAreCounted checks that guesses at the token are counted like wrong
// credentials. A request without a token is no guess.
func TestWrongTokensAreCounted(t *testing.T) {
	t.Parallel()
	c := &counted{Authenticator: auth.Anyone()}
	h := extendedHub(t, engine.ExtendedCards{Token: cardToken}, httpfront.Config{Auth: c})
	h.do("GET", "/v1/a2a/extendedAgentCard", "")
	if n := c.refused.Load(); n != 0 {
		t.Errorf("%d guesses without a token", n)
	}
	h.do("GET", "/v1/a2a/extendedAgentCard", "", "Authorization: Bearer guess")
	h.do("POST", "/a2a", rpc("GetExtendedAgentCard", `{}`), v1, "Authorization: Bearer guess")
	h.do("POST", "/a2a", rpc("ListTasks", `{}`), v1, "Authorization: Bearer guess")
	if n := c.refused.Load(); n != 2 {
		t.Errorf("%d guesses were counted, want 2", n)
	}
}

// TestPublicCardOfExtendedOne checks that the public card announces the extended one and the
// credentials that it requires.
func TestPublicCardOfExtendedOne(t *testing.T) {
	t.Parallel()
	type shown struct {
		Capabilities    struct{ ExtendedAgentCard bool }
		SecuritySchemes map[string]any
		Extended        bool `json:"supportsAuthenticatedExtendedCard"`
	}
	read := func(h *hub, path string) (s shown) {
		if err := json.Unmarshal([]byte(h.do("GET", path, "").body), &s); err != nil {
			t.Fatal(err)
		}
		return s
	}
	off := extendedHub(t, engine.ExtendedCards{}, httpfront.Config{})
	on := extendedHub(t, engine.ExtendedCards{Token: cardToken}, httpfront.Config{})
	for _, path := range []string{"/.well-known/agent-card.json", "/a2a/greet/.well-known/agent.json"} {
		if s := read(off, path); s.Capabilities.ExtendedAgentCard || s.Extended || s.SecuritySchemes != nil {
			t.Errorf("off: %s = %+v", path, s)
		}
		s := read(on, path)
		if !s.Capabilities.ExtendedAgentCard || !s.Extended {
			t.Errorf("on: %s = %+v, want it declared", path, s)
		}
		scheme, _ := s.SecuritySchemes["extendedCardBearer"].(map[string]any)
		bearer, _ := scheme["httpAuthSecurityScheme"].(map[string]any)
		if bearer["scheme"] != "Bearer" {
			t.Errorf("on: %s: schemes = %v, want the token as a bearer scheme", path, s.SecuritySchemes)
		}
	}
}

// changing is an authenticator whose security changes.
type changing struct {
	auth.Authenticator

	on atomic.Bool
}

func (c *changing) Security() (a2a.NamedSecuritySchemes, a2a.SecurityRequirementsOptions) {
	if !c.on.Load() {
		return nil, nil
	}
	return a2a.NamedSecuritySchemes{"apiKey": a2a.APIKeySecurityScheme{Location: "header", Name: "X-Api-Key"}},
		a2a.SecurityRequirementsOptions{{"apiKey": {}}}
}

const (
	exactSpelling = `"securityRequirements":[{"schemes":{"apiKey":{"list":[]}}}]`
	bareSpelling  = `"securityRequirements":[{"schemes":{"apiKey":[]}}]`
)

// TestSecurityOfCards checks that cards list the active security once it is active, in
// the spelling of each kind of reader.
func TestSecurityOfCards(t *testing.T) {
	t.Parallel()
	by := &changing{Authenticator: auth.Anyone()}
	h := startHub(t, httpfront.Config{Auth: by}, everyone()...)
	const path = "/.well-known/agent-card.json"
	before := h.do("GET", path, "")
	if strings.Contains(before.body, "security") || before.header.Get("Vary") != "" {
		t.Errorf("off: %v %s, want no word of security", before.header, before.body)
	}
	by.on.Store(true)
	tags := map[string]bool{before.header.Get("ETag"): true}
	for _, tt := range []struct{ agent, want, not string }{
		{"Go-http-client/1.1", bareSpelling, exactSpelling},
		{"Go-http-client/2.0", bareSpelling, exactSpelling},
		{"parley/1.0", exactSpelling, bareSpelling},
		{"python-httpx/0.28", exactSpelling, bareSpelling},
		{"my Go-http-client/1.1", exactSpelling, bareSpelling},
		{"", exactSpelling, bareSpelling},
	} {
		got := h.do("GET", path, "", "User-Agent: "+tt.agent, "If-None-Match: "+before.header.Get("ETag"))
		if tt.agent == "" {
			got = h.do("GET", path, "", "User-Agent: -")
		}
		if got.code != 200 || !strings.Contains(got.body, tt.want) || strings.Contains(got.body, tt.not) {
			t.Errorf("%q: %d %s, want %s", tt.agent, got.code, got.body, tt.want)
		}
		if got.header.Get("Vary") != "User-Agent" {
			t.Errorf("%q: Vary = %q, want User-Agent", tt.agent, got.header.Get("Vary"))
		}
		tags[got.header.Get("ETag")] = true
	}
	if len(tags) != 3 {
		t.Errorf("%d entity tags for three documents", len(tags))
	}
	by.on.Store(false)
	if got := h.do("GET", path, ""); got.body != before.body || got.header.Get("ETag") != before.header.Get("ETag") {
		t.Errorf("off again: %s, want what it was", got.body)
	}
}

// TestSDKReadsSecuredCards checks that the official client reads the cards of a hub that
// requires keys, follows them, and gets the extended card.
func TestSDKReadsSecuredCards(t *testing.T) {
	t.Parallel()
	ring, key := keyring(t)
	h := extendedHub(t, engine.ExtendedCards{Authenticated: true}, httpfront.Config{Auth: ring})
	resolver := agentcard.Resolver{Client: h.client}
	for _, path := range []string{"", "/a2a/greet"} {
		c, err := resolver.Resolve(t.Context(), h.url+path)
		if err != nil {
			t.Fatalf("the SDK refuses the card: %v", err)
		}
		schemes, requirements := ring.Security()
		if diff := cmp.Diff(schemes, c.SecuritySchemes); diff != "" {
			t.Errorf("schemes (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(requirements, c.SecurityRequirements); diff != "" {
			t.Errorf("requirements (-want +got):\n%s", diff)
		}
	}
	legacy := agentcard.WithPath("/.well-known/agent.json")
	if _, err := resolver.Resolve(t.Context(), h.url, legacy); err != nil {
		t.Errorf("the SDK refuses the union: %v", err)
	}
	c, err := resolver.Resolve(t.Context(), h.url)
	if err != nil {
		t.Fatal(err)
	}
	for _, binding := range []a2a.TransportProtocol{a2a.TransportProtocolJSONRPC, a2a.TransportProtocolHTTPJSON} {
		sdk, err := a2aclient.NewFromCard(t.Context(), c,
			a2aclient.WithConfig(a2aclient.Config{PreferredTransports: []a2a.TransportProtocol{binding}}),
			a2aclient.WithJSONRPCTransport(h.client), a2aclient.WithRESTTransport(h.client))
		if err != nil {
			t.Fatal(err)
		}
		ctx := a2aclient.AttachServiceParams(t.Context(), a2aclient.ServiceParams{"x-api-key": {key}})
		got, err := sdk.GetExtendedAgentCard(ctx, &a2a.GetExtendedAgentCardRequest{})
		if err != nil || got.Description != "for insiders" || len(got.Skills[1].SecurityRequirements) != 1 {
			t.Errorf("%s: GetExtendedAgentCard = %+v, %v; want the extended card", binding, got, err)
		}
	}
}
