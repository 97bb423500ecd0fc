package directory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/parley-a2a/parley/internal/bm25"
	"github.com/parley-a2a/parley/internal/clip"
	"github.com/parley-a2a/parley/internal/directory/dirstore"
	"github.com/parley-a2a/parley/internal/outbound/card"
	"github.com/parley-a2a/parley/internal/suggest"
	"github.com/parley-a2a/parley/internal/wake"
	"github.com/parley-a2a/parley/task"
)

// Errors returned to callers.
var (
	// ErrNoAgent is returned if no agent has the requested name.
	ErrNoAgent = errors.New("no such agent")
	// ErrConfigured is returned for a change of an agent that is configured in a file or
	// belongs to the hub. Such an agent can be changed only there.
	ErrConfigured = errors.New("the agent is configured")
	// ErrInvalid is returned for a registration that is not valid.
	ErrInvalid = errors.New("invalid agent")
)

// Registrar makes agents callable. It is called by one goroutine at a time.
type Registrar interface {
	// Put is called for a new agent and for each change that affects its callers. The directory
	// adds an error to the agent's problems.
	Put(e *Entry) error
	// Drop is called when an agent is removed.
	Drop(name task.Agent)
}

// Request asks for the card of an agent.
type Request struct {
	URL string
	// ETag is the tag of the stored card; empty if there is none.
	ETag string
	// Guarded is set if the URL is untrusted, see Spec.Guarded.
	Guarded bool
	// Call holds the credentials.
	Call Call
}

// Fetcher reads the cards of agents. It is called concurrently.
type Fetcher interface {
	// Fetch returns the card of the agent at a URL. It returns card.ErrNotModified if the card
	// still has the tag of the request.
	Fetch(ctx context.Context, r *Request) (*card.Card, error)
}

// Update is the state of a source at one moment.
type Update struct {
	// Specs are the agents of the source.
	Specs []Spec
	// Problems are the errors of the source. As long as Problems is not empty, agents that the
	// source named earlier remain, even if Specs lacks them.
	Problems []error
}

// Source supplies agents, for example from a file or from announcements on the bus.
type Source interface {
	// Name returns the source's display name, such as "agents.yaml".
	Name() string
	// Load returns the current state of the source.
	Load(ctx context.Context) Update
	// Follow calls changed with the full state of the source after each change, until ctx ends.
	// It begins with the changes since Load.
	Follow(ctx context.Context, changed func(Update)) error
}

// Config configures a Directory. The zero Config keeps registered agents in memory only and
// fetches no cards.
type Config struct {
	// Sources in order of precedence: the first source that names an agent wins. Registered
	// agents come last.
	Sources []Source
	// Registrar makes agents callable. If nil, no agent is made callable.
	Registrar Registrar
	// Fetcher reads cards. If nil, no card is read and no agent is probed.
	Fetcher Fetcher
	// Store persists registered agents and the last known cards. If nil, they are kept in
	// memory.
	Store dirstore.Store
	// Sealer encrypts the credentials of registered agents. If nil, registrations with
	// credentials are rejected.
	Sealer Sealer
	// Policy checks the URLs that callers register. If nil, every URL is accepted.
	Policy func(rawURL string) error
	// Refresh is the interval after which a card is fetched in full again. Zero means ten
	// minutes, negative means never.
	Refresh time.Duration
	// Probe is the interval between probes of an agent. Zero means one minute, negative means
	// never.
	Probe time.Duration
	// ProbeTimeout limits the duration of a probe. Zero means three seconds.
	ProbeTimeout time.Duration
	// Services are added to the search index beside the agents.
	Services []Service
	// Logger receives messages for the operator. If nil, nothing is logged.
	Logger *slog.Logger
	// Changed is called when the health or the card of an agent changes, and when an agent is
	// removed. It must return at once, and must not call the Directory. It may be nil.
	Changed func(Change)
	// Random returns a number in [0, 1) that adds jitter to the intervals. If nil, math/rand is
	// used.
	Random func() float64
}

// Change is a change of an agent.
type Change struct {
	Name task.Agent
	// Card is set if the card has changed, Gone if the agent was removed; otherwise its health
	// has changed.
	Card, Gone bool
	// Health is the health after the change.
	Health Health
}

// Sealer encrypts secrets. A text sealed for one context cannot be opened with another.
type Sealer interface {
	Seal(plain, context []byte) []byte
	Open(sealed, context []byte) ([]byte, error)
}

func (c Config) withDefaults() Config {
	c.Refresh = cmp.Or(c.Refresh, 10*time.Minute)
	c.Probe = cmp.Or(c.Probe, time.Minute)
	c.ProbeTimeout = cmp.Or(c.ProbeTimeout, 3*time.Second)
	if c.Store == nil {
		c.Store = new(dirstore.Memory)
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Random == nil {
		c.Random = rand.Float64
	}
	return c
}

// Directory keeps the list of agents. Create it with New.
type Directory struct {
	cfg   Config
	index *bm25.Index
	work  *schedule

	// changing serialises changes; it is held while the registrar and the store are called.
	changing sync.Mutex
	// known holds the last state of each source, followed by the registered agents. It is
	// guarded by changing.
	known []lastUpdate

	mu     sync.RWMutex // guards the fields below; taken after changing
	agents map[task.Agent]*agent
	wrong  [][]string // the problems of each source
}

// lastUpdate is the last state of a source: its agents by name. If a source names an agent twice, the
// first Spec counts.
type lastUpdate map[task.Agent]*Spec

// agent is the directory's state of one agent.
type agent struct {
	// checking is held while the agent's card is fetched.
	checking sync.Mutex

	// The fields below are guarded by Directory.mu; writers hold Directory.changing too.

	entry *Entry
	card  *card.Card // after screening; nil if there is none
	// published is the digest of the entry last passed to the registrar.
	published string
	// trouble is the error with which the registrar refused the agent.
	trouble string
	// record is the agent's record in the store; nil if there is none.
	record *card.Record
	// whole is the time of the last full read of the card, or of the first attempt.
	whole time.Time
	// screened lists the problems found in the card.
	screened []string
	// broke is why the last answer of the agent could not be read; empty if it could.
	broke string
}

// New returns a Directory. Call Open before any other method.
func New(cfg Config) *Directory {
	cfg = cfg.withDefaults()
	d := &Directory{
		cfg: cfg, index: bm25.New(), work: &schedule{next: make(map[task.Agent]time.Time), wake: wake.New()},
		known:  make([]lastUpdate, len(cfg.Sources)+1),
		wrong:  make([][]string, len(cfg.Sources)+1),
		agents: make(map[task.Agent]*agent),
	}
	for i := range cfg.Services {
		d.index.Put(cfg.Services[i].document())
	}
	return d
}

// Open reads the store and all sources, and passes the agents to the registrar. An agent that
// does not answer is passed with its last known card. Open returns an error only if the store
// fails.
func (d *Directory) Open(ctx context.Context) error {
	records, err := d.cfg.Store.Records(ctx)
	if err != nil {
		return fmt.Errorf("open directory: %w", err)
	}
	registered := d.restore(records)
	for i, s := range d.cfg.Sources {
		d.set(i, s.Load(ctx))
	}
	d.set(len(d.cfg.Sources), registered)
	d.forget(ctx, records)
	return nil
}

// restore creates agents from the stored records and returns the registered ones.
func (d *Directory) restore(records []card.Record) Update {
	var u Update
	for i := range records {
		r := &records[i]
		a := &agent{record: r}
		if len(r.Card) > 0 {
			if c, err := card.Read(r.Card); err == nil {
				c.A2A, a.screened = screen(c.A2A)
				c.ETag = r.ETag
				a.card = c
			}
		}
		d.mu.Lock()
		d.agents[r.Name] = a
		d.mu.Unlock()
		if r.Spec == nil {
			continue
		}
		s, err := d.unpack(r)
		if err != nil {
			u.Problems = append(u.Problems, err)
			continue
		}
		u.Specs = append(u.Specs, *s)
	}
	return u
}

// forget deletes the records of agents that no source names any more.
func (d *Directory) forget(ctx context.Context, records []card.Record) {
	d.changing.Lock()
	defer d.changing.Unlock()
	for i := range records {
		name := records[i].Name
		d.mu.Lock()
		a := d.agents[name]
		stale := a != nil && a.entry == nil
		if stale {
			delete(d.agents, name)
		}
		d.mu.Unlock()
		if stale && records[i].Spec == nil {
			if err := d.cfg.Store.DropRecord(ctx, name); err != nil {
				d.cfg.Logger.Error("forget agent", "agent", name, "error", err)
			}
		}
	}
}

// Run follows the sources and keeps cards and health up to date until ctx ends. It returns
// after all its goroutines have ended.
func (d *Directory) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	for i, s := range d.cfg.Sources {
		wg.Go(func() {
			err := s.Follow(ctx, func(u Update) { d.set(i, u) })
			if err != nil && ctx.Err() == nil {
				d.cfg.Logger.Error("source of agents is no longer followed; restart the hub to follow it again", "source", s.Name(), "error", err)
			}
		})
	}
	d.keep(ctx, &wg)
	return nil
}

// Update applies the full state of a source at once, which Follow would report later. It returns once the
// agents of u are listed.
func (d *Directory) Update(s Source, u Update) {
	if i := slices.Index(d.cfg.Sources, s); i >= 0 {
		d.set(i, u)
	}
}

// set applies the new state of source i.
func (d *Directory) set(i int, u Update) {
	d.changing.Lock()
	defer d.changing.Unlock()
	d.report(i, u.Problems)
	before, now := d.known[i], make(lastUpdate, len(u.Specs))
	for j := range u.Specs {
		if s := &u.Specs[j]; now[s.Name] == nil {
			now[s.Name] = s
		}
	}
	changed := make(map[task.Agent]bool)
	for name, s := range before {
		switch {
		case now[name] == nil && len(u.Problems) > 0:
			now[name] = s
		case now[name] == nil || !now[name].Same(s):
			changed[name] = true
		}
	}
	for name := range now {
		if before[name] == nil {
			changed[name] = true
		}
	}
	d.known[i] = now
	for _, name := range slices.Sorted(maps.Keys(changed)) {
		d.rebuild(name)
	}
	if before != nil && len(changed) > 0 {
		d.cfg.Logger.Info("source of agents has changed", "source", d.sourceName(i), "agents", len(now), "changed", len(changed))
	}
}

// report logs the problems that are new.
func (d *Directory) report(i int, found []error) {
	var texts []string
	for _, err := range found {
		texts = append(texts, err.Error())
	}
	d.mu.Lock()
	before := d.wrong[i]
	d.wrong[i] = texts
	d.mu.Unlock()
	for _, text := range texts {
		if !slices.Contains(before, text) {
			d.cfg.Logger.Error("source of agents has a problem", "source", d.sourceName(i), "problem", text)
		}
	}
	if len(texts) == 0 && len(before) > 0 {
		d.cfg.Logger.Info("source of agents has recovered", "source", d.sourceName(i))
	}
}

// registeredName is the source name of registered agents.
const registeredName = "registered"

func (d *Directory) sourceName(i int) string {
	if i < len(d.cfg.Sources) {
		return d.cfg.Sources[i].Name()
	}
	return registeredName
}

// specs returns the Specs of an agent in order of precedence, with the names of their sources.
func (d *Directory) specs(name task.Agent) (specs []*Spec, sources []string) {
	for i := range d.known {
		if s := d.known[i][name]; s != nil {
			specs, sources = append(specs, s), append(sources, d.sourceName(i))
		}
	}
	return specs, sources
}

// Problem is an error in a source of agents.
type Problem struct {
	Source string `json:"source"`
	Text   string `json:"problem"`
}

// Problems returns the current problems of all sources.
func (d *Directory) Problems() []Problem {
	d.mu.RLock()
	defer d.mu.RUnlock()
	var all []Problem
	for i, texts := range d.wrong {
		for _, text := range texts {
			all = append(all, Problem{d.sourceName(i), text})
		}
	}
	return all
}

// List returns all agents, sorted by name.
func (d *Directory) List() []*Entry {
	d.mu.RLock()
	defer d.mu.RUnlock()
	all := make([]*Entry, 0, len(d.agents))
	for _, name := range slices.Sorted(maps.Keys(d.agents)) {
		if e := d.agents[name].entry; e != nil {
			all = append(all, e)
		}
	}
	return all
}

// Get finds an agent by its name, its title, or its name on an exchange. The error
// suggests the nearest name.
func (d *Directory) Get(name string) (*Entry, error) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	for _, n := range []task.Agent{task.Agent(name), NameOf(name)} {
		if a := d.agents[n]; a != nil && a.entry != nil {
			return a.entry, nil
		}
	}
	var names []string
	for n, a := range d.agents {
		if a.entry == nil {
			continue
		}
		if own := string(a.entry.Spec.Exchange); own != "" && strings.EqualFold(own, name) {
			return a.entry, nil
		}
		names = append(names, string(n))
	}
	slices.Sort(names)
	if meant := suggest.Nearest(clip.Runes(name, maxQuoted), names); meant != "" {
		return nil, fmt.Errorf("%w as %q; did you mean %s?", ErrNoAgent, clip.Runes(name, maxQuoted), meant)
	}
	return nil, fmt.Errorf("%w as %q", ErrNoAgent, clip.Runes(name, maxQuoted))
}

// KnownCard returns the last card that an agent has shown, in an earlier process, too, as it was
// sent; nil if there is none.
func (d *Directory) KnownCard(name task.Agent) []byte {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if a := d.agents[name]; a != nil && a.card != nil {
		return a.card.Raw
	}
	return nil
}

// Healthy reports whether an agent is not known to be down. It returns true for an unknown
// agent.
func (d *Directory) Healthy(name task.Agent) bool {
	d.mu.RLock()
	defer d.mu.RUnlock()
	a := d.agents[name]
	return a == nil || a.entry == nil || a.entry.Health.State != Down
}

// Search returns the agents and services that match a query, best match first.
func (d *Directory) Search(query string, limit int) []bm25.Hit {
	return d.index.Search(query, limit)
}

// rebuild rebuilds the entry of an agent from its Specs and its card. The caller holds
// changing.
func (d *Directory) rebuild(name task.Agent) {
	specs, sources := d.specs(name)
	d.mu.RLock()
	a := d.agents[name]
	d.mu.RUnlock()
	if len(specs) == 0 {
		if a != nil && a.entry != nil {
			d.drop(name, a)
		}
		return
	}
	if a == nil {
		a = new(agent)
		d.mu.Lock()
		d.agents[name] = a
		d.mu.Unlock()
	}
	e := &Entry{Sources: sources, Registered: sources[0] == registeredName}
	if a.entry != nil {
		e.Health, e.CardAt, e.Workers = a.entry.Health, a.entry.CardAt, a.entry.Workers
	} else if a.record != nil {
		e.Health.SeenAt = a.record.SeenAt
	}
	if moved := a.entry != nil && !sameAddress(&a.entry.Spec, specs[0]); moved || a.record != nil && a.record.CardURL != specs[0].URL {
		d.mu.Lock()
		a.card, a.screened, e.CardAt = nil, nil, time.Time{}
		d.mu.Unlock()
		if moved {
			e.Health = Health{}
		}
	}
	spec, others := withQueue(specs)
	fresh := a.entry == nil || !a.entry.Spec.Same(spec)
	e.fill(spec, a.a2a())
	if spec.URL == "" && spec.Queue != "" {
		e.setPresence()
	}
	e.Others = a.others()
	e.SignedBy = a.signedBy()
	e.Problems = shadows(others, sources)
	for _, p := range e.Problems {
		if a.entry == nil || !slices.Contains(a.entry.Problems, p) {
			d.cfg.Logger.Warn("two agents have one name", "agent", name, "problem", p)
		}
	}
	d.publish(a, e)
	if fresh && d.checked(spec) {
		d.work.at(name, time.Now())
	}
}

// sameAddress reports whether a card that was read for a is valid for b.
func sameAddress(a, b *Spec) bool {
	return a.URL == b.URL && a.Call.Target == b.Call.Target && a.Call.Credentials == b.Call.Credentials
}

// checked reports whether the directory fetches the agent's card.
func (d *Directory) checked(s *Spec) bool {
	return d.cfg.Fetcher != nil && !s.Local && !s.Pinned && s.URL != ""
}

// shadows returns a problem for each further source that names the same agent.
func shadows(specs []*Spec, sources []string) []string {
	var all []string
	for i := 1; i < len(specs); i++ {
		if specs[i] == nil {
			continue
		}
		all = append(all, fmt.Sprintf("%s is ignored: %s already has an agent with this name",
			cmp.Or(specs[i].Where, sources[i]), cmp.Or(specs[0].Where, sources[0])))
	}
	return all
}

// publish makes e the entry of a, and notifies the registrar if the change affects callers. The
// caller holds changing.
func (d *Directory) publish(a *agent, e *Entry) {
	if digest := a.digest(e); !e.Spec.Local && d.cfg.Registrar != nil && (digest != a.published || a.trouble != "") {
		a.published, a.trouble = digest, ""
		if err := d.cfg.Registrar.Put(e); err != nil {
			a.trouble = err.Error()
			d.cfg.Logger.Error("agent cannot be called", "agent", e.Name(), "error", err)
		}
	}
	if a.trouble != "" {
		e.Problems = append(e.Problems, "it cannot be called: "+a.trouble)
	}
	e.Problems = append(e.Problems, a.screened...)
	if a.broke != "" {
		e.Problems = append(e.Problems, a.broke)
	}
	d.mu.Lock()
	a.entry = e
	d.mu.Unlock()
	if e.Spec.Left {
		d.index.Drop(documentID(agentKind, string(e.Name())))
		return
	}
	d.index.Put(e.document())
}

// drop removes an agent that no source names. The caller holds changing.
func (d *Directory) drop(name task.Agent, a *agent) {
	d.mu.Lock()
	delete(d.agents, name)
	d.mu.Unlock()
	d.index.Drop(documentID(agentKind, string(name)))
	if d.cfg.Registrar != nil && !a.entry.Spec.Local {
		d.cfg.Registrar.Drop(name)
	}
	if a.record != nil {
		if err := d.cfg.Store.DropRecord(context.Background(), name); err != nil {
			d.cfg.Logger.Error("forget agent", "agent", name, "error", err)
		}
	}
	d.changed(Change{Name: name, Gone: true})
	d.cfg.Logger.Info("agent left", "agent", name, "source", strings.Join(a.entry.Sources, ", "))
}
