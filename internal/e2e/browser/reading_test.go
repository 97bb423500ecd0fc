package browser_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/chromedp/chromedp"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/testing/hostiletest"
)

// TestReading watches an artifact in Markdown whose chunks arrive one by one. It is text until it
// is complete, and has elements then. A tree of JSON opens, and a sound is requested only when a person plays it.
func TestReading(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	write := agent.Func(func(ctx context.Context, x *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		chunk := func(s string) *a2a.TaskArtifactUpdateEvent {
			p := a2a.NewTextPart(s)
			p.MediaType = "text/markdown"
			e := a2a.NewArtifactEvent(x, p)
			e.Artifact.ID = "report"
			return e
		}
		first, second := chunk("# The we"), chunk("ek\n\n- a **strong** start\n")
		second.Append, second.LastChunk = true, true
		if !yield(agent.Status(x, a2a.TaskStateWorking), nil) || !yield(first, nil) {
			return
		}
		select {
		case <-gate:
		case <-ctx.Done():
			return
		}
		sound := a2a.NewRawPart([]byte("RIFF"))
		sound.MediaType = "audio/wav"
		e := a2a.NewArtifactEvent(x, sound, a2a.NewDataPart(map[string]any{"a": map[string]any{"b": map[string]any{"deep": "found"}}, "c": "a text that is long enough to make a tree of this object, because an object of a few bytes is shown as text and needs no tree at all, so that this sentence continues for a while"}))
		if yield(second, nil) && yield(e, nil) {
			yield(agent.Status(x, a2a.TaskStateCompleted), nil)
		}
	})
	b := open(t, hostileHub(t, engine.Agent{Name: "writer", Card: hostiletest.Card("writer"), Executor: write}))
	b.send("writer", "begin")
	b.shows("#timeline .text.source", "# The we")
	close(gate)
	b.shows("#timeline .markdown h3", "The week")
	b.shows("#timeline .markdown li strong", "strong")
	b.holds(`document.querySelectorAll("#timeline .source").length === 0`)
	b.shows("#timeline button.play", "Play")
	b.mu.Lock()
	if slices.ContainsFunc(b.requests, func(address string) bool { return strings.Contains(address, "/task/part") }) {
		t.Errorf("the page has requested the sound: %q", b.requests)
	}
	b.mu.Unlock()
	b.run(chromedp.Click("#timeline button.play"))
	b.shows("#timeline button.play", "cannot play") // the bytes are no sound
	b.holds(`document.querySelector("#timeline .fold details details details").open === false`)
	b.run(chromedp.Click("#timeline .fold details details details summary"))
	b.holds(`document.querySelector("#timeline .fold details details details").open === true`)
	id := b.task()
	b.run(chromedp.Click("#reading a:last-child"))
	b.shows("#timeline .text", "- a **strong** start")
	b.holds(`document.querySelectorAll("#timeline .markdown, #timeline .fold").length === 0`)
	b.run(chromedp.Navigate(b.hub.url + "/console/task?id=" + id))
	b.shows("#timeline .markdown h3", "The week")
}
