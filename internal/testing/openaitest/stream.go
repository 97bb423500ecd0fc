package openaitest

import (
	"context"
	"net/http"
)

// stream writes the answer as events.
func (x *exchange) stream(ctx context.Context, w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	w.Header().Set("Cache-Control", "no-cache")
	out := &writer{to: w, flush: http.NewResponseController(w), at: x.server.config.Wire.write()}
	t, f := x.turn, &x.turn.Fault
	if f.NoChoices {
		out.event(x, 0, x.chunk([]any{}, nil))
		out.event(x, 1, "[DONE]")
		return
	}
	chunks, last := x.chunks()
	for i, c := range chunks {
		if t.At != nil {
			t.At(i, len(chunks))
		}
		switch {
		case f.Hold > 0 && i == f.Hold:
			<-ctx.Done()
			return
		case f.Cut > 0 && i == f.Cut:
			return
		case f.Break > 0 && i == f.Break:
			panic(http.ErrAbortHandler)
		case i == 1 && f.Error != "":
			out.event(x, i, `{"error":{"message":"`+f.Error+`","type":"server_error","code":502}}`)
			return
		case i == 1 && f.Nonsense != "":
			out.event(x, i, f.Nonsense)
		}
		if i == last {
			// From here on a client may have received the whole turn.
			x.server.recordSent(t)
		}
		if !out.event(x, i, c) {
			return
		}
	}
	if t.At != nil {
		t.At(len(chunks), len(chunks))
	}
	if !f.NoEnd {
		out.event(x, len(chunks), "[DONE]")
	}
}

// writer writes a few bytes at a time.
type writer struct {
	to    http.ResponseWriter
	flush *http.ResponseController
	at    int
}

// event sends an event in one of the legal forms. It returns false when the client has
// disconnected.
func (w *writer) event(x *exchange, n int, data string) bool {
	const forms = 4
	text := "data: " + data + "\n\n"
	if !x.server.config.Wire.Plain {
		switch n % forms {
		case 1:
			text = ": keep-alive\n" + text
		case 2:
			text = "data:" + data + "\n\n"
		case 3:
			text = "data: " + data + "\r\n\r\n"
		}
	}
	for len(text) > 0 {
		n := min(w.at, len(text))
		if _, err := w.to.Write([]byte(text[:n])); err != nil {
			return false
		}
		if w.flush.Flush() != nil {
			return false
		}
		text = text[n:]
	}
	return true
}
