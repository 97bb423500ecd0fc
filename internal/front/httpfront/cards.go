package httpfront

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/execution"
	"github.com/parley-a2a/parley/internal/outbound/card"
	"github.com/parley-a2a/parley/task"
)

// maxCards bounds the number of cached documents, because their addresses may come from
// callers.
const maxCards = 256

// cards caches the card documents that were requested. A document keeps its modification time
// while it is cached.
type cards struct {
	mu   sync.Mutex // guards the fields below
	docs map[cardKey]*cardDoc
	// schemes and requirements are the hub's security at the time the documents were built.
	schemes      a2a.NamedSecuritySchemes
	requirements a2a.SecurityRequirementsOptions
}

// cardKey holds everything that a document depends on, except the security of the hub.
type cardKey struct {
	card   *a2a.AgentCard
	base   string
	name   string
	root   bool
	layout card.Layout
	// bare is card.Options.BareScopes.
	bare bool
}

type cardDoc struct {
	json []byte
	// varies is set if other clients get another spelling.
	varies bool
	// personal is set if it was built for one request.
	personal bool
	etag     string
	modified string
}

// get returns the document of c for key with the options o; complete fills the options that
// follow from key.
func (c *cards) get(key cardKey, o *card.Options, complete func(*card.Options)) (*cardDoc, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !reflect.DeepEqual(c.schemes, o.SecuritySchemes) || !reflect.DeepEqual(c.requirements, o.SecurityRequirements) {
		c.docs, c.schemes, c.requirements = nil, o.SecuritySchemes, o.SecurityRequirements
	}
	if d := c.docs[key]; d != nil {
		return d, nil
	}
	complete(o)
	d, err := newCardDoc(key.card, o)
	if err != nil {
		return nil, err
	}
	if c.docs == nil || len(c.docs) >= maxCards {
		c.docs = make(map[cardKey]*cardDoc)
	}
	c.docs[key] = d
	return d, nil
}

func newCardDoc(c *a2a.AgentCard, o *card.Options) (*cardDoc, error) {
	b, err := card.JSON(c, o)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(b)
	return &cardDoc{
		json:     b,
		varies:   card.Demands(card.Complete(c, o)),
		etag:     `"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`,
		modified: time.Now().UTC().Format(http.TimeFormat),
	}, nil
}

// serveCard answers a request for a public card (specification §8.2, §8.6). It requires no
// credentials, and scripts of every origin may read it.
func (x *exchange) serveCard() {
	if x.public() {
		return
	}
	if err := x.cardVersion(); err != nil {
		x.fail(err)
		return
	}
	r, h := x.r, x.w.Header()
	a, ok := x.front.cfg.Engine.Agent(task.Agent(x.route.agent))
	personal := x.personal()
	if !ok || personal && !x.front.cfg.Engine.Sees(x.caller.Principal, a.Name) {
		x.fail(errNoAgent)
		return
	}
	selected := x.route.agent == "" && x.front.withAllSkills(&a, who(personal, x.caller.Principal), false)
	d, err := x.front.cardDoc(r, &a, &x.route, selected)
	if err != nil {
		x.fail(err)
		return
	}
	h.Set("ETag", d.etag)
	h.Set("Last-Modified", d.modified)
	h.Set("Cache-Control", "public, max-age=60")
	if d.personal || personal {
		h.Set("Cache-Control", "private, no-cache")
	}
	if d.varies {
		h.Set("Vary", "User-Agent")
	}
	if unchanged(r.Header, d) {
		x.status(http.StatusNotModified)
		return
	}
	x.body(http.StatusOK, jsonType, d.json)
}

// who returns the caller for which a card is built; nil for a public card.
func who(personal bool, p *auth.Principal) *auth.Principal {
	if personal {
		return p
	}
	return nil
}

// personal reports whether the request for a card is authenticated and a policy may hide the
// agent from the caller. Other callers get the public card, which states the required
// credentials.
func (x *exchange) personal() bool {
	h, c := x.r.Header, x.credentials()
	if x.front.cfg.Engine.Policy() == nil || !x.inside && h["Authorization"] == nil && h[auth.HeaderKey] == nil && len(c.Chains) == 0 {
		return false
	}
	return x.authenticate() == nil && x.caller.Principal != nil
}

// public allows scripts of every origin to read the answer. It answers a browser's preflight
// request, and reports whether it did.
func (x *exchange) public() bool {
	h := x.w.Header()
	h["Access-Control-Allow-Origin"] = anyOrigin
	if x.r.Method != http.MethodOptions {
		return false
	}
	h.Set("Access-Control-Allow-Methods", "GET, HEAD")
	h.Set("Access-Control-Allow-Headers", "A2A-Version, A2A-Extensions, If-None-Match")
	h.Set("Access-Control-Max-Age", "86400")
	x.noContent()
	return true
}

// serveKeySet answers with the public keys that sign cards and assertions. Clients may cache
// them for five minutes, so a key must stay in the set for longer than that after its last use.
func (x *exchange) serveKeySet() {
	if x.public() {
		return
	}
	set, err := x.front.cfg.KeySet()
	if err != nil {
		x.fail(err)
		return
	}
	x.w.Header().Set("Cache-Control", "public, max-age=300")
	x.body(http.StatusOK, keySetType, set)
}

// serveMetadata answers with the hub's metadata as an issuer.
func (x *exchange) serveMetadata() {
	if x.public() {
		return
	}
	x.w.Header().Set("Cache-Control", "public, max-age=300")
	x.body(http.StatusOK, jsonType, x.front.cfg.Metadata)
}

var keySetType = []string{"application/jwk-set+json"}

var anyOrigin = []string{"*"}

// cardDoc returns the document of the card of a. It is not cached if its skills were selected
// for the caller.
func (f *Front) cardDoc(r *http.Request, a *engine.Agent, at *route, selected bool) (*cardDoc, error) {
	key := cardKey{card: a.Card, base: f.base(r), name: string(a.Name), root: at.agent == "", bare: plainGo(r.Header)}
	if at.kind == atLegacyCard || !f.cfg.Choices.PlainCard && !f.cfg.PlainCard {
		key.layout = card.Union
	}
	complete := func(o *card.Options) {
		o.Layout, o.BareScopes, o.NoStreaming, o.History = key.layout, key.bare, f.cfg.NoStreaming, f.cfg.Choices.PlainCard
		f.reach(o, key.base, a, !key.root)
		if len(o.Legacy) == 0 {
			o.Layout = card.V1 // v0.3 cannot reach the agent over the configured bindings
		}
	}
	o := f.cfg.Engine.CardOptions(a, f.cfg.Auth)
	made := cardFor(r, a)
	switch {
	case made != nil && key.root && f.cfg.AllSkills:
		made = withSkills(made, []*a2a.AgentCard{a.Card})
	case made == nil && selected:
		made = a.Card
	}
	if made != nil {
		complete(o)
		d, err := newCardDoc(made, o)
		if err == nil {
			d.personal = true
		}
		return d, err
	}
	return f.cards.get(key, o, complete)
}

// cardFor returns the card that the agent builds for this request, or nil.
func cardFor(r *http.Request, a *engine.Agent) *a2a.AgentCard {
	c, ok := execution.As[agent.Carder](a.Executor)
	if !ok {
		return nil
	}
	return c.CardFor(r.Context(), &agent.CardRequest{Host: r.Host, Header: r.Header})
}

// reach sets the interfaces of an agent in o. If named, its name is part of their addresses.
func (f *Front) reach(o *card.Options, base string, a *engine.Agent, named bool) {
	p := card.Endpoint{Base: base, GRPC: f.cfg.GRPCAddr}
	if p.GRPC == "" && f.cfg.GRPCHere {
		p.GRPC = origin(base)
	}
	if named {
		first, _ := f.cfg.Engine.Agent("")
		p.Agent, p.Default = string(a.Name), first.Name == a.Name
	}
	o.Interfaces = card.Prefer(card.Interfaces(p), f.cfg.Interfaces)
	o.Legacy = card.Prefer(card.LegacyInterfaces(p), f.cfg.Interfaces)
}

// origin returns the scheme, host and port of an address: gRPC has no path of its own.
func origin(base string) string {
	scheme, rest, _ := strings.Cut(base, "://")
	host, _, _ := strings.Cut(rest, "/")
	return scheme + "://" + host
}

// base returns the hub's address as the caller of r should use it.
func (f *Front) base(r *http.Request) string {
	if f.cfg.PublicURL != "" {
		return f.cfg.PublicURL
	}
	scheme, host := "http", r.Host
	if r.TLS != nil {
		scheme = "https"
	}
	if f.cfg.TrustForwarded {
		if p := firstOf(r.Header.Get("X-Forwarded-Proto")); p == "http" || p == "https" {
			scheme = p
		}
		if h := firstOf(r.Header.Get("X-Forwarded-Host")); h != "" {
			host = h
		}
	}
	return scheme + "://" + host
}

// firstOf returns the first element of a comma list: the value of the outermost proxy.
func firstOf(list string) string {
	s, _, _ := strings.Cut(list, ",")
	return strings.TrimSpace(s)
}

// unchanged reports whether the caller already has the document (RFC 9110 §13.2.2: an entity
// tag takes precedence over a date).
func unchanged(h http.Header, d *cardDoc) bool {
	if tags := h.Values("If-None-Match"); len(tags) > 0 {
		for tag := range strings.SplitSeq(strings.Join(tags, ","), ",") {
			tag = strings.TrimPrefix(strings.TrimSpace(tag), "W/")
			if tag == d.etag || tag == "*" {
				return true
			}
		}
		return false
	}
	since, err := http.ParseTime(h.Get("If-Modified-Since"))
	if err != nil {
		return false
	}
	modified, err := http.ParseTime(d.modified)
	return err == nil && !modified.After(since)
}
