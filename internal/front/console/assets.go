package console

import (
	"bytes"
	"compress/gzip"
	"embed"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/parley-a2a/parley/internal/front/console/pages"
)

// packed has the files of the folder assets, compressed: that saves 60 KiB of the program. All
// templates are one file, with the escaping of html/template written into it. A test compares them; after a change of a file:
//
//	go test ./internal/front/console -run TestPacked -update
//
//go:embed packed
var packed embed.FS

// kinds are the media types of the files that browsers get.
var kinds = map[string]string{
	"style.css": "text/css; charset=utf-8", "live.js": "text/javascript; charset=utf-8", "icon.svg": "image/svg+xml",
	"curves.js": "text/javascript; charset=utf-8", "uplot/uPlot.iife.min.js": "text/javascript; charset=utf-8",
	"uplot/uPlot.min.css": "text/css; charset=utf-8", "uplot/LICENSE": "text/plain; charset=utf-8",
}

// asset serves the style and the scripts, compressed unless the browser does not accept that.
func (h *Handler) asset(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, "/console/assets/")
	compressed := strings.Contains(r.Header.Get("Accept-Encoding"), "gzip")
	b, err := packed.ReadFile("packed/" + name + ".gz")
	if err == nil && !compressed {
		b, err = unpacked(b)
	}
	if kinds[name] == "" || err != nil {
		h.missing(w, r)
		return
	}
	if compressed {
		w.Header().Set("Content-Encoding", "gzip")
	}
	w.Header().Set("Vary", "Accept-Encoding")
	w.Header().Set("Content-Type", kinds[name])
	w.Header().Set("Cache-Control", "public, max-age=300")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(b))
}

// unpacked returns the content of a compressed file.
func unpacked(b []byte) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}

// parse returns the templates of the console. It panics if they are damaged.
func parse(functions pages.Funcs) *pages.Set {
	b, err := packed.ReadFile("packed/pages.json.gz")
	if err == nil {
		b, err = unpacked(b)
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
