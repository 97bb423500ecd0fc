package card

import (
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// TestOthersOfACard checks members that the protocol does not define. The hub's card has them
// in the same place as the agent's card, in each layout. Names that differ from one of the
// protocol's only by case or separators are dropped.
func TestOthersOfACard(t *testing.T) {
	t.Parallel()
	const raw = `{"name":"n","x":{"big":9007199254740993,"f":1.50},"Skills":[],"capabilities":{"streaming":true,"live":[1e400],"push_notifications":false},
		"skills":[{"id":"a","tags":[],"rate":1.10},{"id":"gone","cost":1},{"id":"b"}],"":null,"supported-interfaces":[],"x":2}`
	c, err := Read([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	others := Others(c.Raw)
	want := `{"card":{"x":{"big":9007199254740993,"f":1.50},"":null},"capabilities":{"live":[1e400]},"skills":{"a":{"rate":1.10},"gone":{"cost":1}}}`
	if string(others) != want {
		t.Errorf("Others = %s, want %s", others, want)
	}
	c.A2A.Skills = append(c.A2A.Skills[:1:1], c.A2A.Skills[2])
	for _, layout := range []Layout{V1, Union} {
		var signed string
		at := []*a2a.AgentInterface{{URL: "http://x/a2a", ProtocolBinding: a2a.TransportProtocolJSONRPC, ProtocolVersion: "1.0"}}
		doc, err := JSON(c.A2A, &Options{Layout: layout, Interfaces: at, Others: others, Sign: func(doc []byte) ([]a2a.AgentCardSignature, error) {
			signed = string(doc)
			return nil, nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		for _, got := range []string{string(doc), signed} {
			for _, want := range []string{`"x":{"big":9007199254740993,"f":1.50},"":null}`, `"live":[1e400]}`, `"rate":1.10}`} {
				if !strings.Contains(got, want) {
					t.Errorf("%s card lacks %s: %s", layout, want, got)
				}
			}
			if strings.Contains(got, "cost") || strings.Contains(got, "push_notifications") || strings.Contains(got, "supported-interfaces") {
				t.Errorf("%s card has a member that it must not have: %s", layout, got)
			}
		}
		if again, err := Read(doc); err != nil || len(again.A2A.Skills) != 2 {
			t.Errorf("%s card cannot be read back: %v", layout, err)
		}
	}
	if got := Others([]byte(`{"name":"n","x":"` + strings.Repeat("y", maxOthers) + `"}`)); got != nil {
		t.Errorf("%d bytes are kept, want none", len(got))
	}
	if got := Others([]byte(`{"name":"n","capabilities":{},"skills":[{"id":"a"}]}`)); got != nil {
		t.Errorf("Others of a card without any = %s", got)
	}
}
