package console

import (
	"crypto/rand"
	"errors"
	"html/template"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/parley-a2a/parley/internal/adminjson"
	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/hosts"
	"github.com/parley-a2a/parley/internal/membudget"
	"github.com/parley-a2a/parley/internal/outbound/inprocess"
	"github.com/parley-a2a/parley/internal/secret/openid"
	"github.com/parley-a2a/parley/internal/secret/seal"
)

// Root is the path of the console.
const Root = "/console/"

// Handler serves the console. Its fields must not change after the first use.
type Handler struct {
	// Hub is the handler of the hub for callers from outside. It is required.
	Hub http.Handler
	// Version is the version of the program.
	Version string
	// Logger receives a record for each page that cannot be rendered. If nil, nothing is logged.
	Logger *slog.Logger
	// PublicURL is the address of the hub for browsers; empty for that of each request.
	PublicURL string
	// AllowedHosts are further hosts under which browsers reach the hub.
	AllowedHosts []string
	// Providers are the OpenID providers at which people sign in. Their verifiers are those of the
	// hub.
	Providers []*openid.Provider

	once, count sync.Once
	names       *hosts.Names
	// memory is that of the answers of the hub to pages: half of that of its requests, and beside it.
	memory *membudget.Budget
	// prefix is the path of PublicURL without a slash at its end; templates are the pages with it.
	prefix    string
	templates *template.Template
	mux       *http.ServeMux
	inside    *inprocess.Transport
	sessions  sessions
	// sent are the forms that begin a task once.
	sent   sentForms
	secret []byte
	// box seals attempts to sign in.
	box *seal.Sealer
}

var _ http.Handler = (*Handler)(nil)

// The maximum sizes of forms in bytes.
const (
	maxForm = 1 << 20
	// maxBareForm is that of a person who has not signed in.
	maxBareForm = 16 << 10
)

// policyOfContent lets a page load its own style, script, images and sounds, and nothing else.
const policyOfContent = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; media-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// pageFactor is the memory for an answer of the hub until its page is written, as a multiple of its size.
const pageFactor = 6

// headers are those of every answer. With no-referrer, browsers send forms with the origin "null".
var headers = [][2]string{
	{"Content-Security-Policy", policyOfContent},
	{"Referrer-Policy", "same-origin"},
	{"X-Content-Type-Options", "nosniff"},
	{"X-Frame-Options", "DENY"},
	{"Cross-Origin-Opener-Policy", "same-origin"},
	{"Cross-Origin-Resource-Policy", "same-origin"},
	{"Cache-Control", "no-store"},
}

func (h *Handler) init() {
	h.secret = make([]byte, 32)
	_, _ = rand.Read(h.secret) // never fails
	h.box = seal.New()
	h.names = hosts.New(h.PublicURL, h.AllowedHosts)
	if u, err := url.Parse(h.PublicURL); err == nil {
		h.prefix = strings.TrimRight(u.EscapedPath(), "/")
	}
	h.templates = parse(h.prefix + Root)
	h.inside = &inprocess.Transport{Handler: http.HandlerFunc(h.asOutside)}
	h.mux = http.NewServeMux()
	for _, r := range routes {
		h.mux.Handle(r.pattern, h.page(r.f))
	}
	for _, r := range bareRoutes {
		h.mux.HandleFunc(r.pattern, func(w http.ResponseWriter, req *http.Request) {
			req.Body = http.MaxBytesReader(w, req.Body, maxBareForm)
			r.f(h, w, req)
		})
	}
}

// routes are the pages of people who have signed in.
var routes = []struct {
	pattern string
	f       func(*page) error
}{
	{"GET /console/{$}", overview},
	{"GET /console/tasks", tasks},
	{"GET /console/task", showTask},
	{"GET /console/compare", showCompare},
	{"GET /console/context", showThread},
	{"POST /console/context", send},
	{"GET /console/calls", showCalls},
	{"GET /console/costs", showCosts},
	{"GET /console/try", try},
	{"GET /console/agents", agents},
	{"GET /console/inbox", showInbox},
	{"POST /console/try", send},
	{"POST /console/task/cancel", cancel},
	{"POST /console/task/answer", send},
	{"POST /console/task/again", sendAgain},
	{"POST /console/tasks/stop", stop},
	{"POST /console/inbox", settle},
	{"GET /console/webhooks", showHooks},
	{"POST /console/webhooks", redeliver},
	{"GET /console/queues", showQueues},
	{"GET /console/dead", showDead},
	{"POST /console/dead", settleLetter},
	{"GET /console/keys", showKeys},
	{"POST /console/keys", changeKeys},
	{"GET /console/policy", showPolicy},
	{"GET /console/audit", showAudit},
	{"GET /console/audit/verify", verifyAudit},
	{"POST /console/task/operate", operate},
	{"GET /console/task/raw", showEntry},
	{"GET /console/task/entry", entry},
	{"GET /console/task/part", part},
	{"GET /console/task/item", showItem},
	{"GET /console/task/events", taskEvents},
	{"GET /console/counts/events", countEvents},
	{"POST /console/agents", changeAgents},
	{"GET /console/samples", sampleData},
	{"GET /console/conformance", showCheck},
	{"POST /console/conformance", runCheck},
}

// bareRoutes are the pages for everyone.
var bareRoutes = []struct {
	pattern string
	f       func(*Handler, http.ResponseWriter, *http.Request)
}{
	{"GET /console/sign-in", (*Handler).signInPage},
	{"POST /console/sign-in", (*Handler).signIn},
	{"POST /console/sign-out", (*Handler).signOut},
	{"GET " + signInPath + "{name}", (*Handler).finishOpenID},
	{"GET " + signInPath + "{name}/start", (*Handler).startOpenID},
	{"GET /console/assets/{name...}", (*Handler).asset},
	{"/", (*Handler).missing},
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.once.Do(h.init)
	if b := membudget.Of(r.Context()); b != nil {
		h.count.Do(func() { h.memory = &membudget.Budget{Max: b.Stats().Max / 2} })
		a := &membudget.Account{Budget: h.memory, Factor: pageFactor}
		defer a.Release()
		r = r.WithContext(a.Context(r.Context()))
	}
	for _, each := range headers {
		w.Header().Set(each[0], each[1])
	}
	if r.URL.Path == "/console" {
		http.Redirect(w, r, h.prefix+Root, http.StatusPermanentRedirect)
		return
	}
	if h.bounced(w, r) {
		return
	}
	h.mux.ServeHTTP(w, r)
}

// Close waits for requests in progress.
func (h *Handler) Close() {
	h.once.Do(h.init)
	h.inside.Close()
}

// page is a request of a person who may read it.
type page struct {
	hub     *Handler
	w       http.ResponseWriter
	r       *http.Request
	session *session
	caller  adminjson.Caller
}

// pageOf returns the page of a request.
func (h *Handler) pageOf(w http.ResponseWriter, r *http.Request) *page {
	return &page{hub: h, w: w, r: r, session: h.sessionOf(w, r)}
}

// page returns the handler of a page. A person without credentials that the hub accepts is sent
// to the page where one signs in.
func (h *Handler) page(f func(*page) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p := h.pageOf(w, r)
		err := p.get("/api/v1/caller", &p.caller) // first: nothing is read from an unknown caller
		if err == nil && r.Method == http.MethodPost {
			err = p.readForm()
		}
		if err == nil {
			err = f(p)
		}
		if err != nil {
			p.fail(err)
		}
	})
}

// readForm reads the form of a request, which must come from a page of its session.
func (p *page) readForm() error {
	p.r.Body = http.MaxBytesReader(p.w, p.r.Body, formLimit(p.r))
	err := p.r.ParseForm()
	if strings.HasPrefix(p.r.Header.Get("Content-Type"), "multipart/") {
		err = p.r.ParseMultipartForm(maxUpload)
	}
	switch {
	case errors.Is(err, apierror.ErrExhausted):
		return &refusal{Code: http.StatusTooManyRequests, Message: err.Error()}
	case !p.hub.genuine(p.r, p.session):
		return &refusal{Code: http.StatusForbidden, Message: "Nothing was changed: the form has expired or comes from another site. Reload the page and try again."}
	}
	return nil
}

// message is the content of a page with nothing but a message.
type message struct{ Title, Text string }

// say answers with a page with nothing but a message.
func (p *page) say(code int, title, text string) { p.show(code, "message", message{title, text}) }

// see sends the browser to another page of the console.
func (h *Handler) see(w http.ResponseWriter, r *http.Request, to string) {
	http.Redirect(w, r, h.prefix+to, http.StatusSeeOther)
}

// fail shows an error.
func (p *page) fail(err error) {
	if gone := p.r.Context().Err(); gone != nil {
		return
	}
	refused := refusedBy(err)
	switch {
	case refused == nil:
		if p.hub.Logger != nil {
			p.hub.Logger.Error("a page of the console failed", "path", p.r.URL.Path, "error", err)
		}
		p.say(http.StatusInternalServerError, "This page failed", "The log of the hub has the reason.")
	case refused.Code == http.StatusUnauthorized && strings.HasPrefix(p.r.Header.Get("Accept"), "text/event-stream"):
		p.over()
	case refused.Code == http.StatusUnauthorized && strings.HasSuffix(p.r.URL.Path, "/events"):
		http.Error(p.w, "sign in again", http.StatusUnauthorized)
	case refused.Code == http.StatusUnauthorized:
		p.hub.see(p.w, p.r, Root+"sign-in?next="+url.QueryEscape(p.origin()))
	default:
		if refused.RetryAfter != "" {
			p.w.Header().Set("Retry-After", refused.RetryAfter)
		}
		p.say(refused.Code, http.StatusText(refused.Code), refused.Message)
	}
}

// missing answers for paths that do not exist.
func (h *Handler) missing(w http.ResponseWriter, r *http.Request) {
	p := h.pageOf(w, r)
	_ = p.get("/api/v1/caller", &p.caller) // without a caller the page links to fewer others
	p.say(http.StatusNotFound, "Nothing is here", "The console has no page at this address.")
}
