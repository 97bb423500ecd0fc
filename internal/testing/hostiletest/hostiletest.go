// Package hostiletest has texts that try to become more than text in a page, and an agent whose
// card, statuses and artifacts are made of such a text.
//
// # Guarantees
//
// Each text has [Mark] in it, and is different from the others.
//
// # Non-guarantees
//
// The list is not complete; new attacks are added to Texts.
package hostiletest

import (
	"context"
	"strconv"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/agent"
)

// Mark is in each text, so that a test finds it again in a page. Scripts in the texts call a function
// of this name.
const Mark = "zq7"

// Texts try to become more than text.
var Texts = []string{
	`<script>` + Mark + `()</script>`,
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
	"**<b onclick=zq7()>zq7**", "```zq7\n</pre><script>zq7()</script>", "| <img src=x onerror=zq7()> |\n|---|\n| zq7 |", "> - # </h3><zq7>", "[zq7](https://zq7.example \"' onclick=zq7()\")", "[![zq7](//zq7.example/x)](javascript:zq7())",
	"[zq7](<javascript:zq7()>)", "<javascript://zq7.example/%0azq7()>", "![zq7](data:image/svg+xml,<svg/onload=zq7()>)", "*_**<zq7>**_*",
	`../../zq7`, `..\zq7`, `%0d%0aSet-Cookie:zq7`, `zq7" data-live="//zq7.example`, `zq7' id='timeline`,
}

// Card returns a card whose fields are a text.
func Card(s string) *a2a.AgentCard {
	return &a2a.AgentCard{
		Name: s, Description: s, Version: s, DefaultInputModes: []string{"*/*", s}, DefaultOutputModes: []string{"*/*", s},
		Provider: &a2a.AgentProvider{Org: s, URL: s}, DocumentationURL: s, IconURL: s,
		Skills: []a2a.AgentSkill{{ID: s, Name: s, Description: s, Tags: []string{s}, Examples: []string{s}}},
	}
}

// Executor returns an agent that answers with each text in every field that an agent fills, and
// then asks its caller.
func Executor(texts ...string) a2asrv.AgentExecutor {
	return agent.Func(func(_ context.Context, x *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		for i, s := range texts {
			if !send(x, s, i == len(texts)-1, yield) {
				return
			}
		}
	})
}

// send yields a text of each kind, and after the last one a question.
func send(x *a2asrv.ExecutorContext, s string, last bool, yield func(a2a.Event, error) bool) bool {
	raw := a2a.NewRawPart([]byte(s))
	raw.Filename, raw.MediaType = s, s
	picture := a2a.NewRawPart([]byte("<svg onload=zq7()>"))
	picture.Filename, picture.MediaType = s, "image/svg+xml"
	pixel := a2a.NewRawPart([]byte("\x89PNG"))
	pixel.Filename, pixel.MediaType = s, "image/png"
	address := a2a.NewFileURLPart(a2a.URL(s), "text/html")
	data := a2a.NewDataPart(map[string]any{s: []any{s, map[string]any{"x": s}}})
	data.Metadata = map[string]any{s: s}
	marked, object, sound := a2a.NewTextPart(s), a2a.NewTextPart(`{"`+Mark+`":[{"a":1,"b":{"c":`+strconv.Quote(strings.Repeat(Mark, 60))+`}}]}`), a2a.NewRawPart([]byte("RIFF"))
	marked.MediaType, object.MediaType, sound.MediaType, sound.Filename = "text/markdown", "application/json", "audio/wav", s
	e := a2a.NewArtifactEvent(x, a2a.NewTextPart(s), raw, picture, pixel, address, data, marked, object, sound)
	e.Artifact.ID, e.Artifact.Name, e.Artifact.Description = a2a.ArtifactID(s), s, s
	e.Artifact.Metadata, e.Metadata = map[string]any{s: s}, map[string]any{s: s}
	if !yield(agent.Status(x, a2a.TaskStateWorking, a2a.NewTextPart(s), data), nil) || !yield(e, nil) {
		return false
	}
	if last {
		yield(agent.Status(x, a2a.TaskStateInputRequired, a2a.NewTextPart(s), raw, address), nil)
	}
	return true
}

// Elements are those of the templates of the console, with the attributes that each may have.
var Elements = map[string]string{
	"html": "lang", "head": "", "meta": "charset name content", "title": "", "link": "rel href type", "script": "src defer", "body": "",
	"a": "class href title aria-current rel hidden tabindex data-state data-n", "header": "class", "nav": "aria-label", "div": "class id data-counts data-curves aria-live aria-hidden tabindex role aria-label", "span": "class id role aria-hidden hidden title data-silent data-state",
	"main": "id tabindex", "footer": "", "h1": "class", "h2": "id", "h3": "", "p": "class role id hidden", "b": "", "code": "", "form": "id method action class enctype data-busy data-hold",
	"input": "id form aria-label name type value autocomplete spellcheck required autofocus list placeholder minlength maxlength multiple checked", "button": "class name value type hidden disabled", "label": "for class", "textarea": "id name rows required autofocus spellcheck",
	"select": "id name", "option": "value selected", "datalist": "id", "section": "class id data-ended aria-label aria-labelledby", "dl": "class", "dt": "", "dd": "", "time": "datetime title",
	"ol": "class id data-live data-cursor start", "ul": "class", "li": "class data-notice title data-name data-tone data-version data-key data-append data-time data-source", "figure": "class data-unit", "figcaption": "", "img": "src alt loading",
	"pre": "class tabindex", "fieldset": "", "legend": "", "details": "class open", "summary": "class", "dialog": "id class aria-labelledby", "kbd": "", "noscript": "", "article": "class", "aside": "class aria-label", "svg": "class viewbox preserveaspectratio role aria-label width height", "g": "class", "path": "class d stroke-width", "text": "class x y",
	"strong": "", "em": "", "del": "", "blockquote": "", "hr": "", "h4": "", "h5": "", "audio": "preload src",
	"br": "", "rect": "x y width height rx class", "table": "class", "thead": "", "tbody": "", "tr": "", "th": "class scope aria-sort", "td": "class",
}
