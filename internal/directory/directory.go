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

	"github.com/parley-a2a/parley/agent/card"
	"github.com/parley-a2a/parley/internal/bm25"
	"github.com/parley-a2a/parley/internal/clip"
	"github.com/parley-a2a/parley/internal/directory/dirstore"
	"github.com/parley-a2a/parley/internal/suggest"
	"github.com/parley-a2a/parley/task"
)

// What callers get who ask for something that is not so.
var (
	// ErrNoAgent: there is no agent with the name.
	ErrNoAgent = errors.New("no such agent")
	// ErrConfigured: the agent stands in a file, or belongs to the hub, and is changed
	// there.
	ErrConfigured = errors.New("the agent is configured")
	// ErrInvalid: what was registered cannot be.
	ErrInvalid = errors.New("invalid agent")
)

// Registrar makes agents callable. It is called by one goroutine at a time.
type Registrar interface {
	// Put is called with an agent that has come, or of which its callers need to know
	// something new. An error is noted among the agent's problems.
	Put(e *Entry) error
	// Drop is called when an agent has gone.
	Drop(name task.Agent)
}

// Request asks for the card of an agent.
type Request struct {
	URL string
	// ETag is the tag of the card that is there already, or empty.
	ETag string
	// Guarded is set if the URL is a stranger's, see Spec.Guarded.
	Guarded bool
	// Call has the credentials.
	Call Call
}

// Fetcher reads the cards of agents. It is called concurrently.
type Fetcher interface {
	// Fetch returns the card of the agent at a URL. It returns card.ErrNotModified for a
	// card that still has the tag of the request.
	Fetch(ctx context.Context, r *Request) (*card.Card, error)
}

// Update is what a source knows at one moment.
type Update struct {
	// Specs are its agents.
	Specs []Spec
	// Problems say what is wrong with the source. While there are any, agents that the
	// source has named before and does not name now stay: a mistake takes nothing away.
	Problems []error
}

// Source is where agents are known from: a file, or those who announce themselves.
type Source interface {
	// Name is the source's name for a person, such as "agents.yaml".
	Name() string
	// Load returns what the source knows now.
	Load(ctx context.Context) Update
	// Follow calls changed with all that the source knows whenever that has changed,
	// until ctx ends. It begins with what has changed since Load.
	Follow(ctx context.Context, changed func(Update)) error
}

// Config says how a Directory works. The zero Config knows agents that are registered,
// until the process ends, and fetches nothing.
type Config struct {
	// Sources are asked in this order: the first that knows an agent counts, and those
	// who are registered come last.
	Sources []Source
	// Registrar makes agents callable. If nil, nobody does.
	Registrar Registrar
	// Fetcher reads cards. If nil, none is read and no agent is probed.
	Fetcher Fetcher
	// Store keeps what is registered, and the cards that were seen last. If nil, they
	// end with the process.
	Store dirstore.Store
	// Sealer seals the credentials of agents that are registered. If nil, agents with
	// credentials cannot be registered.
	Sealer Sealer
	// Policy checks the URLs that callers register. If nil, any is taken.
	Policy func(rawURL string) error
	// Refresh is the time after which a card is read again as a whole. Zero means ten
	// minutes, negative means never.
	Refresh time.Duration
	// Probe is the time between questions whether an agent still answers. Zero means one
	// minute, negative means never.
	Probe time.Duration
	// ProbeTimeout is how long an answer to a probe may take. Zero means three seconds.
	ProbeTimeout time.Duration
	// Services are other things than agents that can be searched for.
	Services []Service
	// Logger receives what an operator should know. If nil, nothing is logged.
	Logger *slog.Logger
	// Random returns a number from 0 to 1, with which times are spread. If nil, it is
	// truly random.
	Random func() float64
}

// Sealer seals secrets. A text that is sealed for one context does not open in another.
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

// Directory knows which agents there are.
type Directory struct {
	cfg   Config
	index *bm25.Index
	work  *schedule

	// changing is held while a change is made and the registrar and the store are told.
	changing sync.Mutex
	// known is what each source has said last, with the registered agents at the end.
	// It is guarded by changing.
	known []told

	mu     sync.RWMutex // guards the fields below; taken after changing
	agents map[task.Agent]*agent
	wrong  [][]string // the problems of each source
}

// told is what a source has said last: its agents by their names. One that it names twice
// counts as it was named first.
type told map[task.Agent]*Spec

// agent is what the directory knows of one agent.
type agent struct {
	// checking is held while the agent is asked for its card.
	checking sync.Mutex

	// The rest is guarded by Directory.mu, and changed by whoever holds changing as well.

	entry *Entry
	card  *card.Card // as it was screened; nil if there is none
	// told is what the registrar was told last.
	told string
	// trouble is why the registrar did not take the agent.
	trouble string
	// record is what the ledger has; nil if it has nothing.
	record *dirstore.Record
	// whole is when the card was last read as a whole, or first at all.
	whole time.Time
	// screened is what was wrong with the card.
	screened []string
}

// New returns a Directory. Open it before anything else.
func New(cfg Config) *Directory {
	cfg = cfg.withDefaults()
	d := &Directory{
		cfg: cfg, index: bm25.New(), work: newSchedule(),
		known:  make([]told, len(cfg.Sources)+1),
		wrong:  make([][]string, len(cfg.Sources)+1),
		agents: make(map[task.Agent]*agent),
	}
	for i := range cfg.Services {
		d.index.Put(cfg.Services[i].document())
	}
	return d
}

// Open reads the store and all sources, and makes the agents callable: those that do not
// answer as well, with what was known of them last. It fails if the store does.
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

// restore takes over what the ledger has, and returns the agents that were registered.
func (d *Directory) restore(records []dirstore.Record) Update {
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

// forget drops what the ledger has of agents that nobody names any more.
func (d *Directory) forget(ctx context.Context, records []dirstore.Record) {
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

// Run follows the sources, and keeps cards and health up to date, until ctx ends. It
// returns when everything that it started has stopped.
func (d *Directory) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	for i, s := range d.cfg.Sources {
		wg.Go(func() {
			err := s.Follow(ctx, func(u Update) { d.set(i, u) })
			if err != nil && ctx.Err() == nil {
				d.cfg.Logger.Error("source of agents is not followed any more; restart the hub to try again", "source", s.Name(), "error", err)
			}
		})
	}
	d.keep(ctx, &wg)
	return nil
}

// set takes over what source i says now.
func (d *Directory) set(i int, u Update) {
	d.changing.Lock()
	defer d.changing.Unlock()
	d.report(i, u.Problems)
	before, now := d.known[i], make(told, len(u.Specs))
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

// report logs problems that are new.
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
		d.cfg.Logger.Info("source of agents is right again", "source", d.sourceName(i))
	}
}

// registeredName is the name of those who were registered, as a source.
const registeredName = "registered"

func (d *Directory) sourceName(i int) string {
	if i < len(d.cfg.Sources) {
		return d.cfg.Sources[i].Name()
	}
	return registeredName
}

// specs returns what the sources say of an agent, those that count first.
func (d *Directory) specs(name task.Agent) (specs []*Spec, sources []string) {
	for i := range d.known {
		if s := d.known[i][name]; s != nil {
			specs, sources = append(specs, s), append(sources, d.sourceName(i))
		}
	}
	return specs, sources
}

// Problem is what is wrong with a source of agents.
type Problem struct {
	Source string `json:"source"`
	Text   string `json:"problem"`
}

// Problems returns what is wrong with the sources now.
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

// List returns all agents in the order of their names.
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

// Get returns the agent with a name, a title, or a name on RockBot's exchange. The error
// names the nearest one.
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
		if own := string(a.entry.Spec.RockBot); own != "" && strings.EqualFold(own, name) {
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

// Healthy reports whether there is no reason to think that an agent does not answer.
func (d *Directory) Healthy(name task.Agent) bool {
	d.mu.RLock()
	defer d.mu.RUnlock()
	a := d.agents[name]
	return a == nil || a.entry == nil || a.entry.Health.State != Down
}

// Search returns the agents and services that have to do with a query, the best first.
func (d *Directory) Search(query string, limit int) []bm25.Hit {
	return d.index.Search(query, limit)
}

// rebuild makes the entry of an agent anew of what is known. The caller holds changing.
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

// sameAddress reports whether a card that was read for a is one for b.
func sameAddress(a, b *Spec) bool {
	return a.URL == b.URL && a.Call.Target == b.Call.Target && a.Call.Credentials == b.Call.Credentials
}

// checked reports whether an agent is asked for its card.
func (d *Directory) checked(s *Spec) bool {
	return d.cfg.Fetcher != nil && !s.Local && !s.Pinned && s.URL != ""
}

// shadows says which other sources name the same agent in vain.
func shadows(specs []*Spec, sources []string) []string {
	var all []string
	for i := 1; i < len(specs); i++ {
		if specs[i] == nil {
			continue
		}
		all = append(all, fmt.Sprintf("%s does not count: %s has an agent with the name, too",
			cmp.Or(specs[i].Where, sources[i]), cmp.Or(specs[0].Where, sources[0])))
	}
	return all
}

// publish makes e the entry of a, and tells the registrar if its callers need to know.
// The caller holds changing.
func (d *Directory) publish(a *agent, e *Entry) {
	if told := a.tell(e); !e.Spec.Local && d.cfg.Registrar != nil && (told != a.told || a.trouble != "") {
		a.told, a.trouble = told, ""
		if err := d.cfg.Registrar.Put(e); err != nil {
			a.trouble = err.Error()
			d.cfg.Logger.Error("agent cannot be called", "agent", e.Name(), "error", err)
		}
	}
	if a.trouble != "" {
		e.Problems = append(e.Problems, "it cannot be called: "+a.trouble)
	}
	e.Problems = append(e.Problems, a.screened...)
	d.mu.Lock()
	a.entry = e
	d.mu.Unlock()
	d.index.Put(e.document())
}

// drop forgets an agent that no source names. The caller holds changing.
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
	d.cfg.Logger.Info("agent has gone", "agent", name, "source", strings.Join(a.entry.Sources, ", "))
}
