package card_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/parley-a2a/parley/internal/outbound/card"
)

// A card is written, read and written again in each layout and each spelling of its
// requirements. Both documents must be equal byte by byte.
func TestCardRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		place := card.Endpoint{Base: "https://hub.example", Agent: rapid.SampledFrom([]string{"", "route planner"}).Draw(t, "agent"), GRPC: "hub.example:4101"}
		o := card.Options{
			Layout:      rapid.SampledFrom([]card.Layout{card.V1, card.Union}).Draw(t, "layout"),
			Interfaces:  card.Interfaces(place),
			NoStreaming: rapid.Bool().Draw(t, "no streaming"), PushNotifications: rapid.Bool().Draw(t, "push"),
			ExtendedCard: rapid.Bool().Draw(t, "extended"), BareScopes: rapid.Bool().Draw(t, "bare"),
		}
		if o.Layout == card.Union {
			o.Legacy = card.LegacyInterfaces(place)
		}
		once, err := card.JSON(anyCard(t), &o)
		if err != nil {
			t.Fatal(err)
		}
		read, err := card.Read(once)
		if err != nil {
			t.Fatalf("%s: %v", once, err)
		}
		if read.Layout != o.Layout {
			t.Fatalf("%s is read as %v", once, read.Layout)
		}
		o.Interfaces, o.Legacy = nil, nil
		for _, i := range read.A2A.SupportedInterfaces {
			if strings.HasPrefix(string(i.ProtocolVersion), "0.") {
				o.Legacy = append(o.Legacy, i)
			} else {
				o.Interfaces = append(o.Interfaces, i)
			}
		}
		o.ExtendedCard = read.A2A.Capabilities.ExtendedAgentCard
		o.NoStreaming, o.PushNotifications = !read.A2A.Capabilities.Streaming, read.A2A.Capabilities.PushNotifications
		twice, err := card.JSON(read.A2A, &o)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(once), string(twice)); diff != "" {
			t.Fatalf("written again (-first +second):\n%s", diff)
		}
	})
}

// anyCard generates a card with a random selection of fields.
func anyCard(t *rapid.T) *a2a.AgentCard {
	c := fullCard()
	some := func(name string) bool { return rapid.Bool().Draw(t, name) }
	if some("no provider") {
		c.Provider = nil
	}
	if some("no links") {
		c.DocumentationURL, c.IconURL = "", ""
	}
	if some("no extensions") {
		c.Capabilities.Extensions = nil
	}
	if some("no modes") {
		c.DefaultInputModes, c.DefaultOutputModes = nil, nil
	}
	if some("no requirements") {
		c.SecurityRequirements = nil
	}
	c.Skills = c.Skills[:rapid.IntRange(0, len(c.Skills)).Draw(t, "skills")]
	for _, name := range slices.Sorted(maps.Keys(c.SecuritySchemes)) {
		if some("no " + string(name)) {
			delete(c.SecuritySchemes, name)
		}
	}
	return c
}
