package grpcbind_test

import (
	"context"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	pb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/grpcbind"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/outbound/card"
	"github.com/parley-a2a/parley/internal/store/memstore"
)

const (
	cardToken = "a-token-of-the-extended-cards"
	annsKey   = "the-key-of-ann-is-long"
)

// extendedHub is a hub whose agent insider has an extended card. Callers without a key are
// anonymous.
func extendedHub(t *testing.T, x engine.ExtendedCards, cfg grpcbind.Config) *hub {
	t.Helper()
	k, err := auth.ConfiguredKey(annsKey, auth.Principal{ID: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	cfg.Auth = &auth.Keyring{Configured: []auth.Key{*k}, AllowAnonymous: true}
	cfg.Engine = engine.New(engine.Config{Store: new(memstore.Store), Extended: x})
	h := start(t, cfg, words, nil)
	public := &a2a.AgentCard{Name: "insider", Skills: []a2a.AgentSkill{{ID: "open"}}}
	more := card.Extend(public, &a2a.AgentCard{Skills: []a2a.AgentSkill{{ID: "secret"}}})
	if err := h.engine.Register(engine.Agent{Name: "insider", Card: public, Extended: more, Executor: words}); err != nil {
		t.Fatal(err)
	}
	return h
}

func (h *hub) extended(ctx context.Context, tenant string, opts ...grpc.CallOption) (*pb.AgentCard, error) {
	return h.client.GetExtendedAgentCard(ctx, &pb.GetExtendedAgentCardRequest{Tenant: tenant}, opts...)
}

func TestExtendedCard(t *testing.T) {
	t.Parallel()
	token, callers := engine.ExtendedCards{Token: cardToken}, engine.ExtendedCards{Authenticated: true}
	for _, tt := range []struct {
		name  string
		cards engine.ExtendedCards
		md    []string
		want  codes.Code
	}{
		{"token", token, []string{"authorization", "Bearer " + cardToken}, codes.OK},
		{"token and key", token, []string{"authorization", "bearer " + cardToken, "x-api-key", annsKey}, codes.OK},
		{"no token", token, nil, codes.Unauthenticated},
		{"key alone", token, []string{"x-api-key", annsKey}, codes.Unauthenticated},
		{"wrong token", token, []string{"authorization", "Bearer wrong"}, codes.Unauthenticated},
		{"caller", callers, []string{"x-api-key", annsKey}, codes.OK},
		{"anonymous", callers, nil, codes.Unauthenticated},
		{"unknown version", callers, []string{"x-api-key", annsKey, "a2a-version", "9.0"}, codes.FailedPrecondition},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := extendedHub(t, tt.cards, grpcbind.Config{})
			var header metadata.MD
			got, err := h.extended(with(t.Context(), tt.md...), "insider", grpc.Header(&header))
			if tt.want == codes.OK {
				if err != nil || len(got.GetSkills()) != 2 || !got.GetCapabilities().GetExtendedAgentCard() || got.GetVersion() == "" {
					t.Errorf("GetExtendedAgentCard = %v, %v; want the extended card", got, err)
				}
				return
			}
			if f := failureOf(t, err); f.Code != tt.want {
				t.Errorf("GetExtendedAgentCard = %v, want %v", err, tt.want)
			}
			if challenge := header.Get("www-authenticate"); (len(challenge) > 0) != (tt.want == codes.Unauthenticated) {
				t.Errorf("challenge = %v", challenge)
			}
		})
	}
}

// TestExtendedCardIsComplete checks that the extended card contains the hub's security and the
// agent's addresses.
func TestExtendedCardIsComplete(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"", "https://hub.example"} {
		h := extendedHub(t, engine.ExtendedCards{Token: cardToken}, grpcbind.Config{PublicURL: url, NoStreaming: true})
		got, err := h.extended(with(t.Context(), "authorization", "Bearer "+cardToken), "insider")
		if err != nil {
			t.Fatal(err)
		}
		var at []string
		for _, i := range got.GetSupportedInterfaces() {
			at = append(at, i.GetProtocolBinding()+" "+i.GetUrl()+" "+i.GetTenant())
		}
		if n := len(at); at[n-1] != "GRPC hub insider" || (n == 3) != (url != "") {
			t.Errorf("interfaces = %q", at)
		}
		if got.GetCapabilities().GetStreaming() || len(got.GetSecuritySchemes()) != 3 || got.GetSecuritySchemes()["extendedCardBearer"] == nil {
			t.Errorf("card = %v, want no streaming, and three security schemes", got)
		}
		same, err := h.extended(with(t.Context(), "authorization", "Bearer "+cardToken), "")
		if err != nil || same.GetName() != "main" {
			t.Errorf("card of the default agent = %v, %v", same, err)
		}
	}
}

// TestTokenOfExtendedCardsIsNoKey checks that the token authorizes nothing else.
func TestTokenOfExtendedCardsIsNoKey(t *testing.T) {
	t.Parallel()
	h := extendedHub(t, engine.ExtendedCards{Token: cardToken}, grpcbind.Config{})
	_, err := h.client.ListTasks(with(t.Context(), "authorization", "Bearer "+cardToken), &pb.ListTasksRequest{})
	if f := failureOf(t, err); f.Code != codes.Unauthenticated {
		t.Errorf("ListTasks = %v, want UNAUTHENTICATED", err)
	}
}
