package console_test

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"golang.org/x/net/html"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/bus"
	"github.com/parley-a2a/parley/inbox"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/task"
)

// mark is in each hostile text, so that a test finds it again in a page.
const mark = "zq7"

// hostile are texts that try to become more than text. Each has the mark.
var hostile = []string{
	`<script>` + mark + `()</script>`,
	`"><script src=//zq7.example></script>`,
	`'><img src=x onerror=zq7()>`,
	`<svg onload=zq7()><animate onbegin=zq7() attributeName=x></svg>`,
	`<svg><script>zq7()</script></svg>`,
	`<math><mtext><style><img src=x onerror=zq7()></style></mtext></math>`,
	`</title><zq7>`, `</textarea><zq7>`, `</pre></div></li><zq7>`, `<!--zq7--><zq7>`, `--><zq7>`, `]]><zq7>`,
	`<iframe srcdoc="<script>zq7()</script>">`, `<object data="data:text/html,zq7">`, `<embed src=zq7>`, `<base href=//zq7.example/>`,
	`<meta http-equiv=refresh content="0;url=//zq7.example">`, `<link rel=stylesheet href=//zq7.example>`, `<style>@import "//zq7.example"</style>`,
	`<form action=//zq7.example><input name=zq7>`, `<a href="javascript:zq7()">x</a>`, `javascript:zq7()`, `JaVaScRiPt:zq7()`, `data:text/html,<script>zq7()</script>`,
	`vbscript:zq7`, `//zq7.example/`, `https://zq7.example/`, `" onmouseover="zq7()`, `' autofocus onfocus='zq7()`, "` onclick=`zq7()",
	`" style="background:url(//zq7.example)`, `{{zq7}}`, `${zq7}`, `{{.Token}}zq7`, `<zq7 x=&quot;y&quot;>`, `&lt;script&gt;zq7`, `&#60;script&#62;zq7`,
	"zq7\x00<script>", "zq7\u202e<script>txet", "\u2066zq7\u2069", "zq7\u200f\u061c", "zq7\u001b[31m", "zq7\r\ndata: x\r\n\r\nevent: end\r\ndata: x", "zq7\n\nevent: end\n\n",
	"zq7\u2028\u2029", "zq7\ufeff", "<zq7\xc3\x28>", strings.Repeat("<b>", 300) + "zq7", `<img src="/console/task/part?zq7" onload=zq7()>`,
	`<noscript><p title="</noscript><img src=x onerror=zq7()>">`, `<template><script>zq7()</script></template>`, `<select><script>zq7()</script>`,
	`<button formaction=//zq7.example>`, `<input type=image src=//zq7.example>`, `<video src=//zq7.example onerror=zq7()>`, `<audio autoplay src=//zq7.example>`,
	`<details open ontoggle=zq7()>`, `<marquee onstart=zq7()>`, `<body onload=zq7()>`, `<xss style="animation:x" onanimationstart=zq7()>`, `<portal src=//zq7.example>`,
	`<a href="&#106;avascript:zq7()">x</a>`, "<a href=\"java\tscript:zq7()\">x</a>", `[x](javascript:zq7())`, `![x](//zq7.example/x.png)`, `<//zq7.example>`, `[x]: //zq7.example`,
	`<img srcset="//zq7.example 2x">`, `<svg><use href="//zq7.example#x"/></svg>`, `<svg><foreignObject><iframe src=//zq7.example></foreignObject></svg>`, `<?xml version="1.0"?><!DOCTYPE x [<!ENTITY zq7 SYSTEM "file:///etc/passwd">]>`,
	`</script><script>zq7()</script>`, `</style><script>zq7()</script>`, "<scr\x00ipt>zq7()</scr\x00ipt>", `<img/src="x"/onerror=zq7()>`, `<<script>zq7()//<</script>`, `<zq7 onclick=zq7() tabindex=1 id=main>`,
	`"; zq7(); //`, `'-zq7()-'`, `\u003cscript\u003ezq7()`, `%3Cscript%3Ezq7()`, "+ADw-script+AD4-zq7()", "zq7\u00ad\u034f\U000e0041", "zq7" + "\u0301\u0301\u0301", "\U0001F1FF\U0001F1F6zq7",
	`../../zq7`, `..\zq7`, `%0d%0aSet-Cookie:zq7`, `zq7" data-live="//zq7.example`, `zq7' id='timeline`,
}

// bad is a text of each kind, in the fields that an agent fills.
func bad(x *a2asrv.ExecutorContext, s string, yield func(a2a.Event, error) bool) {
	raw := a2a.NewRawPart([]byte(s))
	raw.Filename, raw.MediaType = s, s
	picture := a2a.NewRawPart([]byte("<svg onload=zq7()>"))
	picture.Filename, picture.MediaType = s, "image/svg+xml"
	pixel := a2a.NewRawPart([]byte("\x89PNG"))
	pixel.Filename, pixel.MediaType = s, "image/png"
	address := a2a.NewFileURLPart(a2a.URL(s), "text/html")
	data := a2a.NewDataPart(map[string]any{s: []any{s, map[string]any{"x": s}}})
	data.Metadata = map[string]any{s: s}
	e := a2a.NewArtifactEvent(x, a2a.NewTextPart(s), raw, picture, pixel, address, data)
	e.Artifact.ID, e.Artifact.Name, e.Artifact.Description = a2a.ArtifactID(s), s, s
	e.Artifact.Metadata, e.Metadata = map[string]any{s: s}, map[string]any{s: s}
	if !yield(agent.Status(x, a2a.TaskStateWorking, a2a.NewTextPart(s), data), nil) || !yield(e, nil) {
		return
	}
	yield(agent.Status(x, a2a.TaskStateInputRequired, a2a.NewTextPart(s), raw, address), nil)
}

// agentOf returns the name of the agent of a hostile text.
func agentOf(i int) task.Agent { return task.Agent(fmt.Sprint("agent", i)) }

// hostileWorld has an agent for each hostile text, whose card is made of it.
func hostileWorld(t *testing.T) *world {
	t.Helper()
	var all []engine.Agent
	for i, s := range hostile {
		card := &a2a.AgentCard{
			Name: s, Description: s, Version: s, DefaultInputModes: []string{"*/*", s}, DefaultOutputModes: []string{"*/*", s},
			Provider: &a2a.AgentProvider{Org: s, URL: s}, DocumentationURL: s, IconURL: s,
			Skills: []a2a.AgentSkill{{ID: s, Name: s, Description: s, Tags: []string{s}, Examples: []string{s}}},
		}
		all = append(all, engine.Agent{Name: agentOf(i), Card: card, Executor: agent.Func(
			func(_ context.Context, x *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
				bad(x, s, yield)
			},
		)})
	}
	return newWorld(t, false, all...)
}

// TestHostile checks for each hostile text, in every field that others fill, that no page makes
// an element, an attribute or an address of it.
func TestHostile(t *testing.T) {
	t.Parallel()
	if len(hostile) < 80 {
		t.Errorf("the table has %d texts", len(hostile))
	}
	w := hostileWorld(t)
	p := w.person()
	check(t, "agents", p.get("/console/agents").body)
	check(t, "overview", p.get("/console/").body)
	check(t, "webhooks", p.get("/console/webhooks").body)
	for i, s := range hostile {
		name := fmt.Sprintf("%q", s)
		check(t, name+" as a card", p.get("/console/try?agent="+url.QueryEscape(string(agentOf(i)))).body)
		check(t, name+" in addresses", p.get("/console/try?agent="+url.QueryEscape(s)+"&text="+url.QueryEscape(s)+"&context="+url.QueryEscape(s)).body)
		check(t, name+" in filters", p.get("/console/tasks?agent="+url.QueryEscape(s)+"&context="+url.QueryEscape(s)+"&state="+url.QueryEscape(s)+"&page="+url.QueryEscape(s)).body)
		check(t, name+" as an id", p.get("/console/tasks?id="+url.QueryEscape(s)).body)
		check(t, name+" as a task", p.get("/console/task?id="+url.QueryEscape(s)+"&owner="+url.QueryEscape(s)).body)
		check(t, name+" in the filters of the audit log", p.get("/console/audit?actor="+url.QueryEscape(s)+"&since="+url.QueryEscape(s)).body)
		check(t, name+" in the filters of letters", p.get("/console/dead?queue="+url.QueryEscape(s)).body)
		check(t, name+" in the inbox", p.get("/console/inbox?state="+url.QueryEscape(s)).body)
		check(t, name+" after signing in", p.get("/console/sign-in?next="+url.QueryEscape(s)).body)
		id := p.send(string(agentOf(i)), s)
		stream, _ := p.events("/console/task/events?id="+id+"&after=0", "input required")
		checkPieces(t, name, stream)
		a := p.get("/console/task?id=" + id)
		check(t, name+" on the page of a task", a.body)
		if !strings.Contains(a.body, mark) {
			t.Errorf("%s: the page of the task does not show it", name)
		}
		for _, as := range []string{"", "v0.3"} {
			check(t, name+" as bytes", p.get("/console/task/raw?id="+id+"&v=3&as="+url.QueryEscape(as)).body)
		}
		for n := range 6 {
			checkFile(t, p.get(fmt.Sprintf("/console/task/part?id=%s&v=3&part=%d", id, n)))
		}
		w.letter(&bus.Envelope{ID: fmt.Sprint("letter", i), Queue: s, Reason: s, Task: s})
		item := &inbox.Item{ID: inbox.ID(fmt.Sprint("item", i)), Kind: inbox.Question, Owner: "local", Agent: agentOf(i), Text: s, Draft: s, CallerName: s, Skill: s}
		if _, err := w.inbox.Put(t.Context(), item); err != nil {
			continue // the inbox refuses it itself
		}
		check(t, name+" as a question", p.get("/console/inbox").body)
	}
	check(t, "tasks", p.get("/console/tasks").body)
	a := p.get("/console/dead")
	check(t, "dead letters", a.body)
	if n := strings.Count(a.body, mark); n < 2*len(hostile) {
		t.Errorf("the page of dead letters shows the mark %d times", n)
	}
}

// elements are those of the templates, with the attributes that each may have.
var elements = map[string]string{
	"html": "lang", "head": "", "meta": "charset name content", "title": "", "link": "rel href type", "script": "src defer", "body": "",
	"a": "class href title aria-current rel", "header": "class", "nav": "aria-label", "div": "class id data-counts data-curves aria-live aria-hidden tabindex role aria-label", "span": "class id role aria-hidden hidden title",
	"main": "id tabindex", "footer": "", "h1": "class", "h2": "id", "h3": "", "p": "class role id hidden", "b": "", "code": "", "form": "method action class",
	"input": "id name type value autocomplete spellcheck required autofocus list placeholder minlength", "button": "class name value", "label": "for class", "textarea": "id name rows required autofocus",
	"select": "id name", "option": "value selected", "datalist": "id", "section": "class id data-ended aria-label aria-labelledby", "dl": "class", "dt": "", "dd": "", "time": "datetime title",
	"ol": "class id data-live data-cursor", "ul": "class", "li": "class title data-name data-tone data-version data-key data-append data-time", "figure": "class data-unit", "figcaption": "", "img": "src alt loading",
	"pre": "class tabindex", "details": "class", "summary": "", "noscript": "", "article": "class", "aside": "class aria-label", "svg": "class viewbox preserveaspectratio role aria-label",
	"br": "", "rect": "x width height class", "table": "class", "thead": "", "tbody": "", "tr": "", "th": "class", "td": "class",
}

// check fails if a page has elements, attributes or addresses that the templates do not have.
func check(t *testing.T, name, page string) {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	var scripts []string
	for n := range doc.Descendants() {
		switch n.Type {
		case html.ElementNode:
			checkElement(t, name, n)
			if n.Data == "script" {
				scripts = append(scripts, n.Attr[0].Val)
			}
		case html.CommentNode:
			t.Errorf("%s: comment %q", name, n.Data)
		case html.TextNode:
			if strings.ContainsFunc(n.Data, forbidden) {
				t.Errorf("%s: text %q has characters that change how it is shown", name, n.Data)
			}
		}
	}
	own := []string{"/console/assets/live.js"}
	if name == "overview" {
		own = append(own, "/console/assets/uplot/uPlot.iife.min.js", "/console/assets/curves.js")
	}
	if strings.Contains(page, "<html") && !slices.Equal(scripts, own) {
		t.Errorf("%s has the scripts %q", name, scripts)
	}
}

// forbidden reports whether a page must not have a character in a text.
func forbidden(r rune) bool {
	return r < ' ' && r != '\n' && r != '\t' || r == 0x7f || r >= 0x202A && r <= 0x202E || r >= 0x2066 && r <= 0x2069 || slices.Contains([]rune{0x200e, 0x200f, 0x61c, 0x2028, 0x2029, 0xfeff}, r)
}

func checkElement(t *testing.T, name string, n *html.Node) {
	t.Helper()
	allowed, ok := elements[n.Data]
	if !ok {
		t.Errorf("%s: element <%s>", name, n.Data)
		return
	}
	for _, a := range n.Attr {
		if !slices.Contains(strings.Fields(allowed), strings.ToLower(a.Key)) {
			t.Errorf("%s: <%s> has the attribute %s=%q", name, n.Data, a.Key, a.Val)
		}
		switch a.Key {
		case "href", "src", "action", "data-live", "data-counts", "data-curves":
			if a.Val != "" && !strings.HasPrefix(a.Val, "/console/") && a.Val != "#main" {
				t.Errorf("%s: <%s> leads to %s", name, n.Data, a.Val)
			}
		case "class", "id", "data-key":
			if strings.Contains(a.Val, mark) {
				t.Errorf("%s: <%s> has %s=%q", name, n.Data, a.Key, a.Val)
			}
		}
	}
}

// checkPieces checks the pieces that a stream sends, and that no content ends or begins an event.
func checkPieces(t *testing.T, name, stream string) {
	t.Helper()
	for event := range strings.SplitSeq(stream[:strings.LastIndex(stream, "\n\n")], "\n\n") {
		var piece strings.Builder
		kind := ""
		for line := range strings.Lines(event) {
			field, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
			switch field {
			case "event":
				kind = value
			case "data":
				piece.WriteString(value + "\n")
			case "id", "retry", "":
			default:
				t.Errorf("%s: the stream has the line %q", name, line)
			}
		}
		if !slices.Contains([]string{"", "entry", "head", "tree", "end"}, kind) {
			t.Errorf("%s: the stream has the event %q", name, kind)
		}
		check(t, name+" in a stream", piece.String())
	}
}

// checkFile checks that a browser saves a file of others, or shows it as an image of a known type.
func checkFile(t *testing.T, a page) {
	t.Helper()
	kind, how := a.header.Get("Content-Type"), a.header.Get("Content-Disposition")
	if a.code == 200 && kind != "image/png" && (kind != "application/octet-stream" || !strings.HasPrefix(how, "attachment")) {
		t.Errorf("%s is served as %s, %s", a.path, kind, how)
	}
	if a.code == 200 && (a.header.Get("X-Content-Type-Options") != "nosniff" || !strings.Contains(a.header.Get("Content-Security-Policy"), "sandbox")) {
		t.Errorf("%s: headers %v", a.path, a.header)
	}
	if strings.ContainsAny(how, "/\\\r\n") || a.header.Get("Set-Cookie") != "" {
		t.Errorf("%s: disposition %q", a.path, how)
	}
}
