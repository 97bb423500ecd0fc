package httpfront

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/blobstore"
	"github.com/parley-a2a/parley/internal/engine"
)

// errPartGone is the answer for a part that existed.
var errPartGone = &httpError{
	status: http.StatusGone,
	err:    apierror.New(a2a.ErrTaskNotFound, "the part has expired"),
}

// servePart answers with the bytes of a large part, or with ranges of them.
func (x *exchange) servePart() {
	c, err := x.front.cfg.Engine.Part(x.r.Context(), &x.caller, a2a.TaskID(x.route.task), x.route.digest)
	if errors.Is(err, engine.ErrPartGone) {
		err = errPartGone
	}
	if err != nil {
		x.fail(err)
		return
	}
	defer c.Close()
	x.partHeaders(&c.Part)
	x.wrote = true
	w := &partWriter{ResponseWriter: x.w, x: x}
	http.ServeContent(w, x.r, "", c.Stored, io.NewSectionReader(c, 0, c.Size))
	if l := x.front.limiter; l != nil {
		_ = l.Bytes(x.owner(), w.sent) // the excess delays the caller's next request
	}
}

// partHeaders sets the headers of a part. Its media type is chosen by the agent, so browsers
// must not render it as a page of the hub.
func (x *exchange) partHeaders(p *blobstore.Part) {
	h := x.w.Header()
	h["Content-Type"] = []string{mediaTypeOf(p.MediaType)}
	h["Content-Disposition"] = []string{dispositionOf(p.Filename)}
	h["X-Content-Type-Options"] = []string{"nosniff"}
	h["Content-Security-Policy"] = []string{"default-src 'none'; sandbox"}
	h["Cross-Origin-Resource-Policy"] = []string{"same-origin"}
	h["Cache-Control"] = []string{"private, no-cache"}
	h["Etag"] = []string{`"` + p.Digest.String() + `"`}
}

// mediaTypeOf returns a media type as a header value; invalid ones become
// application/octet-stream.
func mediaTypeOf(s string) string {
	const unknown = "application/octet-stream"
	t, params, err := mime.ParseMediaType(s)
	if err != nil || !strings.Contains(t, "/") {
		return unknown
	}
	if t = mime.FormatMediaType(t, params); t == "" || len(t) > 256 {
		return unknown
	}
	return t
}

// dispositionOf returns the header value that makes a browser save a file instead of showing
// it.
func dispositionOf(name string) string {
	const unnamed = "attachment"
	name = path.Base(strings.ReplaceAll(name, `\`, "/"))
	name = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) || r == utf8.RuneError {
			return -1
		}
		return r
	}, name)
	if name = strings.TrimLeft(name, "./"); name == "" || len(name) > 255 {
		return unnamed
	}
	if d := mime.FormatMediaType(unnamed, map[string]string{"filename": name}); d != "" {
		return d
	}
	return unnamed
}

// partWriter sets a deadline for each write, and counts the bytes sent. It hides the other
// methods of the writer, because a copy by the system would have one deadline for all bytes.
type partWriter struct {
	http.ResponseWriter

	x    *exchange
	sent int
}

// WriteHeader implements http.ResponseWriter.
func (w *partWriter) WriteHeader(code int) {
	w.x.writeSoon()
	w.ResponseWriter.WriteHeader(code)
}

// Write implements io.Writer.
func (w *partWriter) Write(b []byte) (int, error) {
	w.x.writeSoon()
	n, err := w.ResponseWriter.Write(b)
	w.sent += n
	return n, err
}
