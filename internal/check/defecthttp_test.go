package check

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/parley-a2a/parley/internal/check/wire"
	"github.com/parley-a2a/parley/internal/dialect"
)

// handler applies the defect to the answers of next.
func (d *defect) handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		if d.http != nil && d.http(w, r, body) {
			return
		}
		a := &damagedAnswer{ResponseWriter: w, defect: d}
		a.operation, a.id = operationOf(r, body)
		a.events = a.send
		if d.events != nil {
			a.events = d.events(r.Context(), a.op, a.send)
		}
		next.ServeHTTP(a, r)
		a.end()
	})
}

// damagedAnswer is an answer over HTTP. It is changed when it is complete, a stream event by
// event.
type damagedAnswer struct {
	http.ResponseWriter
	operation
	defect *defect
	id     json.RawMessage // of JSON-RPC; nil for HTTP+JSON
	status int
	body   []byte
	begun  bool   // whether the header is sent
	events sink   // ends in send
	prefix []byte // the lines of the current event above its data
	err    error  // of the last event
}

// Unwrap lets an http.ResponseController reach the connection.
func (a *damagedAnswer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (a *damagedAnswer) WriteHeader(status int) { a.status = status }

// Write implements http.ResponseWriter. The hub writes whole events.
func (a *damagedAnswer) Write(b []byte) (int, error) {
	if a.Header().Get("Content-Type") != "text/event-stream" {
		a.body = append(a.body, b...)
		return len(b), nil
	}
	a.begin()
	for event := range bytes.SplitAfterSeq(b, []byte("\n\n")) {
		prefix, data, _ := bytes.Cut(event, []byte("data: "))
		e := objectIn(data)
		if a.id != nil {
			e, _ = e["result"].(object)
		}
		if e == nil || e["error"] != nil { // an error or a comment
			if _, err := a.ResponseWriter.Write(a.damaged(event)); err != nil {
				return 0, err
			}
			continue
		}
		if a.prefix = prefix; !a.events(e) {
			return 0, cmp.Or(a.err, io.ErrClosedPipe)
		}
	}
	return len(b), nil
}

// begin sends the header.
func (a *damagedAnswer) begin() {
	if a.begun {
		return
	}
	a.begun = true
	a.Header().Del("Content-Length")
	if a.defect.header != nil {
		a.defect.header(a.Header())
	}
	a.ResponseWriter.WriteHeader(cmp.Or(a.status, http.StatusOK))
}

// send sends an event.
func (a *damagedAnswer) send(e object) bool {
	_, a.err = a.ResponseWriter.Write(slices.Concat(a.prefix, []byte("data: "), a.damaged(a.enveloped(e)), []byte("\n\n")))
	if a.err == nil {
		a.err = http.NewResponseController(a.ResponseWriter).Flush()
	}
	return a.err == nil
}

// enveloped returns a result as the body of an answer.
func (a *damagedAnswer) enveloped(result any) []byte {
	if a.id != nil {
		result = object{"jsonrpc": "2.0", "id": a.id, "result": result}
	}
	return []byte(compact(result))
}

func (a *damagedAnswer) damaged(body []byte) []byte {
	if a.defect.body == nil {
		return body
	}
	return a.defect.body(body)
}

// end sends an answer that is no stream.
func (a *damagedAnswer) end() {
	if !a.begun && a.defect.result != nil && strings.Contains(a.Header().Get("Content-Type"), "json") {
		a.change()
	}
	if a.begun {
		return
	}
	a.begin()
	_, _ = a.ResponseWriter.Write(a.damaged(a.body)) // the client may have disconnected
}

// change changes the result or the error of a complete answer.
func (a *damagedAnswer) change() {
	result, _ := wire.Decode(a.body)
	var refused error
	switch envelope, _ := result.(object); {
	case envelope["error"] != nil:
		result, refused = nil, errorIn(a.body)
	case a.id != nil:
		result = envelope["result"]
	}
	switch result, err := a.defect.result(a.op, a.params, result, refused); {
	case err == nil:
		a.succeed(result)
	case err != refused: //nolint:errorlint // the same error means no change
		r := dialect.Explain(err, "")
		if a.status, a.body = r.HTTP, r.AppendREST(nil); a.id != nil {
			a.status, a.body = r.RPCStatus(), r.AppendRPC(nil, a.id)
		}
	}
}

// succeed replaces the answer by a result or by events.
func (a *damagedAnswer) succeed(result any) {
	a.status = http.StatusOK
	events, stream := result.([]object)
	if !stream {
		a.body = a.enveloped(result)
		return
	}
	a.Header().Set("Content-Type", "text/event-stream")
	a.begin()
	for _, e := range events {
		a.send(e)
	}
}
