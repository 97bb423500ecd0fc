package relays

import (
	"fmt"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

// TestMediaTypesOfAPeer: a remote agent checks media types itself, unless the operator
// configures the hub to do it. An agent of the hub has the types of its card.
func TestMediaTypesOfAPeer(t *testing.T) {
	t.Parallel()
	p := (&peer{card: `,"defaultInputModes":["application/x-protobuf"],"defaultOutputModes":["application/json"]`}).start(t)
	hub := hubtest.Start(t, hubtest.Options{Config: fmt.Sprintf(`
agents:
  - {name: open, url: %q}
  - {name: strict, url: %q, strict_modes: true}
  - {name: own, command: [cat]}
`, p.url, p.url)})
	send := func(agent, types string) error {
		return hubtest.Call(t.Context(), hubtest.Request{
			URL:  hub.URL() + "/v1/a2a/" + agent + "/message:send",
			Body: `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"42","mediaType":"` + types + `"}]},"configuration":{"acceptedOutputModes":["text/plain"]}}`,
		}, nil)
	}
	for range 3 {
		if err := send("open", "text/plain"); err != nil {
			t.Errorf("the agent was not asked: %v", err)
		}
	}
	asked := p.all()
	if len(asked) != 3 || !strings.Contains(asked[0].body, `"mediaType":"text/plain"`) {
		t.Errorf("the agent was asked %v, want each message with its type", asked)
	}
	if err := send("strict", "text/plain"); err == nil || hubtest.Status(err) != 415 || !strings.Contains(err.Error(), "application/x-protobuf") {
		t.Errorf("a strict agent: %v, want 415 with the types of the card", err)
	}
	if err := send("own", "image/png"); hubtest.Status(err) != 415 {
		t.Errorf("an agent of the hub: %v, want 415", err)
	}
	if n := len(p.all()); n != 3 {
		t.Errorf("the agent was asked %d times, want 3", n)
	}
	hub.Stop() // its output is complete then
	const warning = `the agent's card does not list the media types of the message`
	if n := strings.Count(hub.Output(), warning); n != 2 {
		t.Errorf("the log has %d warnings, want one of the message and one of the answer:\n%s", n, hub.Output())
	}
}
