package httpfront

import (
	"errors"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/front/surface"
	"github.com/parley-a2a/parley/internal/hosts"
	"github.com/parley-a2a/parley/internal/membudget"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/ratelimit"
	"github.com/parley-a2a/parley/task"
)

// Front is the hub's HTTP handler.
type Front struct {
	cfg     Config
	guarded bool
	names   *hosts.Names
	// prefix is the path of PublicURL without a slash at its end.
	prefix  string
	decoder dialect.Decoder
	// filler is the decoder of the dialects in which messages need no id and no role.
	filler dialect.Decoder
	cards  cards
	union  union
	// limiter is nil if no limits are configured.
	limiter *ratelimit.Limiter
	// memory is the budget of large requests, spool that of their files.
	memory *membudget.Budget
	spool  *spool
	// token is set if a token authorizes reading the extended cards.
	token bool
	// keys is set if idempotency keys are enabled.
	keys bool
}

// New returns a Front. It panics if there is no engine.
func New(cfg Config) *Front {
	if cfg.Engine == nil {
		panic("httpfront: Config.Engine is required")
	}
	cfg.Limits = cfg.Limits.WithDefaults()
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	f := &Front{
		cfg:     cfg,
		guarded: cfg.Loopback || cfg.Auth == nil,
		names:   hosts.New(cfg.PublicURL, cfg.AllowedHosts),
		prefix:  prefixOf(cfg.PublicURL),
		limiter: cfg.Engine.Limiter(),
		memory:  cfg.Engine.Memory(),
		spool:   &spool{dir: cfg.SpoolDir, most: cfg.Limits.Spool, turns: make(chan struct{}, 1)},
		token:   cfg.Engine.ExtendedCards().Token != "",
		filler:  dialect.Decoder{Fill: true},
		keys:    cfg.Engine.TakesKeys(),
	}
	if cfg.Auth == nil {
		f.cfg.Auth = auth.ThisMachine()
	}
	return f
}

// ServeHTTP implements http.Handler.
func (f *Front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !f.cfg.LogRequests {
		f.exchange(&exchange{front: f, w: w, r: r, rc: http.NewResponseController(w)})
		return
	}
	l := &logged{ResponseWriter: w}
	x := &exchange{front: f, w: l, r: r, rc: http.NewResponseController(l)}
	defer func(began time.Time) { f.logRequest(x, l, began) }(time.Now())
	f.exchange(x)
}

// Inside returns the handler for requests from inside the process, whose caller is the
// principal in their context. The permissions and limits of callers apply as usual;
// credentials, Host and Origin are not checked. It must not be reachable for other clients.
func (f *Front) Inside() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.exchange(&exchange{front: f, w: w, r: r, rc: http.NewResponseController(w), inside: true})
	})
}

// exchange answers a request.
func (f *Front) exchange(x *exchange) {
	body := x.r.Body
	f.answer(x)
	x.linger(body)
}

func (f *Front) answer(x *exchange) {
	x.find()
	if x.entrance() {
		x.route = route{kind: atEntrance}
	}
	switch {
	case x.route.kind == atJob && !dialect.Has(dialect.Job):
		x.route = route{}
	case x.route.kind == atJob:
		x.shape = dialect.Job
	case x.route.legacy:
		x.shape = dialect.V03Proto
	case x.route.rpc && dialect.NamesLegacy(x.versions()):
		x.shape = dialect.V03
	}
	defer x.conclude()
	defer x.free()
	defer x.recovered()
	// The deadline of the answer is set when it is written.
	if x.r.ContentLength != 0 {
		x.readBy(time.Now().Add(x.front.cfg.Limits.BodyTime))
	}
	if x.r.Header["Expect"] != nil {
		x.writeSoon()
	}
	if err := x.precheck(); err != nil {
		x.fail(err)
		return
	}
	x.serve()
}

// exchange is one request and its answer. It belongs to the request's goroutine.
type exchange struct {
	front  *Front
	w      http.ResponseWriter
	r      *http.Request
	rc     *http.ResponseController
	route  route
	caller op.Caller
	// inside states that the request comes from inside the process.
	inside bool
	// identified is set once the caller is known.
	identified bool
	// cardCaller is set if the request may be for the extended card. If its Err is set, there is
	// no principal.
	cardCaller *engine.CardCaller
	// in holds the body. A stream releases it.
	in *buffer
	// id is the raw id of a JSON-RPC request, or nil.
	id []byte
	// shape is the dialect of the answer, operation the requested operation; both are known
	// once a JSON-RPC request was recognised.
	shape     dialect.Shape
	operation dialect.Operation
	// read is set once the body has been read to its end; got is the number of bytes read.
	read bool
	got  int64
	// spooled is the file with a large body that was not loaded yet; nil otherwise.
	spooled *spoolFile
	// hold is the memory acquired for a large body; nil if there is none.
	hold *membudget.Hold
	// wrote is set once the answer has started.
	wrote bool
	// unread is the error because of which a stream lacks the answer of its task.
	unread error
	seen   observed
	// extra is the surface that serves the path, which allows methods.
	extra   surface.Surface
	methods string
}

// NotServed is the error text for a path that is not served.
const NotServed = "nothing is served at this path"

var (
	errNowhere = &httpError{
		status: http.StatusNotFound,
		err:    apierror.New(a2a.ErrMethodNotFound, NotServed),
	}
	errLongHead = &httpError{
		status: http.StatusRequestHeaderFieldsTooLarge,
		err:    apierror.New(apierror.ErrTooLarge, "the request head is larger than 64 KiB"),
	}
	errNoAgent = &httpError{
		status: http.StatusNotFound,
		err:    apierror.New(a2a.ErrTaskNotFound, "no such agent or task"),
	}
)

// precheck checks the size of the head, the guard, the path, the method and the encoding of the body.
func (x *exchange) precheck() error {
	if headSize(x.r) > maxHead {
		if x.r.ProtoMajor == 1 {
			x.w.Header()["Connection"] = []string{"close"}
		}
		return errLongHead
	}
	if err := x.guard(); err != nil {
		return err
	}
	if !x.somewhere() {
		return errNowhere
	}
	methods := allow[x.route.kind]
	if x.extra != nil {
		methods = x.methods
	}
	if !x.route.allows(x.r.Method, methods) {
		return &httpError{
			status: http.StatusMethodNotAllowed,
			allow:  methods,
			err:    apierror.New(a2a.ErrMethodNotFound, "method %s is not allowed here; allowed: %s", x.r.Method, methods),
		}
	}
	return x.encoding()
}

// somewhere reports whether something is served at the path.
func (x *exchange) somewhere() bool {
	switch x.route.kind {
	case noRoute:
		return false
	case atAPI, atDescription:
		return x.front.cfg.API != nil
	case atMCP:
		return x.front.cfg.MCP != nil
	case atConsole:
		return x.front.cfg.Console != nil
	case atMetrics:
		return x.front.cfg.Metrics != nil
	case atCallback:
		return x.front.cfg.Callbacks != nil
	case atKeySet:
		return x.front.cfg.KeySet != nil
	case atMetadata:
		return x.front.cfg.Metadata != nil
	}
	return true
}

// serve answers a request for a served path.
func (x *exchange) serve() {
	switch x.route.kind {
	case atHealth:
		x.serveHealth()
		return
	case atReady:
		x.serveReady()
		return
	case atCard, atLegacyCard:
		x.serveCard()
		return
	case atKeySet:
		x.serveKeySet()
		return
	case atMetadata:
		x.serveMetadata()
		return
	case atCallback:
		x.handOver(x.front.cfg.Callbacks, x.r)
		return
	case atEntrance:
		x.wrote = true
		x.w.Header()["Vary"] = []string{"Accept"}
		http.Redirect(x.w, x.r, x.front.prefix+"/console/", http.StatusFound)
		return
	case atConsole:
		x.writeSoon()
		x.handOver(x.front.cfg.Console, x.r)
		return
	case atMetrics:
		x.serveMetrics()
		return
	case atDescription:
		x.wrote = true
		x.writeSoon()
		x.front.cfg.API.ServeHTTP(x.w, x.r)
		return
	}
	x.caller.Params = op.Params(x.r.Header)
	if x.route.kind != atAPI && x.route.kind != atMCP {
		x.observe()
	}
	if err := x.identify(); err != nil {
		x.fail(err)
		return
	}
	if x.front.limiter != nil {
		if err := x.admit(); err != nil {
			x.fail(err)
			return
		}
	}
	switch {
	case x.route.kind == atAPI:
		if x.r.Method == http.MethodGet { // a change is completed
			defer x.last()()
		}
		x.handOver(x.front.cfg.API, x.withPrincipal())
	case x.route.kind == atMCP:
		defer x.last()()
		x.handOver(x.front.cfg.MCP, x.withPrincipal())
	case x.route.kind == atPart:
		x.servePart()
	case !x.agentThere():
		x.fail(errNoAgent)
	case x.route.rpc:
		x.serveRPC()
	case x.route.kind == atJob:
		x.serveJob()
	case x.extra != nil:
		x.serveSurface()
	case x.route.legacy:
		x.serveLegacy()
	default:
		x.serveREST()
	}
}

// handOver passes a request to another handler. If that reads a large body, it draws on the memory budget.
func (x *exchange) handOver(h http.Handler, r *http.Request) {
	x.wrote = true
	r, body := x.front.memory.Body(r, x.front.cfg.Limits.Body)
	defer body.Release()
	h.ServeHTTP(x.w, r)
}

// withPrincipal returns the request with the caller in its context.
func (x *exchange) withPrincipal() *http.Request {
	return x.r.WithContext(auth.WithPrincipal(x.r.Context(), x.caller.Principal))
}

// agentThere reports whether the path names an existing agent. Unauthenticated callers are
// refused before, so names cannot be probed.
func (x *exchange) agentThere() bool {
	if x.route.agent == "" {
		return true
	}
	a, ok := x.front.cfg.Engine.Agent(task.Agent(x.route.agent))
	x.seen.agent = a.Name
	// A caller without any permission for an agent of that name gets the same answer whether
	// the agent exists or not.
	return ok || !x.front.cfg.Engine.Sees(x.caller.Principal, task.Agent(x.route.agent))
}

// recovered turns a panic into an internal error. If the answer has started, the connection is
// closed, so that the client does not take it for complete.
func (x *exchange) recovered() {
	p := recover()
	if p == nil {
		return
	}
	if p == http.ErrAbortHandler { //nolint:errorlint // a panic value, not an error chain
		panic(p)
	}
	ref := newReference()
	x.front.cfg.Logger.ErrorContext(x.r.Context(), "panic", logMethod, x.r.Method, logPath, x.r.URL.Path,
		logReference, ref, "panic", p, "stack", string(debug.Stack()))
	if x.wrote {
		panic(http.ErrAbortHandler)
	}
	x.failAs(errors.New("panic"), ref)
}
