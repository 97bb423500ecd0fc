package checktest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/parley-a2a/parley/internal/check/wire"
	"github.com/parley-a2a/parley/internal/dialect"
)

// rpcCodes are the codes of JSON-RPC.
var rpcCodes = map[wire.Kind]int{
	wire.TaskNotFound: -32001, wire.TaskNotCancelable: -32002, wire.PushNotSupported: -32003, wire.Unsupported: -32004,
	wire.VersionNotSupported: -32009, wire.ParseError: -32700, wire.InvalidRequest: -32600, wire.MethodNotFound: -32601,
	wire.InvalidParams: -32602,
}

// info returns the details of a fault.
func (f *Fault) info() []any {
	if f.Kind.Reason() == "" {
		return nil
	}
	return []any{Object{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": f.Kind.Reason(), "domain": "a2a-protocol.org"}}
}

func (f *Fault) rpc() Object {
	e := Object{"code": rpcCodes[f.Kind], "message": f.Message}
	if info := f.info(); info != nil {
		e["data"] = info
	}
	return e
}

type rpcRequest struct {
	ID     json.RawMessage `json:"id"`
	Method wire.Op         `json:"method"`
	Params any             `json:"params"`
}

func (s *Server) serveRPC(w http.ResponseWriter, r *http.Request, body []byte) {
	var q rpcRequest
	id := any(nil)
	refuse := func(k wire.Kind) {
		s.write(w, http.StatusOK, Object{"jsonrpc": "2.0", "id": id, "error": (&Fault{k, string(k)}).rpc()})
	}
	if !json.Valid(body) {
		refuse(wire.ParseError)
		return
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	if err := dec.Decode(&q); err != nil || q.Method == "" {
		refuse(wire.InvalidRequest)
		return
	}
	id = q.ID
	legacy := strings.Contains(string(q.Method), "/")
	switch {
	case legacy && s.options.Legacy:
		s.answerRPC(w, r, q, &call{shape: dialect.V03, op: legacyOps[q.Method], params: rewritten(func(o dialect.Operation) ([]byte, error) {
			return dialect.V03.Request(o, marshal(q.Params))
		})})
	case legacy:
		refuse(wire.MethodNotFound)
	case !speaks(r.Header.Get("A2A-Version")):
		refuse(wire.VersionNotSupported)
	default:
		params, _ := q.Params.(Object)
		s.answerRPC(w, r, q, &call{op: q.Method, params: read(params)})
	}
}

func speaks(version string) bool { return version == "1.0" || strings.HasPrefix(version, "1.0.") }

// answerRPC executes a call and answers the request q.
func (s *Server) answerRPC(w http.ResponseWriter, r *http.Request, q rpcRequest, c *call) {
	envelope := func(member string, v any) Object { return Object{"jsonrpc": "2.0", "id": q.ID, member: v} }
	c.server = s
	c.send = func(result json.RawMessage) { s.write(w, http.StatusOK, envelope("result", result)) }
	c.begin = func() func(json.RawMessage) bool {
		send := s.sse(w)
		return func(e json.RawMessage) bool { return send(envelope("result", e)) }
	}
	if f := c.serve(r.Context()); f != nil {
		s.write(w, http.StatusOK, envelope("error", f.rpc()))
	}
}

// sse begins a stream of events.
func (s *Server) sse(w http.ResponseWriter) func(v any) bool {
	w.Header().Set("Content-Type", "text/event-stream")
	if d := s.options.Defect.Header; d != nil {
		d(w.Header())
	}
	w.WriteHeader(http.StatusOK)
	return func(v any) bool {
		body := marshal(v)
		if d := s.options.Defect.Body; d != nil {
			body = d(body)
		}
		_, err := fmt.Fprintf(w, "data: %s\n\n", body)
		_ = http.NewResponseController(w).Flush() // the next write reports an error
		return err == nil
	}
}
