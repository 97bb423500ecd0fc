package checktest

import (
	"encoding/json"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/parley-a2a/parley/internal/check/wire"
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
	switch {
	case op == "":
		refuse(&Fault{wire.MethodNotFound, "no such path"})
	case !speaks(r.Header.Get("A2A-Version")):
		refuse(&Fault{wire.VersionNotSupported, "version"})
	case op.Streams():
		f := s.follow(r.Context(), op, params, func() Sink {
			send := s.sse(w)
			return func(e Object) bool { return send(e) }
		})
		if f != nil {
			refuse(f)
		}
	default:
		result, f := s.operate(op, params)
		if f != nil {
			refuse(f)
			return
		}
		s.write(w, http.StatusOK, result)
	}
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

// route finds the operation; empty if there is none.
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
