package interop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2aclient/agentcard"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/google/go-cmp/cmp"
)

// sample is an agent that behaves like one of the protocol makers' samples, behind the hub.
type sample struct {
	name, url string
	// card is the name in the agent's own card.
	card string
	// answer is the text of its answer to sampleText. It is an artifact or, if spoken is set,
	// the message of the last status.
	answer string
	spoken bool
}

const (
	sampleText = "step on no pets"
	sampleKey  = "key-of-a-known-caller"
	hello      = "Hello, World! I have received your request (" + sampleText + ")"
)

// startSamples starts the agents on each SDK.
func startSamples(t *testing.T) []sample {
	python := startForeign(t, "python/v1", python("samples.py")(t, "python/v1"))
	js := startForeign(t, "js", node("hello.mjs")(t, "js"))
	const greeter = "Hello World Agent"
	return []sample{
		{name: "hello-python", url: python, card: greeter, answer: hello},
		{name: "hello-js", url: js, card: greeter, answer: hello},
		{name: "hello-go", url: startGreeter(t), card: greeter, answer: hello, spoken: true},
		{name: "hello", url: python + "/hello", card: "hello", answer: `Hello, World! You said: "step on no pets"`},
		{name: "palindrome", url: python + "/palindrome", card: "palindrome", answer: `"step on no pets" is a palindrome.`},
		{name: "reverse", url: python + "/reverse", card: "reverse", answer: "Reversed: pets no on step"},
	}
}

// serveSamples runs the agents behind a hub. Callers with a key get a further skill.
func serveSamples(t *testing.T, all []sample) (hub string) {
	var config strings.Builder
	fmt.Fprintf(&config, "agents_builtin: false\nallow_anonymous: true\n"+
		"auth: {api_keys: {%s: {agent_id: known, roles: [admin]}}}\nextended_card: {authenticated: true}\nagents:\n", sampleKey)
	for _, s := range all {
		fmt.Fprintf(&config, "  - {name: %s, url: %q, extended: {skills: [{id: super_mode}]}}\n", s.name, s.url)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "parley.yaml"), []byte(config.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	hub, _ = serveHub(t, dir, "--grpc-listen", "127.0.0.1:0", "--data", t.TempDir())
	return hub
}

// greeted is a client's report about an agent.
type greeted struct {
	Card     sampleCard
	Sent     struct{ Task *task }
	Streamed []event
	Extended sampleCard
	// Refused is the SDK's error for the extended card without a key.
	Refused string
}

type sampleCard struct {
	Name         string
	Capabilities struct{ Streaming, ExtendedAgentCard bool }
	Skills       []struct{ ID string }
}

func (c *sampleCard) skills() string {
	var ids []string
	for _, s := range c.Skills {
		ids = append(ids, s.ID)
	}
	return strings.Join(ids, " ")
}

// TestSamples makes clients that behave like the samples of each SDK greet agents that behave
// like them, all behind one hub: each reads the card, sends, streams and reads the extended
// card.
func TestSamples(t *testing.T) {
	t.Parallel()
	all := startSamples(t)
	hub := serveSamples(t, all)
	args := []string{hub, sampleKey, sampleText}
	for _, s := range all {
		out, errs, code := parley(t, "agents", "refresh", s.name, "--url", hub, "--api-key", sampleKey)
		if !strings.Contains(out, s.name+"\tup") {
			t.Fatalf("parley agents refresh: exit code %d, %q, %q; want the agent to be up", code, out, errs)
		}
		args = append(args, s.name)
	}
	for name, greet := range map[string]func(*testing.T) any{
		"python": func(t *testing.T) any {
			return saw(t, "python/v1", append(python("greet.py")(t, "python/v1"), args...))
		},
		"js": func(t *testing.T) any { return saw(t, "js", append(node("greet.mjs")(t, "js"), args...)) },
		"go": func(t *testing.T) any { return goGreet(t, hub, all) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, err := json.Marshal(greet(t))
			if err != nil {
				t.Fatal(err)
			}
			var seen map[string]*greeted
			if err := json.Unmarshal(b, &seen); err != nil {
				t.Fatalf("decode %s: %v", b, err)
			}
			for _, s := range all {
				if seen[s.name] == nil {
					t.Errorf("%s was not seen", s.name)
					continue
				}
				t.Run(s.name, func(t *testing.T) {
					s.checkCards(t, seen[s.name])
					s.checkAnswers(t, seen[s.name].Sent.Task, seen[s.name].Streamed)
				})
			}
		})
	}
	// The host "cli" uses this SDK, and makes these two calls.
	old := &peers[slices.IndexFunc(peers, func(p peer) bool { return p.name == "python-0.3" })]
	t.Run(old.name, func(t *testing.T) {
		t.Parallel()
		c := &caller{TB: t, peer: old, binding: "JSONRPC", client: old.start(t, hub, "JSONRPC"), ctx: t.Context()}
		for _, s := range all {
			sent := c.send(s.name, textMessage(sampleText))
			s.checkAnswers(t, &sent, c.events(s.name, "stream", textMessage(sampleText)))
		}
	})
}

// checkCards compares the cards that a client has received with the expected ones.
func (s *sample) checkCards(t *testing.T, seen *greeted) {
	skill := "echo_bot"
	if s.card != "Hello World Agent" {
		skill = s.card
	}
	if got, want := seen.Card.skills(), skill; got != want || !seen.Card.Capabilities.Streaming || !seen.Card.Capabilities.ExtendedAgentCard {
		t.Errorf("the card has the skills %q, %+v; want %q, streams and an extended card", got, seen.Card.Capabilities, want)
	}
	if got, want := seen.Extended.skills(), skill+" super_mode"; got != want {
		t.Errorf("the extended card has the skills %q, want %q", got, want)
	}
	if seen.Refused == "" {
		t.Error("a caller without a key reads the extended card")
	}
}

// checkAnswers compares the answers that a client has received with the expected ones.
func (s *sample) checkAnswers(t *testing.T, sent *task, streamed []event) {
	t.Helper()
	s.checkAnswer(t, "send", sent)
	var last task
	var kinds []string
	for _, e := range streamed {
		switch {
		case e.Task != nil:
			last = *e.Task
			kinds = append(kinds, "task")
		case e.StatusUpdate != nil:
			last.Status = e.StatusUpdate.Status
			kinds = append(kinds, last.Status.State)
		case e.ArtifactUpdate != nil:
			last.Artifacts = append(last.Artifacts, e.ArtifactUpdate.Artifact)
			kinds = append(kinds, "artifact")
		}
	}
	want := []string{"task", "TASK_STATE_WORKING", "artifact", "TASK_STATE_COMPLETED"}
	if s.spoken {
		want = slices.Delete(want, 2, 3)
	}
	if diff := cmp.Diff(want, kinds); diff != "" {
		t.Errorf("the stream of %s has (-want +got):\n%s", s.name, diff)
	}
	s.checkAnswer(t, "stream", &last)
}

// checkAnswer checks that a task has ended with the agent's answer.
func (s *sample) checkAnswer(t *testing.T, call string, got *task) {
	t.Helper()
	if got == nil || got.Status.State != "TASK_STATE_COMPLETED" || got.Status.Message == nil {
		t.Errorf("%s to %s: the task is %+v, want one that is completed with a message", call, s.name, got)
		return
	}
	var artifacts []string
	for _, a := range got.Artifacts {
		artifacts = append(artifacts, text(a.Parts))
	}
	output, want := text(got.Status.Message.Parts), []string{s.answer}
	if s.spoken {
		want = nil
	}
	if diff := cmp.Diff(want, artifacts); diff != "" || s.spoken && output != s.answer {
		t.Errorf("%s to %s: the status says %q; the artifacts are (-want +got):\n%s", call, s.name, output, diff)
	}
}

// goGreet greets the agents with the unmodified client of the Go SDK.
func goGreet(t *testing.T, hub string, all []sample) any {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	seen := obj{}
	for _, s := range all {
		one, err := goGreetOne(ctx, hub+"/a2a/"+s.name)
		if err != nil {
			t.Fatalf("%s: %v", s.name, err)
		}
		seen[s.name] = one
	}
	return seen
}

func goGreetOne(ctx context.Context, agent string) (obj, error) {
	card, err := agentcard.DefaultResolver.Resolve(ctx, agent)
	if err != nil {
		return nil, err
	}
	c, err := a2aclient.NewFromCard(ctx, card)
	if err != nil {
		return nil, err
	}
	known, err := a2aclient.NewFromCard(ctx, card, a2aclient.WithCallInterceptors(keyed{}))
	if err != nil {
		return nil, err
	}
	request := func() *a2a.SendMessageRequest {
		return &a2a.SendMessageRequest{Message: a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart(sampleText))}
	}
	sent, sendErr := c.SendMessage(ctx, request())
	var streamed []any
	var streamErr error
	for ev, err := range c.SendStreamingMessage(ctx, request()) {
		streamErr = errors.Join(streamErr, err)
		streamed = append(streamed, a2a.StreamResponse{Event: ev})
	}
	extended, extendedErr := known.GetExtendedAgentCard(ctx, &a2a.GetExtendedAgentCardRequest{})
	if err := errors.Join(sendErr, streamErr, extendedErr); err != nil {
		return nil, err
	}
	refused := ""
	if _, err := c.GetExtendedAgentCard(ctx, &a2a.GetExtendedAgentCardRequest{}); err != nil {
		refused = err.Error()
	}
	return obj{
		"card": card, "sent": a2a.StreamResponse{Event: sent}, "streamed": streamed,
		"extended": extended, "refused": refused,
	}, errors.Join(c.Destroy(), known.Destroy())
}

// keyed adds the key of a caller.
type keyed struct {
	a2aclient.PassthroughInterceptor
}

func (keyed) Before(ctx context.Context, r *a2aclient.Request) (context.Context, any, error) {
	r.ServiceParams["Authorization"] = []string{"Bearer " + sampleKey}
	return ctx, nil, nil
}

// startGreeter serves an agent that behaves like the sample "helloworld" with the Go SDK alone,
// and returns its URL.
func startGreeter(t *testing.T) string {
	t.Helper()
	mux := http.NewServeMux()
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	card := func(skills ...string) *a2a.AgentCard {
		c := &a2a.AgentCard{
			Name: "Hello World Agent", Description: "Behaves like the sample agent", Version: "0.0.1",
			SupportedInterfaces: []*a2a.AgentInterface{a2a.NewAgentInterface(srv.URL, a2a.TransportProtocolJSONRPC)},
			Capabilities:        a2a.AgentCapabilities{Streaming: true, ExtendedAgentCard: true},
			DefaultInputModes:   []string{"text/plain"}, DefaultOutputModes: []string{"text/plain"},
		}
		for _, s := range skills {
			c.Skills = append(c.Skills, a2a.AgentSkill{ID: s, Name: s, Description: "Answers a text", Tags: []string{"sample"}})
		}
		return c
	}
	handler := a2asrv.NewHandler(greeter{}, a2asrv.WithExtendedAgentCard(card("echo_bot", "echo_bot_super_mode")))
	mux.Handle(a2asrv.WellKnownAgentCardPath, a2asrv.NewStaticAgentCardHandler(card("echo_bot")))
	mux.Handle("/", a2asrv.NewJSONRPCHandler(handler))
	return srv.URL
}

// greeter answers with its last status alone.
type greeter struct{}

func (greeter) Execute(_ context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		send := func(s a2a.TaskState, text string) bool {
			return yield(a2a.NewStatusUpdateEvent(ec, s, a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart(text))), nil)
		}
		if ec.StoredTask == nil && !yield(a2a.NewSubmittedTask(ec, ec.Message), nil) {
			return
		}
		answer := "No text input is provided!"
		if at := slices.IndexFunc(ec.Message.Parts, func(p *a2a.Part) bool { return p.Text() != "" }); at >= 0 {
			answer = "Hello, World! I have received your request (" + ec.Message.Parts[at].Text() + ")"
		}
		if send(a2a.TaskStateWorking, "Processing request...") {
			send(a2a.TaskStateCompleted, answer)
		}
	}
}

func (greeter) Cancel(context.Context, *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) { yield(nil, errors.New("it cannot be canceled")) }
}
