package pages_test

import (
	"bytes"
	"fmt"
	"html/template"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/front/console/pages"
	"github.com/parley-a2a/parley/internal/front/console/pages/pagestest"
)

// source has each construct of the language, and each context for which there is a function.
const source = `{{define "page"}}{{$v := .V}}<title>{{.Text}} x</title>
<p title="{{.Text}}" class="a{{if .On}} on{{end}}">{{.Text}} {{up .Text}} {{.V}} {{.None}} {{.N}} {{.F}} {{.At}}</p>
<a href="{{.Text}}">1</a> <a href="/x?a={{.Text}}&amp;b={{up .Text}}">2</a> <a href="/{{.Text}}">3</a> <textarea>{{.Text}}</textarea>
{{with .Ptr}}{{.Name}} {{.Others}} {{$.N}} {{len .Others}}{{with $x := .Name}}{{$x}}{{end}}{{else}}none{{end}}
{{range $x := .List}}{{$x}}{{end}}{{range $i, $x := .List}}{{$i}}{{$x}}{{end}}{{range $k, $x := .Map}}{{$k}}={{$x}}{{end}}{{range .Map}}{{.}}{{end}}{{range .List}}<i>{{.}}{{if eq . $v}}={{end}}{{if ne . "a"}}!{{end}}</i>{{else}}empty{{end}}
{{if and .On (not .Ptr)}}1{{else if or .N .On}}2{{end}}{{if gt .N 1}}>{{end}}{{if lt .N 1}}<{{end}}{{if gt .Size 1}}>{{end}}
{{index .Map "k"}} {{index .Map .Text}} {{printf "%.1f|%s" .F .Text}} {{zero .At}} {{between .Past .At}} {{.At | between .Past}} {{join "a" .Text}}
{{template "part" (up .Text)}}{{template "bare"}}{{/* comment */}}{{- " trimmed " -}}
{{end}}{{define "part"}}[{{.}}]{{end}}{{define "bare"}}<b>{{.}}</b>{{end}}`

type named string

type inner struct {
	Name   named
	Others []string
}

type data struct {
	Text string
	V    any
	None any
	On   bool
	N    int64
	Size uint
	F    float64
	At   time.Time
	Past time.Time
	Ptr  *inner
	List []named
	Map  map[string]string
}

var hostile = []string{
	"", "a", "plain text", `<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `' onclick='x`, "javascript:alert(1)", "JavaScript:alert(1)",
	"vbscript:x", "data:text/html,<b>", "http://a.example/?q=<b>&c=d", "https://a.example/ü?x=1#f", "mailto:a@example", "/path:with:colons", "a/b:c", "%41%zz%", "\x00\x01\xff\xfe", "é漢\u2028\u202e", "a+b=c&d;e", "{{.V}}", "`x`", "&amp;&lt;", "\n\t\r ",
}

// TestSame compares the output with that of html/template.
func TestSame(t *testing.T) {
	t.Parallel()
	functions := pages.Funcs{
		{"up", func(v any) string { return strings.ToUpper(fmt.Sprint(v)) }},
		{"zero", time.Time.IsZero},
		{"between", func(a, b time.Time) time.Duration { return b.Sub(a) }},
		{"join", fmt.Sprint},
	}
	theirs, err := pagestest.Parsed(source, functions)
	if err != nil {
		t.Fatal(err)
	}
	set := compiled(t, source, functions)
	for i, text := range hostile {
		for _, d := range []data{
			{Text: text, V: text},
			{Text: text, V: named(text), On: true, N: int64(i), Size: uint(i), F: 1.25, At: time.UnixMilli(1e12), Ptr: &inner{named(text), hostile[:i]}, List: []named{"a", named(text)}, Map: map[string]string{"k": text, "a": "b", "z": "y"}},
			{Text: text, V: i, N: -1, Ptr: &inner{}, Map: map[string]string{text: "found"}},
		} {
			var got, want bytes.Buffer
			if err := theirs.ExecuteTemplate(&want, "page", d); err != nil {
				t.Fatal(err)
			}
			if err := set.Execute(&got, "page", d); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want.String(), got.String()); diff != "" {
				t.Errorf("%q (-html/template +pages):\n%s", text, diff)
			}
		}
	}
}

// TestMarkup shows where markup and encoded addresses are not escaped, as in html/template.
func TestMarkup(t *testing.T) {
	t.Parallel()
	const src = `{{define "page"}}<p>{{.M}}</p><a href="/x?{{.U}}">y</a><a href="{{.U}}">z</a>{{end}}`
	theirs, err := pagestest.Parsed(src, nil)
	if err != nil {
		t.Fatal(err)
	}
	set := compiled(t, src, nil)
	for _, text := range hostile {
		var got, want bytes.Buffer
		if err := theirs.ExecuteTemplate(&want, "page", map[string]any{"M": template.HTML(text), "U": template.URL(text)}); err != nil {
			t.Fatal(err)
		}
		if err := set.Execute(&got, "page", map[string]any{"M": pages.HTML(text), "U": pages.URL(text)}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want.String(), got.String()); diff != "" {
			t.Errorf("%q (-html/template +pages):\n%s", text, diff)
		}
	}
}

func compiled(t *testing.T, src string, functions pages.Funcs) *pages.Set {
	t.Helper()
	text, err := pagestest.Compiled(src, functions)
	if err != nil {
		t.Fatal(err)
	}
	set, err := pages.Read(text, functions)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// TestRefused lists errors: a template never shows a value that it could not find.
func TestRefused(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]string{
		`{{.Missing}}`:                         ".Missing: pages_test.data has no such field",
		`{{.Ptr.Name}}`:                        ".Name of nil",
		`{{.At.Unix}}`:                         ".Unix: time.Time has no such field",
		`{{range .At}}x{{end}}`:                "range .At: time.Time is no slice",
		`{{template "absent" .}}`:              `no such template "absent"`,
		`{{.At.Sub .Past}}`:                    ".At.Sub .Past: not supported",
		`{{.Past | .At.Sub}}`:                  ".At.Sub: not supported",
		`{{zero}}`:                             "zero: 0 arguments",
		`{{zero .Text}}`:                       "zero: string is no time.Time",
		`{{$x := 1}}{{$x = 2}}`:                "not supported",
		`{{range .List}}{{break}}{{end}}`:      "not supported",
		`<script>var x = {{.Text}};</script>`:  "function \"_html_template_jsvalescaper\" not defined",
		`<p style="color: {{.Text}}">x</p>`:    "function \"_html_template_cssvaluefilter\" not defined",
		`<p {{.Text}}>x</p>`:                   "function \"_html_template_htmlnamefilter\" not defined",
		`{{if .On}}<a href="{{else}}x{{end}}>`: "branches end in different contexts",
	} {
		functions := pages.Funcs{{"zero", time.Time.IsZero}}
		text, err := pagestest.Compiled(`{{define "page"}}`+src+`{{end}}`, functions)
		if err == nil {
			var set *pages.Set
			if set, err = pages.Read(text, functions); err == nil {
				err = set.Execute(new(bytes.Buffer), "page", data{Text: "x", List: []named{"a"}})
			}
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got error %v, want %q", src, err, want)
		}
	}
}
