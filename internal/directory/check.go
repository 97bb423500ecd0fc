package directory

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/clip"
	"github.com/parley-a2a/parley/internal/directory/dirstore"
	"github.com/parley-a2a/parley/internal/json/rawjson"
	"github.com/parley-a2a/parley/internal/outbound/card"
	"github.com/parley-a2a/parley/task"
)

const (
	// checkers limits the number of concurrent probes.
	checkers = 32
	// fetchTimeout limits the duration of a full read of a card.
	fetchTimeout = 30 * time.Second
	// firstRetry is the delay before an agent that did not answer is probed again; it doubles
	// up to Config.Probe.
	firstRetry = time.Second
	// maxError limits a stored error text, in characters.
	maxError = 500
	// seenEvery is the precision of SeenAt in the store.
	seenEvery = 10 * time.Minute
)

// Probe is the result of a request for an agent's card.
type Probe struct {
	Reachable  bool
	Latency    time.Duration
	Streaming  bool
	Push       bool
	SkillCount int
	// Changed is set if the card differs from the previous one.
	Changed bool
	// Error is the error of the request; empty on success.
	Error string
}

// keep probes each agent when it is due, until ctx ends.
func (d *Directory) keep(ctx context.Context, wg *sync.WaitGroup) {
	places := make(chan struct{}, checkers)
	for {
		name, ok := d.work.wait(ctx)
		if !ok {
			return
		}
		select {
		case places <- struct{}{}:
		case <-ctx.Done():
			return
		}
		wg.Go(func() {
			defer func() { <-places }()
			if a, e := d.lookup(name); e != nil && d.checked(&e.Spec) {
				d.check(ctx, name, d.stale(a))
			}
		})
	}
}

// NextProbe returns when an agent will be probed; zero if it is never probed, or just now.
func (d *Directory) NextProbe(name task.Agent) time.Time {
	d.work.mu.Lock()
	defer d.work.mu.Unlock()
	return d.work.next[name]
}

// stale reports whether the full card of an agent is due to be read.
func (d *Directory) stale(a *agent) bool {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.cfg.Refresh > 0 && time.Since(a.whole) >= d.cfg.Refresh
}

// lookup returns an agent and its current entry; nil if there is none.
func (d *Directory) lookup(name task.Agent) (*agent, *Entry) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	a := d.agents[name]
	if a == nil || a.entry == nil {
		return nil, nil
	}
	return a, a.entry
}

// Refresh reads the full card of an agent, changed or not, and returns the new entry. Nothing
// is read for an agent that is pinned or local.
func (d *Directory) Refresh(ctx context.Context, name string) (*Entry, Probe, error) {
	return d.probeNow(ctx, name, true)
}

// Probe requests the card of an agent, as the periodic probe does, and returns the result.
func (d *Directory) Probe(ctx context.Context, name string) (*Entry, Probe, error) {
	return d.probeNow(ctx, name, false)
}

func (d *Directory) probeNow(ctx context.Context, name string, whole bool) (*Entry, Probe, error) {
	e, err := d.Get(name)
	if err != nil {
		return nil, Probe{}, err
	}
	if !d.checked(&e.Spec) {
		return e, Probe{
			Reachable: e.Spec.Local || e.Spec.Model != nil, Streaming: e.Streaming, Push: e.Push, SkillCount: len(e.Skills),
		}, nil
	}
	p := d.check(ctx, e.Name(), whole)
	if _, now := d.lookup(e.Name()); now != nil {
		e = now
	}
	return e, p, nil
}

// check requests the card of an agent and applies the result.
func (d *Directory) check(ctx context.Context, name task.Agent, whole bool) Probe {
	a, e := d.lookup(name)
	if e == nil {
		return Probe{Error: ErrNoAgent.Error()}
	}
	a.checking.Lock()
	defer a.checking.Unlock()
	d.mu.RLock()
	before := a.card
	d.mu.RUnlock()
	r := &Request{URL: e.Spec.URL, Guarded: e.Spec.Guarded, Call: e.Spec.Call}
	limit := d.cfg.ProbeTimeout
	if whole {
		limit = fetchTimeout
	} else if before != nil {
		r.ETag = before.ETag
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("no answer within %v: %w", limit, context.DeadlineExceeded))
	defer cancel()
	began := time.Now()
	c, err := d.cfg.Fetcher.Fetch(ctx, r)
	if errors.Is(context.Cause(ctx), context.Canceled) {
		return Probe{Error: context.Cause(ctx).Error()} // the result is unknown
	}
	f := finding{spec: e.Spec, card: c, err: err, latency: time.Since(began), at: time.Now(), whole: whole}
	if errors.Is(err, card.ErrNotModified) {
		f.err, f.same = nil, true
	}
	return d.apply(name, &f)
}

// finding is the result of a request for a card.
type finding struct {
	spec    Spec // at the time of the request
	card    *card.Card
	err     error
	same    bool // the card is unchanged
	whole   bool
	change  *CardChange // nil if the card is the same
	at      time.Time
	latency time.Duration
}

// alive reports whether the agent is running. That is also the case if it restricts access to
// its card, or has no card but can be called without one.
func (f *finding) alive() bool {
	return f.err == nil || errors.Is(f.err, a2a.ErrUnauthenticated) || errors.Is(f.err, a2a.ErrUnauthorized) ||
		f.spec.Call.Binding != "" && errors.Is(f.err, card.ErrNoCard)
}

// apply applies a finding, schedules the next probe, and returns the result.
func (d *Directory) apply(name task.Agent, f *finding) Probe {
	d.changing.Lock()
	defer d.changing.Unlock()
	a, e := d.lookup(name)
	if e == nil || !sameAddress(&e.Spec, &f.spec) {
		return Probe{Error: "the agent was changed in the meantime"}
	}
	next := *e
	next.Problems = nil
	changed := false
	if f.err == nil && !f.same {
		changed = d.takeCard(a, f)
	}
	if f.change != nil {
		next.CardChange = f.change
	}
	if f.err == nil {
		next.CardAt = f.at
		if f.whole || a.whole.IsZero() {
			d.mu.Lock()
			a.whole = f.at
			d.mu.Unlock()
		}
	}
	next.fill(&e.Spec, a.a2a())
	next.Others = a.others()
	next.SignedBy = a.signedBy()
	specs, sources := d.specs(name)
	next.Problems = shadows(specs, sources)
	next.Health = healthAfter(e.Health, f)
	d.reportHealth(e, &next)
	if changed {
		d.changed(Change{Name: name, Card: true, Health: next.Health})
	}
	if lost := gone(e.Skills, next.Skills); len(lost) > 0 {
		d.cfg.Logger.Warn("skills have disappeared from an agent's card", "agent", name, "skills", strings.Join(lost, ", "))
	}
	d.publish(a, &next)
	d.remember(a, &next, changed)
	if pause := d.pause(&next.Health); pause > 0 {
		d.work.at(name, f.at.Add(pause))
	}
	return Probe{
		Reachable: next.Health.State == Up, Latency: f.latency, Streaming: next.Streaming, Push: next.Push,
		SkillCount: len(next.Skills), Changed: changed, Error: next.Health.Error,
	}
}

// takeCard stores a new card; it reports whether the card differs from the previous one.
func (d *Directory) takeCard(a *agent, f *finding) bool {
	before := a.card
	c := *f.card
	var screened []string
	c.A2A, screened = screen(f.card.A2A)
	d.mu.Lock()
	a.card, a.screened = &c, screened
	d.mu.Unlock()
	if before != nil {
		if change := changeOf(before.Raw, c.Raw, f.at); change != nil {
			f.change = change
		}
	}
	return before == nil || string(before.Raw) != string(c.Raw)
}

// healthAfter returns the health of an agent after a probe.
func healthAfter(h Health, f *finding) Health {
	h.CheckedAt, h.Latency, h.Error = f.at, f.latency, ""
	if f.err != nil {
		h.Error = clip.Runes(clean(f.err.Error()), maxError)
	}
	if f.alive() {
		h.State, h.SeenAt, h.Session, h.Failures = Up, f.at, true, 0
		return h
	}
	h.State = Down
	h.Failures++
	return h
}

// reportHealth logs when an agent stops answering, answers again, or denies access to its card.
func (d *Directory) reportHealth(before, now *Entry) {
	log := d.cfg.Logger.With("agent", now.Name(), "url", redact(now.Spec.URL))
	was, is := &before.Health, &now.Health
	if is.State != was.State || is.Error != was.Error {
		d.changed(Change{Name: now.Name(), Health: *is})
	}
	switch {
	case is.State == Down && was.State != Down:
		log.Warn("agent unreachable; it can still be called, and its card is retried", "error", is.Error)
	case is.State == Up && was.State == Down:
		log.Info("agent answers again", "latency", is.Latency.Round(time.Millisecond), "skills", len(now.Skills))
	case is.Error != "" && is.Error != was.Error:
		log.Warn("card of an agent cannot be read", "error", is.Error)
	}
}

// changed reports a change of an agent.
func (d *Directory) changed(c Change) {
	if d.cfg.Changed != nil {
		d.cfg.Changed(c)
	}
}

// pause returns the delay before the next probe, with jitter. It is shorter for an agent that
// does not answer. Zero means never.
func (d *Directory) pause(h *Health) time.Duration {
	pause := d.cfg.Probe
	if pause < 0 {
		pause = max(d.cfg.Refresh, 0)
	}
	if h.State == Down && h.Failures < 16 {
		pause = min(pause, firstRetry<<(h.Failures-1))
	}
	return time.Duration(float64(pause) * (0.9 + 0.2*d.cfg.Random()))
}

// remember stores the card and the time of the answer, if either has changed enough. The caller
// holds changing.
func (d *Directory) remember(a *agent, e *Entry, changed bool) {
	r := a.record
	switch {
	case a.card == nil:
		return
	case r == nil:
		r = &card.Record{Name: e.Name()}
	case !changed && e.Health.SeenAt.Sub(r.SeenAt) < seenEvery:
		return
	default:
		r = r.Clone()
	}
	r.Card, r.CardURL, r.ETag, r.SeenAt = a.card.Raw, e.Spec.URL, a.card.ETag, e.Health.SeenAt
	put := d.cfg.Store.PutRecord
	if shared, ok := d.cfg.Store.(dirstore.CardStore); ok {
		put = shared.PutCard
	}
	if err := put(context.Background(), r); err != nil {
		d.cfg.Logger.Error("remember card", "agent", e.Name(), "error", err)
		return
	}
	a.record = r
}

// a2a returns the card in the form of the protocol; nil if there is none.
func (a *agent) a2a() *a2a.AgentCard {
	if a.card == nil {
		return nil
	}
	return a.card.A2A
}

// others returns the members of the card that the protocol does not define. It returns nil for
// a signed card, because its verified signature does not cover these members in every form of
// the card.
func (a *agent) others() []byte {
	if a.card == nil || a.card.SignedBy != "" {
		return nil
	}
	return card.Others(a.card.Raw)
}

// signedBy returns the id of the key that signed the card; empty if no signature was verified.
func (a *agent) signedBy() string {
	if a.card == nil {
		return ""
	}
	return a.card.SignedBy
}

// reach returns the members of the card that determine how the agent is called; nil if there is
// no card.
func (a *agent) reach() []any {
	if a.card == nil {
		return nil
	}
	return []any{a.card.A2A.SupportedInterfaces, rawjson.Member(a.card.Raw, "securitySchemes")}
}

// digest returns a digest of the data that callers of the agent depend on.
func (a *agent) digest(e *Entry) string {
	c := &e.Spec.Call.Credentials
	b, err := json.Marshal([]any{
		a.reach(),
		e.Card(), e.Others, e.Spec, e.Streaming, e.Push, e.Transport(), c.APIKey, c.APIKeyEnv, c.Bearer, c.BearerEnv, c.HeaderName, c.HeaderValue,
	})
	if err != nil {
		panic("directory: " + err.Error()) // an Entry can always be encoded
	}
	sum := sha256.Sum256(b)
	return string(sum[:])
}
