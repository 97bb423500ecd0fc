package main

import (
	"bufio"
	"context"
	"os/exec"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"go.uber.org/goleak"

	"github.com/parley-a2a/parley/client"
	"github.com/parley-a2a/parley/examples/exampletest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestChunks checks the events of the agent.
func TestChunks(t *testing.T) {
	t.Parallel()
	p := exampletest.Start(t, exampletest.Build(t, "."), "-listen=127.0.0.1:0", "-pause=0s")
	type chunk struct {
		text         string
		append, last bool
	}
	var got []chunk
	var reply client.Fold
	for event, err := range exampletest.Dial(t, p.URL, "").Stream(t.Context(), exampletest.Say("to be or")) {
		if err != nil {
			t.Fatal(err)
		}
		reply.Apply(event)
		if e, ok := event.(*a2a.TaskArtifactUpdateEvent); ok {
			got = append(got, chunk{e.Artifact.Parts[0].Text(), e.Append, e.LastChunk})
		}
	}
	want := []chunk{{"to ", false, false}, {"be ", true, false}, {"or", true, true}}
	if len(got) != len(want) || got[0] != want[0] || got[1] != want[1] || got[2] != want[2] {
		t.Errorf("the chunks are %+v, want %+v", got, want)
	}
	if got, want := exampletest.Answer(t, reply.Task), "to be or"; got != want {
		t.Errorf("the status says %q, want %q", got, want)
	}
}

// TestAsk runs both programs.
func TestAsk(t *testing.T) {
	t.Parallel()
	p := exampletest.Start(t, exampletest.Build(t, "."), "-listen=127.0.0.1:0", "-pause=0s")
	got, code := exampletest.Run(t, exampletest.Build(t, "ask"), "-url="+p.URL, "to", "be", "or", "not")
	if want := "to be or not"; got != want || code != 0 {
		t.Errorf("ask prints %q and ends with %d, want %q and 0", got, code, want)
	}
}

// TestAskPrintsAtOnce sees the first word while the agent makes a long pause.
func TestAskPrintsAtOnce(t *testing.T) {
	t.Parallel()
	p := exampletest.Start(t, exampletest.Build(t, "."), "-listen=127.0.0.1:0", "-pause=1h")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ask := exec.CommandContext(ctx, exampletest.Build(t, "ask"), "-url="+p.URL, "to be")
	stdout, err := ask.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := ask.Start(); err != nil {
		t.Fatal(err)
	}
	got, err := bufio.NewReader(stdout).ReadString(' ')
	if got != "to " || err != nil {
		t.Errorf("ask prints %q (%v) at first, want %q", got, err, "to ")
	}
	_ = ask.Process.Kill()
	if err := ask.Wait(); err == nil {
		t.Error("ask ended by itself, although the agent is not done")
	}
}
