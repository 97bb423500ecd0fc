package checktest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/parley-a2a/parley/internal/check/wire"
)

// rpcCodes are the codes of JSON-RPC.
var rpcCodes = map[wire.Kind]int{
	wire.TaskNotFound: -32001, wire.TaskNotCancelable: -32002, wire.PushNotSupported: -32003, wire.Unsupported: -32004,
	wire.VersionNotSupported: -32009, wire.ParseError: -32700, wire.InvalidRequest: -32600, wire.MethodNotFound: -32601,
	wire.InvalidParams: -32602,
}

// info are the details of a fault.
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
	params, _ := q.Params.(Object)
	legacy := strings.Contains(string(q.Method), "/")
	version := r.Header.Get("A2A-Version")
	switch {
	case legacy && s.options.Legacy:
		s.serveLegacy(w, r, q)
	case legacy:
		refuse(wire.MethodNotFound)
	case !speaks(version):
		refuse(wire.VersionNotSupported)
	case q.Method.Streams():
		s.streamRPC(w, r, q, params)
	default:
		s.reply(w, q, func() (any, *Fault) { return s.operate(q.Method, params) })
	}
}

func speaks(version string) bool { return version == "1.0" || strings.HasPrefix(version, "1.0.") }

func (s *Server) reply(w http.ResponseWriter, q rpcRequest, f func() (any, *Fault)) {
	answer := Object{"jsonrpc": "2.0", "id": q.ID}
	if result, fault := f(); fault != nil {
		answer["error"] = fault.rpc()
	} else {
		answer["result"] = result
	}
	s.write(w, http.StatusOK, answer)
}

func (s *Server) streamRPC(w http.ResponseWriter, r *http.Request, q rpcRequest, params Object) {
	fault := s.follow(r.Context(), q.Method, params, func() Sink {
		send := s.sse(w)
		return func(e Object) bool { return send(Object{"jsonrpc": "2.0", "id": q.ID, "result": e}) }
	})
	if fault != nil {
		s.reply(w, q, func() (any, *Fault) { return nil, fault })
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
		_ = http.NewResponseController(w).Flush() // the next write tells
		return err == nil
	}
}
