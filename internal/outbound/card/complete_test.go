package card_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	pb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/parley-a2a/parley/internal/outbound/card"
)

// hubSecurity returns options with the security demands of a hub.
func hubSecurity() card.Options {
	return card.Options{
		Interfaces: interfaces(),
		SecuritySchemes: a2a.NamedSecuritySchemes{
			"apiKey": a2a.APIKeySecurityScheme{Location: "header", Name: "X-Api-Key"},
			"bearer": a2a.HTTPAuthSecurityScheme{Scheme: "Bearer"},
		},
		SecurityRequirements: a2a.SecurityRequirementsOptions{{"apiKey": {}}, {"bearer": {}}},
	}
}

func TestSecurityOfTheHub(t *testing.T) {
	t.Parallel()
	o := hubSecurity()
	own := a2a.HTTPAuthSecurityScheme{Scheme: "Bearer", BearerFormat: "JWT"}
	for _, tt := range []struct {
		name     string
		card     a2a.AgentCard
		schemes  a2a.NamedSecuritySchemes
		required a2a.SecurityRequirementsOptions
	}{
		{"nothing of its own", a2a.AgentCard{}, o.SecuritySchemes, o.SecurityRequirements},
		{
			"own requirements",
			a2a.AgentCard{SecurityRequirements: a2a.SecurityRequirementsOptions{{"bearer": {"a"}}}},
			o.SecuritySchemes,
			a2a.SecurityRequirementsOptions{{"bearer": {"a"}}},
		},
		{
			"own schemes",
			a2a.AgentCard{SecuritySchemes: a2a.NamedSecuritySchemes{"bearer": own, "more": own}},
			a2a.NamedSecuritySchemes{"apiKey": o.SecuritySchemes["apiKey"], "bearer": own, "more": own},
			o.SecurityRequirements,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := hubSecurity()
			got := card.Complete(&tt.card, &o)
			if diff := cmp.Diff(tt.schemes, got.SecuritySchemes); diff != "" {
				t.Errorf("schemes mismatch (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.required, got.SecurityRequirements); diff != "" {
				t.Errorf("requirements mismatch (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(hubSecurity(), o); diff != "" {
				t.Errorf("the options were changed (-want +got):\n%s", diff)
			}
			if !card.Demands(got) {
				t.Error("Demands = false")
			}
		})
	}
}

func TestDemands(t *testing.T) {
	t.Parallel()
	skill := &a2a.AgentCard{Skills: []a2a.AgentSkill{{}, {SecurityRequirements: a2a.SecurityRequirementsOptions{{"k": {}}}}}}
	if card.Demands(&a2a.AgentCard{SecuritySchemes: hubSecurity().SecuritySchemes}) || !card.Demands(skill) {
		t.Error("schemes demand nothing; requirements of a skill do")
	}
}

// Each spelling is read by one kind of reader: by the protocol's schema, or by the official
// SDK.
func TestSpellingsOfRequirements(t *testing.T) {
	t.Parallel()
	for _, layout := range []card.Layout{card.V1, card.Union} {
		o := hubSecurity()
		o.Layout = layout
		exact := mustJSON(t, fullCard(), &o)
		o.BareScopes = true
		bare := mustJSON(t, fullCard(), &o)
		var sdk a2a.AgentCard
		if err := json.Unmarshal(bare, &sdk); err != nil {
			t.Fatalf("layout %d: the SDK refuses the bare list: %v", layout, err)
		}
		want := a2a.SecurityRequirementsOptions{{"key": {}}, {"bearer": {}, "code": {"read", "write"}}}
		if diff := cmp.Diff(want, sdk.SecurityRequirements); diff != "" {
			t.Errorf("layout %d: requirements mismatch (-want +got):\n%s", layout, diff)
		}
		if diff := cmp.Diff(fullCard().Skills[0].SecurityRequirements, sdk.Skills[0].SecurityRequirements); diff != "" {
			t.Errorf("layout %d: requirements of a skill mismatch (-want +got):\n%s", layout, diff)
		}
		if json.Unmarshal(exact, &sdk) == nil {
			t.Error("the SDK reads the protocol's spelling now: BareScopes has had its time")
		}
		if layout == card.Union {
			continue
		}
		var proto pb.AgentCard
		if err := protojson.Unmarshal(exact, &proto); err != nil {
			t.Errorf("the protocol's schema refuses its own spelling: %v", err)
		}
		if err := protojson.Unmarshal(bare, &proto); err == nil {
			t.Error("the protocol's schema takes the bare list, which the documentation denies")
		}
	}
}

// Readers of v0.3 receive the security keys of v0.3.
func TestLegacySecurityOfTheHub(t *testing.T) {
	t.Parallel()
	o := hubSecurity()
	o.Layout = card.Union
	b := string(mustJSON(t, &a2a.AgentCard{Name: "x"}, &o))
	for _, want := range []string{
		`"security":[{"apiKey":[]},{"bearer":[]}]`,
		`"securityRequirements":[{"schemes":{"apiKey":{"list":[]}}},{"schemes":{"bearer":{"list":[]}}}]`,
		`"type":"apiKey","in":"header","name":"X-Api-Key"`,
		`"type":"http","scheme":"Bearer"`,
	} {
		if !strings.Contains(b, want) {
			t.Errorf("no %s in %s", want, b)
		}
	}
}

func TestExtend(t *testing.T) {
	t.Parallel()
	if diff := cmp.Diff(fullCard(), card.Extend(fullCard(), &a2a.AgentCard{})); diff != "" {
		t.Errorf("nothing more changes the card (-want +got):\n%s", diff)
	}
	got := card.Extend(&a2a.AgentCard{Name: "bare"}, fullCard())
	want := fullCard()
	// Extend does not take interfaces and signatures from the cards; the hub sets them.
	want.SupportedInterfaces, want.Signatures = nil, nil
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("everything more is not everything (-want +got):\n%s", diff)
	}
	public, more := fullCard(), &a2a.AgentCard{
		Description:     "Plans secret routes, too.",
		Skills:          []a2a.AgentSkill{{ID: "bare", Name: "Not so bare"}, {ID: "secret"}},
		SecuritySchemes: a2a.NamedSecuritySchemes{"key": a2a.MutualTLSSecurityScheme{}},
	}
	got = card.Extend(public, more)
	want = fullCard()
	want.Description = more.Description
	want.Skills = []a2a.AgentSkill{want.Skills[0], more.Skills[0], more.Skills[1]}
	want.SecuritySchemes["key"] = a2a.MutualTLSSecurityScheme{}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Extend mismatch (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(fullCard(), public); diff != "" {
		t.Errorf("the public card was changed (-want +got):\n%s", diff)
	}
}
