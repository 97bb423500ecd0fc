package adminapi

import (
	"math"
	"net/http"
	"net/url"
	"path"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/inbox"
)

// access selects the callers that may use a route. Zero means that all callers may read, and
// only administrators may change.
type access int

const (
	// secret routes need an administrator for reading, too.
	secret access = 1 + iota
	// own routes allow callers to change their own resources.
	own
)

// call answers a request with a value for its JSON, or with an error.
type call struct {
	answer func(r *http.Request) (any, error)
	// in is the type of the body, nil if there is none, and out that of the answer. The
	// description of the API comes from them.
	in, out reflect.Type
}

// get returns the call of a request without a body.
func get[Out any](f func(r *http.Request) (Out, error)) call {
	return call{answer: func(r *http.Request) (any, error) { return f(r) }, out: reflect.TypeFor[Out]()}
}

// post returns the call of a request with a body of at most maxBody bytes.
func post[In, Out any](f func(r *http.Request, in *In) (Out, error)) call {
	return postUpTo(maxBody, f)
}

// postUpTo is post for bodies of another maximum size.
func postUpTo[In, Out any](most int, f func(r *http.Request, in *In) (Out, error)) call {
	answer := func(r *http.Request) (any, error) {
		in := new(In)
		if err := decodeUpTo(r, in, most); err != nil {
			return nil, err
		}
		return f(r, in)
	}
	return call{answer: answer, in: reflect.TypeFor[In](), out: reflect.TypeFor[Out]()}
}

// route is the handler of a method and a path.
type route struct {
	hub    *Handler
	access access
	call   call
	stream http.HandlerFunc // replaces call
}

// ServeHTTP checks that the caller may use the route, and answers.
func (t *route) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := t.hub
	if auth.PrincipalFrom(r.Context()) == nil {
		h.fail(w, r, auth.ErrUnauthenticated)
		return
	}
	access := t.access
	if everyOwner(r) {
		access = secret
	}
	if err := h.permit(access, r); err != nil {
		h.refused(r, err)
		h.fail(w, r, err)
		return
	}
	switch {
	case t.stream != nil:
		t.stream(w, r)
	case h.Audit != nil && (!reads(r) || everyOwner(r)):
		h.audited(w, r, t)
	default:
		code, body := h.result(w, r, t.call)
		write(w, r, code, body)
	}
}

// routes returns the served routes by their methods and their paths below Root. Routes without
// the part of the hub that they need are absent.
func (h *Handler) routes() map[string]*route {
	all := make(map[string]*route)
	add := func(there bool, a access, calls map[string]call) {
		for pattern, c := range calls {
			if there {
				all[pattern] = &route{hub: h, access: a, call: c}
			}
		}
	}
	stream := func(there bool, a access, pattern string, serve http.HandlerFunc) {
		if there {
			all[pattern] = &route{hub: h, access: a, stream: serve}
		}
	}
	add(true, 0, map[string]call{"GET /caller": get(h.caller)})
	add(true, 0, map[string]call{"GET /status": get(h.status), "GET /agents": get(h.agents), "GET /agents/{id}": get(h.agent)})
	add(h.Directory != nil, 0, map[string]call{
		"GET /search": get(h.search), "POST /agents": post(h.register), "POST /agents/review": post(h.review), "PUT /agents/{id}": post(h.register), "DELETE /agents/{id}": get(h.remove),
		"POST /agents/{id}/probe": get(h.probe), "POST /agents/{id}/refresh": get(h.refresh),
	})
	add(h.Checker != nil, secret, map[string]call{"POST /conformance": post(h.conformance)})
	add(h.Control != nil, 0, map[string]call{
		"POST /agents/{id}/pause": post(h.pause), "POST /agents/{id}/resume": post(h.resume),
		"POST /tasks/{id}/redrive": post(h.redrive), "POST /tasks/{id}/cancel": post(h.cancelTask), "POST /tasks/{id}/fail": post(h.failTask), "POST /tasks/{id}/reassign": post(h.reassign),
	})
	add(h.Broker != nil, secret, map[string]call{"GET /costs": get(h.costs), "GET /confidences": get(h.confidences)})
	add(h.Keys != nil, secret, map[string]call{"GET /keys": get(h.listKeys), "POST /keys": post(h.addKey), "DELETE /keys/{id}": get(h.revokeKey)})
	add(h.AuditLog != nil, secret, map[string]call{"GET /audit": get(h.listAudit), "GET /audit/verify": get(h.verifyAudit)})
	add(h.Graphs != nil, secret, map[string]call{"GET /graph": get(h.graph)})
	add(h.Samples != nil, secret, map[string]call{"GET /samples": get(h.listSamples)})
	add(h.Trust != nil, secret, map[string]call{"GET /trust": get(h.listTrust), "POST /trust": post(h.setTrust)})
	add(true, secret, map[string]call{"GET /permissions": get(h.permissions)})
	add(h.Push != nil, secret, map[string]call{"GET /push": get(h.listHooks), "POST /push/{id}/redeliver": post(h.redeliver)})
	add(true, secret, map[string]call{
		"GET /dead": h.ofBus(get(h.listDead)), "GET /dead/{id}": h.ofBus(get(h.showDead)), "DELETE /dead/{id}": h.ofBus(get(h.dropDead)),
		"POST /dead/{id}/replay": h.ofBus(post(h.replayDead)),
	})
	add(h.Reader != nil, 0, map[string]call{"GET /tasks": get(h.listTasks), "GET /tasks/{id}": get(h.task)})
	add(h.Reader != nil, 0, map[string]call{"GET /attention": get(h.attention)})
	add(h.Tasks != nil, 0, map[string]call{"GET /counts": get(h.taskCounts)})
	add(h.Trees != nil, 0, map[string]call{"GET /tasks/{id}/tree": get(h.tree)})
	add(h.Logs != nil, 0, map[string]call{"GET /tasks/{id}/log": get(h.taskLog)})
	add(h.Inbox != nil, own, map[string]call{
		"GET /inbox": get(h.listInbox), "POST /inbox": postUpTo(2*inbox.MaxText, h.putQuestion), "GET /inbox/{id}": get(h.item),
		"POST /inbox/{id}/answer": post(h.answerItem), "POST /inbox/{id}/approve": post(h.approveItem), "POST /inbox/{id}/refuse": post(h.refuseItem),
	})
	add(h.Memory != nil, own, map[string]call{
		"GET /memory": get(h.listNotes), "GET /memory/search": get(h.searchNotes), "GET /memory/conversation": get(h.conversation),
		"GET /memory/note": get(h.note), "PUT /memory/note": postUpTo(maxNoteBody, h.setNote), "DELETE /memory/note": get(h.deleteNote),
		"DELETE /memory/session": get(h.closeSession),
	})
	stream(h.Trees != nil, 0, "GET /tasks/{id}/tree/events", h.treeEvents)
	stream(h.Logs != nil, 0, "GET /tasks/{id}/log/events", h.taskLogEvents)
	stream(h.Events != nil, secret, "GET /events", h.allEvents)
	stream(h.Tasks != nil && h.Events != nil, 0, "GET /counts/events", h.countEvents)
	stream(h.Reader != nil && h.Events != nil, 0, "GET /attention/events", h.attentionEvents)
	stream(h.Inbox != nil, 0, "GET /inbox/events", h.inboxEvents)
	stream(h.Memory != nil, 0, "GET /memory/events", h.memoryEvents)
	return all
}

func (h *Handler) serveMux() *http.ServeMux {
	mux := new(http.ServeMux)
	for pattern, t := range h.routes() {
		method, path, _ := strings.Cut(pattern, " ")
		mux.Handle(method+" "+Root+path, t)
	}
	mux.HandleFunc("GET "+Description, serveDescription)
	return mux
}

// pageSize parses the maximum number of items of a page. One above most counts as most.
func pageSize(q url.Values, normal, most int) (int, error) {
	n, err := numberOf(q, "pageSize", normal, math.MaxInt)
	return min(n, most), err
}

// numberOf parses a maximum number of results, from 1 to most; normal if there is none.
func numberOf(q url.Values, name string, normal, most int) (int, error) {
	s := q.Get(name)
	if s == "" {
		return normal, nil
	}
	n, err := strconv.Atoi(s)
	switch {
	case err == nil && n >= 1 && n <= most:
		return n, nil
	case most == math.MaxInt:
		return 0, apierror.Field(a2a.ErrInvalidParams, name, "must be a number of at least 1")
	}
	return 0, apierror.Field(a2a.ErrInvalidParams, name, "must be a number between 1 and %d", most)
}

// taskPath matches the ids of tasks in paths, which may contain slashes that clients need not
// escape.
var taskPath = regexp.MustCompile(`^(` + Root + `/(?:tasks|push)/)(.+)(/(?:tree|tree/events|log|log/events|redrive|cancel|fail|reassign|redeliver))$`)

// slashInName reports whether an escaped path has a slash in the name of anything but a task.
func slashInName(p string) bool {
	rest := strings.TrimPrefix(p, Root+"/")
	return !strings.HasPrefix(rest, "tasks/") && !strings.HasPrefix(rest, "push/") && strings.Contains(strings.ToUpper(rest), "%2F")
}

// escaped returns r with the slashes in the id of a task escaped.
func escaped(r *http.Request) *http.Request {
	m := taskPath.FindStringSubmatch(r.URL.EscapedPath())
	if m == nil || !strings.Contains(m[2], "/") {
		return r
	}
	clone, u := *r, *r.URL
	u.RawPath = m[1] + strings.ReplaceAll(m[2], "/", "%2F") + m[3]
	clone.URL = &u
	return &clone
}

// methods are the methods that Allow may list, in its order.
var methods = []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodDelete}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.once.Do(func() {
		h.mux, h.tally, h.attended = h.serveMux(), newTally(countPace), newTally(attentionPace)
	})
	r = escaped(r)
	if p := r.URL.EscapedPath(); path.Clean(p) != p || slashInName(p) { // a ServeMux would redirect
		h.fail(w, r, errNoPath)
		return
	}
	if h.serves(r, r.Method) {
		h.mux.ServeHTTP(w, r)
		return
	}
	h.wrongMethod(w, r)
}

// wrongMethod answers for a path that has no route for the method.
func (h *Handler) wrongMethod(w http.ResponseWriter, r *http.Request) {
	var allowed []string
	for _, m := range methods {
		if h.serves(r, m) {
			allowed = append(allowed, m)
		}
	}
	if allowed == nil {
		h.fail(w, r, errNoPath)
		return
	}
	allow := strings.Join(allowed, ", ")
	w.Header().Set("Allow", allow)
	report := dialect.Explain(apierror.New(a2a.ErrMethodNotFound, "method %s is not allowed here; allowed: %s", r.Method, allow), "")
	report.HTTP = http.StatusMethodNotAllowed
	h.fail(w, r, refuse(report))
}

// serves reports whether a route exists for a method at the path of r.
func (h *Handler) serves(r *http.Request, method string) bool {
	probe := *r
	probe.Method = method
	_, pattern := h.mux.Handler(&probe)
	return pattern != ""
}
