package console

import (
	"bytes"
	"embed"
	"net/http"
	"strings"
	"time"

	"github.com/parley-a2a/parley/internal/file/packed"
	"github.com/parley-a2a/parley/internal/front/console/pages"
)

// files are those of the folder assets, compressed: that saves 60 KiB of the program. All
// templates are one file of statements for package pages, with the escaping of html/template. A test
// compares them; after a change of a file:
//
//	go test ./internal/front/console -run TestPacked -update
//
//go:embed packed
var files embed.FS

// kinds are the media types of the files that browsers get.
var kinds = words{
	{"style.css", "text/css; charset=utf-8"},
	{"live.js", "text/javascript; charset=utf-8"},
	{"icon.svg", "image/svg+xml"},
	{"curves.js", "text/javascript; charset=utf-8"},
	{"uplot/uPlot.iife.min.js", "text/javascript; charset=utf-8"},
	{"uplot/uPlot.min.css", "text/css; charset=utf-8"},
	{"uplot/LICENSE", "text/plain; charset=utf-8"},
}

// words are pairs of texts. A list of them needs no code in a program, as a map does.
type words [][2]string

// of returns the word for a name; empty for an unknown one.
//
//go:noinline // it is called often, and a copy of it is longer than a call
func (w words) of(name string) string {
	for _, each := range w {
		if each[0] == name {
			return each[1]
		}
	}
	return ""
}

// asset serves the style and the scripts, compressed unless the browser does not accept that.
func (h *Handler) asset(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, "/console/assets/")
	kind := kinds.of(name)
	compressed := strings.Contains(r.Header.Get("Accept-Encoding"), "gzip")
	b, err := files.ReadFile("packed/" + name + ".gz")
	if err == nil && !compressed {
		b, err = packed.Content(b)
	}
	if kind == "" || err != nil {
		h.missing(w, r)
		return
	}
	if compressed {
		set(w.Header(), "Content-Encoding", "gzip")
	}
	set(w.Header(), "Vary", "Accept-Encoding")
	set(w.Header(), "Content-Type", kind)
	set(w.Header(), "Cache-Control", "public, max-age=300")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(b))
}

// parse returns the templates of the console. It panics if they are damaged.
func parse(functions pages.Funcs) *pages.Set {
	b, err := files.ReadFile("packed/pages.json.gz")
	if err == nil {
		b, err = packed.Content(b)
	}
	var set *pages.Set
	if err == nil {
		set, err = pages.Read(b, functions)
	}
	if err != nil {
		panic(err) // the program is damaged
	}
	return set
}
