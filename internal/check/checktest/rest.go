package checktest

import (
	"encoding/json"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/check/wire"
	"github.com/parley-a2a/parley/internal/dialect"
)

// status returns the HTTP status of a kind, and the name of its gRPC status.
func (f *Fault) status() (int, string) {
	switch f.Kind {
	case wire.TaskNotFound, wire.MethodNotFound:
		return http.StatusNotFound, "NOT_FOUND"
	case wire.InvalidParams, wire.ParseError:
		return http.StatusBadRequest, "INVALID_ARGUMENT"
	}
	return http.StatusBadRequest, "FAILED_PRECONDITION"
}

func (s *Server) serveREST(w http.ResponseWriter, r *http.Request, body []byte) {
	op, params := route(r)
	refuse := func(f *Fault) {
		code, name := f.status()
		e := Object{"code": code, "status": name, "message": f.Message}
		if info := f.info(); info != nil {
			e["details"] = info
		}
		s.write(w, code, Object{"error": e})
	}
	for name, values := range r.URL.Query() {
		params[name] = values[0]
		if name == "historyLength" || name == "pageSize" {
			n, err := strconv.Atoi(values[0])
			if err != nil {
				refuse(&Fault{wire.InvalidParams, name})
				return
			}
			params[name] = n
		}
	}
	if f := readBody(r, body, params); f != nil {
		refuse(f)
		return
	}
	if op != "" && !speaks(r.Header.Get("A2A-Version")) {
		refuse(&Fault{wire.VersionNotSupported, "version"})
		return
	}
	s.answerREST(w, r, &call{op: op, params: read(params)}, refuse)
}

// answerREST executes a call and answers with its result.
func (s *Server) answerREST(w http.ResponseWriter, r *http.Request, c *call, refuse func(*Fault)) {
	c.server = s
	c.send = func(result json.RawMessage) { s.write(w, http.StatusOK, result) }
	c.begin = func() func(json.RawMessage) bool {
		send := s.sse(w)
		return func(e json.RawMessage) bool { return send(e) }
	}
	if f := c.serve(r.Context()); f != nil {
		refuse(f)
	}
}

// legacyREST is the path prefix of HTTP+JSON of v0.3.
const legacyREST = "/old/v1/"

// serveLegacyREST answers HTTP+JSON of v0.3.
func (s *Server) serveLegacyREST(w http.ResponseWriter, r *http.Request, body []byte) {
	r.URL.Path = "/rest/" + strings.TrimPrefix(r.URL.Path, legacyREST)
	op, path := route(r)
	params := rewritten(func(o dialect.Operation) ([]byte, error) {
		p := dialect.LegacyPath{Task: a2a.TaskID(str(path, "id")), Query: r.URL.RawQuery, Body: body}
		if o.Push() {
			p.Task, p.Config = a2a.TaskID(str(path, "taskId")), str(path, "id")
		}
		return new(dialect.Decoder).LegacyAt(o, &p)
	})
	s.answerREST(w, r, &call{shape: dialect.V03Proto, op: op, params: params}, func(f *Fault) {
		code, _ := f.status()
		s.write(w, code, Object{"message": f.Message})
	})
}

// readBody adds the body to the parameters.
func readBody(r *http.Request, body []byte, params Object) *Fault {
	if len(body) == 0 {
		return nil
	}
	if t, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); t != "application/json" && t != "application/a2a+json" {
		return &Fault{wire.InvalidParams, "media type"}
	}
	var fields Object
	if err := json.Unmarshal(body, &fields); err != nil {
		return &Fault{wire.ParseError, err.Error()}
	}
	for name, v := range fields {
		params[name] = v
	}
	return nil
}

// route returns the operation of a request; empty if there is none.
func route(r *http.Request) (wire.Op, Object) {
	path := strings.TrimPrefix(r.URL.Path, "/rest/")
	words := strings.Split(path, "/")
	switch {
	case path == "message:send":
		return wire.SendMessage, Object{}
	case path == "message:stream":
		return wire.StreamMessage, Object{}
	case path == "extendedAgentCard":
		return wire.ExtendedCard, Object{}
	case path == "tasks":
		return wire.ListTasks, Object{}
	case words[0] != "tasks":
		return "", Object{}
	case len(words) == 2:
		id, verb, _ := strings.Cut(words[1], ":")
		return map[string]wire.Op{"": wire.GetTask, "cancel": wire.CancelTask, "subscribe": wire.SubscribeTask}[verb], Object{"id": id}
	case len(words) == 3:
		return map[string]wire.Op{"GET": wire.ListPush, "POST": wire.CreatePush}[r.Method], Object{"taskId": words[1]}
	}
	return map[string]wire.Op{"GET": wire.GetPush, "DELETE": wire.DeletePush}[r.Method], Object{"taskId": words[1], "id": words[3]}
}
