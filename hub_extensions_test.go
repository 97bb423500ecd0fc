package parley_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/agent"
	agentcard "github.com/parley-a2a/parley/internal/outbound/card"
)

// workExtensions are the extensions of Protolabs: cost of work, confidence of an agent,
// changes of the world state, tool calls, the domain and radius of a skill's effects, the
// points at which a person decides, and the trace of the work.
var workExtensions = []string{
	"cost-v1", "confidence-v1", "worldstate-delta-v1", "tool-call-v1", "effect-domain-v1", "blast-v1", "hitl-mode-v1", "trace-v1",
}

// workParts are the parts in which an agent uses the extensions.
var workParts = []string{
	`{"data":{"usage":{"input_tokens":3,"output_tokens":4},"costUsd":0.10},"metadata":{"mimeType":"application/vnd.protolabs.cost-v1+json"},"mediaType":"application/json"}`,
	`{"data":{"confidence":0.9,"explanation":"sure"},"metadata":{"mimeType":"application/vnd.protolabs.confidence-v1+json"},"mediaType":"application/json"}`,
	`{"data":{"deltas":[{"domain":"repo","path":"issues","op":"inc","value":1}]},"metadata":{"mimeType":"application/vnd.protolabs.worldstate-delta-v1+json"},"mediaType":"application/json"}`,
	`{"data":{"toolCallId":"c1","name":"look","phase":"started","args":{}},"metadata":{"mimeType":"application/vnd.protolabs.tool-call-v1+json"},"mediaType":"application/json"}`,
}

// TestWorkExtensions checks that the card contains the extensions that an agent declares with
// their params, that they are active for callers that name them, and that the hub passes on
// their data unchanged.
func TestWorkExtensions(t *testing.T) {
	t.Parallel()
	card := &a2a.AgentCard{Name: "worker", Version: "1"}
	var uris []string
	for _, name := range workExtensions {
		uri := "https://proto-labs.ai/a2a/ext/" + name
		uris = append(uris, uri)
		card.Capabilities.Extensions = append(card.Capabilities.Extensions, a2a.AgentExtension{
			URI: uri, Description: name, Params: map[string]any{"skills": map[string]any{"work": map[string]any{"radius": "repo", "mode": "gated"}}},
		})
	}
	var active []string
	trace := ""
	hub := &parley.Hub{}
	hub.Handle(card, agent.Func(func(ctx context.Context, x *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		c := agent.CallFrom(ctx)
		active, trace = c.Extensions, string(c.Message)
		yield(&agent.Raw{JSON: []byte(`{"artifactUpdate":{"artifact":{"artifactId":"a","parts":[` + strings.Join(workParts, ",") + `]}}}`)}, nil)
		yield(a2a.NewStatusUpdateEvent(x, a2a.TaskStateCompleted, nil), nil)
	}))
	url := serve(t, hub).url
	shown := extensionCard(t, url)
	want := append(slices.Clone(card.Capabilities.Extensions), agentcard.ClientTaskIDsExtension())
	if diff := cmp.Diff(want, shown); diff != "" {
		t.Errorf("extensions of the card mismatch (-want +got):\n%s", diff)
	}
	const message = `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"go"}],"metadata":{"a2a.trace":{"traceId":"t1","callerAgent":"ann","skill":"work","project":"p"}}}}`
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/v1/a2a/message:send", strings.NewReader(message))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("A2A-Extensions", strings.Join(uris, ", ")+", https://elsewhere.example/x")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("answer: %d %s, %v", resp.StatusCode, b, err)
	}
	named := strings.Split(strings.Join(resp.Header.Values("A2A-Extensions"), ","), ",")
	for i := range named {
		named[i] = strings.TrimSpace(named[i])
	}
	slices.Sort(named)
	sorted := slices.Sorted(slices.Values(uris))
	if diff := cmp.Diff(sorted, named); diff != "" {
		t.Errorf("active extensions of the answer mismatch (-want +got):\n%s", diff)
	}
	for _, uri := range uris {
		if !slices.Contains(active, uri) {
			t.Errorf("the agent is told of %v, and not of %s", active, uri)
		}
	}
	if !strings.Contains(trace, `"a2a.trace":{"traceId":"t1","callerAgent":"ann","skill":"work","project":"p"}`) {
		t.Errorf("the agent is told %s", trace)
	}
	for _, part := range workParts {
		if !strings.Contains(string(b), part) {
			t.Errorf("the answer %s lacks %s", b, part)
		}
	}
}

// extensionCard returns the extensions that the card of a hub declares.
func extensionCard(t *testing.T, url string) []a2a.AgentExtension {
	t.Helper()
	resp, err := http.Get(url + "/.well-known/agent-card.json")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var c a2a.AgentCard
	if err := json.NewDecoder(resp.Body).Decode(&c); err != nil {
		t.Fatal(err)
	}
	return c.Capabilities.Extensions
}
