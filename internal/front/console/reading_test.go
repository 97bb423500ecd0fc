package console_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/testing/hostiletest"
)

// writer answers with an artifact in Markdown in two chunks, a sound, a text without a type, and an object.
func writer(_ context.Context, x *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
	typed := func(p *a2a.Part, media string) *a2a.Part {
		p.MediaType = media
		return p
	}
	first := a2a.NewArtifactEvent(x, typed(a2a.NewTextPart("# The we"), "text/markdown; charset=utf-8"))
	first.Artifact.ID = "report"
	second := a2a.NewArtifactEvent(x, typed(a2a.NewTextPart("ek\n"), "text/markdown"))
	second.Artifact.ID, second.Append, second.LastChunk = "report", true, true
	rest := a2a.NewArtifactEvent(x, typed(a2a.NewRawPart([]byte("RIFF-sound")), "audio/x-wav"), typed(a2a.NewRawPart([]byte("<svg>")), "audio/svg+xml"), a2a.NewTextPart("an **untyped** text"),
		a2a.NewDataPart(map[string]any{"a": map[string]any{"b": strings.Repeat("x", 200)}}))
	for _, e := range []a2a.Event{agent.Status(x, a2a.TaskStateWorking), first, second, rest, agent.Status(x, a2a.TaskStateCompleted)} {
		if !yield(e, nil) {
			return
		}
	}
}

// TestReading checks how the page of a task shows content by its media type, and as written.
func TestReading(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true, engine.Agent{Name: "writer", Card: hostiletest.Card("writer"), Executor: agent.Func(writer)})
	ann, bob := w.as(annsKey), w.as(bobsKey)
	id := ann.send("writer", "begin")
	stream, _ := ann.events("/console/task/events?id="+id+"&after=0", "event: end")
	for _, want := range []string{`<div class="text source"># The we</div>`, `data-source="/console/task/item?from=3&amp;id=` + id + `"`} {
		if !strings.Contains(stream, want) {
			t.Errorf("the stream has no %s", want)
		}
	}
	page := "/console/task?id=" + id
	wants(t, ann.get(page), 200, `<div class="markdown"><h3>The week</h3></div>`, "an **untyped** text", `<summary><b>a</b> object of 1</summary>`,
		`<audio preload="none" src="/console/task/part?id=`+id+`&amp;part=0&amp;v=5"`)
	if n := strings.Count(ann.get(page).body, "<audio"); n != 1 {
		t.Errorf("the page offers %d sounds", n)
	}
	wants(t, ann.get(page+"&as=markdown"), 200, `<h3>The week</h3>`, "an <strong>untyped</strong> text")
	wants(t, ann.get(page+"&as=text"), 200, `<div class="text"># The week`, `<pre class="json">`)
	item := "/console/task/item?id=" + id
	wants(t, ann.get(item+"&from=3&to=4"), 200, `<h3>The week</h3>`)
	for path, code := range map[string]int{"&from=3&to=2": 400, "&from=0&to=2": 400, "&from=1&to=5000": 400, "&from=99&to=99": 400} {
		wants(t, ann.get(item+path), code)
	}
	wants(t, bob.get(item+"&from=3&to=4"), 404)
	if own, none := bob.get(item+"&from=3&to=4").body, bob.get("/console/task/item?id=none&from=3&to=4").body; strings.ReplaceAll(own, id, "none") != none {
		t.Errorf("the page of another owner's task differs from that of none")
	}
}

// TestRange checks that a browser gets a part of a sound, with the headers of files of others.
func TestRange(t *testing.T) {
	t.Parallel()
	w := newWorld(t, false, engine.Agent{Name: "writer", Card: hostiletest.Card("writer"), Executor: agent.Func(writer)})
	p := w.person()
	id := p.send("writer", "begin")
	p.events("/console/task/events?id="+id+"&after=0", "event: end")
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.url+"/console/task/part?v=5&part=0&id="+id, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Range", "bytes=5-9")
	resp, err := p.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b := make([]byte, 6)
	n, _ := resp.Body.Read(b)
	if string(b[:n]) != "sound" || resp.StatusCode != http.StatusPartialContent || resp.Header.Get("Content-Type") != "audio/wav" ||
		!strings.Contains(resp.Header.Get("Content-Security-Policy"), "sandbox") || resp.Header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("%d %q %v", resp.StatusCode, b[:n], resp.Header)
	}
	if a := p.get("/console/task/part?v=5&part=1&id=" + id); a.header.Get("Content-Type") != "application/octet-stream" {
		t.Errorf("an unknown kind of sound is served as %s", a.header.Get("Content-Type"))
	}
}
