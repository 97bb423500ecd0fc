package client_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/client"
	"github.com/parley-a2a/parley/internal/outbound/card"
)

// TestBothSpellingsOfRequirements checks that a card's requirements are read in the protocol's
// spelling and in that of the SDK.
func TestBothSpellingsOfRequirements(t *testing.T) {
	t.Parallel()
	required := a2a.SecurityRequirementsOptions{{"apiKey": {}}, {"code": {"read", "write"}, "apiKey": {}}}
	secured := &a2a.AgentCard{
		Name:                 "secured",
		SecuritySchemes:      a2a.NamedSecuritySchemes{"apiKey": a2a.APIKeySecurityScheme{Location: "header", Name: "X-Api-Key"}},
		SecurityRequirements: required,
		Skills:               []a2a.AgentSkill{{ID: "open"}, {ID: "closed", SecurityRequirements: required[1:]}},
	}
	for _, bare := range []bool{false, true} {
		for _, layout := range []card.Layout{card.V1, card.Union} {
			body, err := card.JSON(secured, &card.Options{
				BareScopes: bare, Layout: layout, Interfaces: card.Interfaces(card.Endpoint{Base: "http://127.0.0.1:1"}),
			})
			if err != nil {
				t.Fatal(err)
			}
			got := dial(t, cards(t, map[string]string{"/.well-known/agent-card.json": string(body)}), client.Options{}).Card()
			if diff := cmp.Diff(required, got.SecurityRequirements); diff != "" {
				t.Errorf("bare %t, layout %d: requirements (-want +got):\n%s", bare, layout, diff)
			}
			if diff := cmp.Diff(required[1:], got.Skills[1].SecurityRequirements); diff != "" {
				t.Errorf("bare %t, layout %d: requirements of the skill (-want +got):\n%s", bare, layout, diff)
			}
			if diff := cmp.Diff(secured.SecuritySchemes, got.SecuritySchemes); diff != "" {
				t.Errorf("bare %t, layout %d: schemes (-want +got):\n%s", bare, layout, diff)
			}
		}
	}
}

// TestStrangeRequirements checks that unreadable requirements do not invalidate the rest of the
// card.
func TestStrangeRequirements(t *testing.T) {
	t.Parallel()
	for _, list := range []string{`"all"`, `[7]`, `[{"schemes":["key"]}]`, `[{"schemes":{"key":{"list":"all"}}}]`, `[{"schemes":{"key":7}}]`} {
		if !json.Valid([]byte(list)) {
			t.Fatalf("%s is not JSON", list)
		}
		body := strings.Replace(cardJSON("odd", "HOST/"), "{", `{"securityRequirements":`+list+`,`, 1)
		c := dial(t, cards(t, map[string]string{"/.well-known/agent-card.json": body}), client.Options{})
		if got := c.Card(); got.Name != "odd" || got.SecurityRequirements != nil {
			t.Errorf("%s: card = %+v, want it without requirements", list, got)
		}
	}
}
