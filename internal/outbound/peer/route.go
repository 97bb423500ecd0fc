package peer

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/json/rawjson"
	"github.com/parley-a2a/parley/internal/outbound/card"
)

// ask is one call.
type ask struct {
	op     dialect.Operation
	params []byte // of v1.0
	// after is the id of the event after which a subscription resumes.
	after string
	// job is the id of the job that is sent, and task the id that its caller uses.
	job, task a2a.TaskID
}

func (a *ask) sends() bool {
	return a.op == dialect.SendMessage || a.op == dialect.SendStreamingMessage
}

// request is the HTTP form of a call.
type request struct {
	method string
	url    *url.URL
	body   []byte
}

// route returns the request of a call in a dialect, or ErrUnsupported.
func (e *endpoint) route(s dialect.Shape, a *ask) (*request, error) {
	switch e.iface.ProtocolBinding {
	case card.TaskSend:
		if !a.sends() {
			return nil, ErrUnsupported
		}
		return &request{http.MethodPost, e.base, s.AppendParams(nil, a.op, withJob(a.params, a.job))}, nil
	case a2a.TransportProtocolJSONRPC:
		method := s.Method(a.op)
		if method == "" {
			return nil, ErrUnsupported
		}
		body := rawjson.AppendString([]byte(`{"jsonrpc":"2.0","id":"1","method":`), method)
		body = s.AppendParams(append(body, `,"params":`...), a.op, e.withTenant(a.params))
		return &request{http.MethodPost, e.base, append(body, '}')}, nil
	}
	return e.rest(s, a)
}

// withTenant returns params with the tenant of the interface, unless they have one.
func (e *endpoint) withTenant(params []byte) []byte {
	if rawjson.Member(params, "tenant") != nil {
		return params
	}
	return withTenant(params, e.iface.Tenant)
}

// withTenant returns params with a tenant in front, if there is one.
func withTenant(params []byte, tenant string) []byte {
	if tenant == "" {
		return params
	}
	out := rawjson.AppendString([]byte(`{"tenant":`), tenant)
	return append(rawjson.AppendMembers(out, params), '}')
}

// rest returns the request of a call of HTTP+JSON (specification §11.3).
func (e *endpoint) rest(s dialect.Shape, a *ask) (*request, error) {
	if s == dialect.V03Proto && a.op == dialect.ListTasks {
		return nil, ErrUnsupported
	}
	r := rester{shape: s, ask: a, params: e.withTenant(a.params)}
	r.prefix()
	switch a.op {
	case dialect.SendMessage:
		return r.post(e.base, "message:send"), nil
	case dialect.SendStreamingMessage:
		return r.post(e.base, "message:stream"), nil
	case dialect.GetTask:
		return r.get(e.base, "tasks", r.id("id")), nil
	case dialect.ListTasks:
		return r.get(e.base, "tasks"), nil
	case dialect.CancelTask:
		if s == dialect.V03Proto {
			r.taken = append(r.taken, "metadata") // its readers refuse unknown members
		}
		return r.post(e.base, "tasks", r.id("id")+":cancel"), nil
	case dialect.SubscribeToTask:
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.byGET {
			return r.get(e.base, "tasks", r.id("id")+":subscribe"), nil
		}
		return r.post(e.base, "tasks", r.id("id")+":subscribe"), nil
	}
	return nil, ErrUnsupported
}

// rester builds the request of a call of HTTP+JSON. Members in the path are not repeated in the
// body or the query.
type rester struct {
	shape  dialect.Shape
	ask    *ask
	params []byte
	path   []string
	taken  []string
}

// prefix starts the path: with the version in v0.3, with the tenant in v1.0.
func (r *rester) prefix() {
	if r.shape == dialect.V03Proto {
		r.path = append(r.path, "v1")
		return
	}
	if tenant := text(r.params, "tenant"); tenant != "" {
		r.path = append(r.path, url.PathEscape(tenant))
	}
	r.taken = append(r.taken, "tenant")
}

// id moves a member into the path.
func (r *rester) id(name string) string {
	r.taken = append(r.taken, name)
	return url.PathEscape(text(r.params, name))
}

// at returns the URL of the call.
func (r *rester) at(base *url.URL, path []string) *url.URL {
	u := *base
	prefix := strings.TrimRight(base.EscapedPath(), "/")
	if r.shape == dialect.V03Proto {
		prefix = strings.TrimSuffix(prefix, "/v1")
	}
	raw := prefix + "/" + strings.Join(append(r.path, path...), "/")
	if decoded, err := url.PathUnescape(raw); err == nil {
		u.Path, u.RawPath = decoded, raw
	}
	return &u
}

// post returns a request with the params in the body.
func (r *rester) post(base *url.URL, path ...string) *request {
	params := r.params
	if r.shape == dialect.V1 || !r.ask.sends() {
		params = append(rawjson.AppendMembers([]byte{'{'}, r.params, r.taken...), '}')
	}
	return &request{http.MethodPost, r.at(base, path), r.shape.AppendParams(nil, r.ask.op, params)}
}

func (r *rester) get(base *url.URL, path ...string) *request {
	u := r.at(base, path)
	q := u.Query()
	for name, v := range rawjson.Fields(r.params) {
		if slices.Contains(r.taken, name) || name == "metadata" {
			continue
		}
		switch rawjson.KindOf(v) {
		case rawjson.Text:
			s, _ := rawjson.String(v)
			q.Set(name, s)
		case rawjson.Number, rawjson.Bool:
			q.Set(name, string(v))
		}
	}
	u.RawQuery = q.Encode()
	return &request{method: http.MethodGet, url: u}
}

func getParams(id a2a.TaskID, historyLength *int) []byte {
	out := rawjson.AppendString([]byte(`{"id":`), string(id))
	if historyLength != nil {
		out = strconv.AppendInt(append(out, `,"historyLength":`...), int64(*historyLength), 10)
	}
	return append(out, '}')
}
