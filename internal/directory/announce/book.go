package announce

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/parley-a2a/parley/bus"
	"github.com/parley-a2a/parley/bus/protocol"
	"github.com/parley-a2a/parley/internal/directory"
	"github.com/parley-a2a/parley/internal/directory/dirstore"
	"github.com/parley-a2a/parley/task"
)

// Limits.
const (
	maxAgents  = 1000
	maxWorkers = 10_000 // per agent
	// seenEvery is the precision of SeenAt in the store.
	seenEvery = 10 * time.Minute
	// tendEvery is the interval between checks for expired workers and agents.
	tendEvery = time.Minute
	// silence is the time without an announcement after which a worker is considered gone.
	silence = 2*protocol.AnnounceInterval + 30*time.Second
)

// Notes persist data across a restart; dirstore.Notes implements it.
type Notes interface {
	// Note returns the note stored under a name; nil if there is none.
	Note(ctx context.Context, name string) ([]byte, error)
	// PutNote stores a note, replacing the one with its name.
	PutNote(ctx context.Context, name string, note []byte) error
}

var _ Notes = dirstore.Notes(nil)

// noteName is the name of the note with the agents.
const noteName = "agents on the bus"

// Book records the agents that announce themselves. Notes is required.
type Book struct {
	// Bus is the bus on which workers announce themselves. If nil, there are no workers.
	Bus   bus.Bus
	Notes Notes
	// Hub is sent to the workers. It may be zero.
	Hub protocol.Hub
	// File is the path to which the agents are written as known-agents.json; empty means none.
	File string
	// First are agents known before any announcement, read from such a file.
	First []directory.Known
	// See is called with each sighting of an agent. It may be nil.
	See func(name task.Agent, s directory.Sighting)
	// Logger receives refused announcements. If nil, nothing is logged.
	Logger *slog.Logger

	// strangers, of capacity one, signals a new worker.
	strangers chan struct{}
	// lost queues workers reported by Lost.
	lost chan missing

	mu     sync.Mutex // guards the fields below
	agents map[task.Agent]*known
	loaded bool
	// changed is the callback of Follow; nil before Follow is called.
	changed func(directory.Update)
}

// known is the state of an agent.
type known struct {
	directory.Known
	// stored is the SeenAt in the store; session is set if the agent was seen in this process.
	stored  time.Time
	session bool
	workers map[string]time.Time
}

var _ directory.Source = (*Book)(nil)

// Name implements directory.Source.
func (*Book) Name() string { return "the bus" }

func (b *Book) log() *slog.Logger {
	if b.Logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return b.Logger
}

// Load implements directory.Source.
func (b *Book) Load(ctx context.Context) directory.Update {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.loaded {
		return b.updateLocked()
	}
	b.loaded, b.agents, b.strangers = true, make(map[task.Agent]*known), make(chan struct{}, 1)
	b.lost = make(chan missing, 64)
	var stored []directory.Known
	note, err := b.Notes.Note(ctx, noteName)
	if err == nil && note != nil {
		err = json.Unmarshal(note, &stored)
	}
	for _, k := range slices.Concat(b.First, stored) {
		if old := b.agents[k.Spec.Name]; old == nil || !old.SeenAt.After(k.SeenAt) {
			b.agents[k.Spec.Name] = &known{Known: k, stored: k.SeenAt, workers: make(map[string]time.Time)}
		}
	}
	b.pruneLocked(time.Now())
	u := b.updateLocked()
	if err != nil {
		u.Problems = append(u.Problems, fmt.Errorf("agents that were announced before: %w", err))
	}
	return u
}

// updateLocked returns the current state as an Update.
func (b *Book) updateLocked() directory.Update {
	var u directory.Update
	for _, name := range slices.Sorted(maps.Keys(b.agents)) {
		u.Specs = append(u.Specs, b.agents[name].Spec)
	}
	return u
}

// pruneLocked removes agents that were not seen for protocol.AnnounceTTL; it reports whether it
// removed any.
func (b *Book) pruneLocked(now time.Time) bool {
	before := len(b.agents)
	maps.DeleteFunc(b.agents, func(_ task.Agent, k *known) bool { return now.Sub(k.SeenAt) >= protocol.AnnounceTTL })
	return len(b.agents) < before
}

// Follow implements directory.Source.
func (b *Book) Follow(ctx context.Context, changed func(directory.Update)) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var wg sync.WaitGroup
	defer wg.Wait()
	ready := make(chan struct{}, 1)
	b.follow(changed)
	wg.Go(func() { b.tend(ctx, ready, changed) })
	defer stop()
	if b.Bus == nil {
		b.tellAll()
		<-ctx.Done()
		return nil
	}
	sub := bus.Subscription{At: protocol.Discovery, Ready: func() {
		select {
		case ready <- struct{}{}:
		default:
		}
	}}
	b.tellAll()
	for d, err := range b.Bus.Receive(ctx, sub) {
		if err != nil {
			return fmt.Errorf("announcements: %w", err)
		}
		b.hear(ctx, d, changed)
	}
	return nil
}

// follow registers changed and calls it with the current state.
func (b *Book) follow(changed func(directory.Update)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.changed = changed
	changed(b.updateLocked())
}

// elsewhere is the name of the single worker of an agent on another exchange.
const elsewhere = "elsewhere"

// Announce adds or updates an agent that announced itself on another exchange. The error gives
// the reason of a refusal. An agent whose name is in use must have the same queue and the same
// name on the exchange.
func (b *Book) Announce(ctx context.Context, s *directory.Spec) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.loaded {
		return errors.New("the directory is not open")
	}
	k := b.agents[s.Name]
	switch {
	case k == nil && len(b.agents) >= maxAgents:
		return fmt.Errorf("%d agents are known already", maxAgents)
	case k != nil && (k.Spec.Queue != s.Queue || ownName(&k.Spec) != ownName(s)):
		return fmt.Errorf("in the hub its name is %q, which another agent has", s.Name)
	case k == nil:
		k = &known{workers: make(map[string]time.Time)}
		b.agents[s.Name] = k
	}
	fresh := !k.Spec.Same(s)
	k.Spec, k.SeenAt, k.session = *s, task.MillisOf(time.Now()).Time(), true
	k.workers[elsewhere] = time.Now()
	if fresh {
		b.log().Info("agent has announced itself", "agent", s.Name, "at", s.Where)
		if b.changed != nil {
			b.changed(b.updateLocked())
		}
	}
	if fresh || k.SeenAt.Sub(k.stored) >= seenEvery {
		b.keepLocked(ctx)
	}
	b.tell(k)
	return nil
}

// ownName returns an agent's own name on another exchange.
func ownName(s *directory.Spec) string { return cmp.Or(string(s.RockBot), s.Title) }

// Left records that an agent has left another exchange. The agent remains for a day, because
// messages may wait for it.
func (b *Book) Left(name task.Agent) { b.gone(missing{name, elsewhere}) }

// tend asks workers to announce themselves when the bus is ready, publishes the hub's identity
// periodically, and removes expired workers and agents.
func (b *Book) tend(ctx context.Context, ready <-chan struct{}, changed func(directory.Update)) {
	tick, greet := time.NewTicker(tendEvery), time.NewTicker(protocol.AnnounceInterval)
	defer tick.Stop()
	defer greet.Stop()
	for {
		select {
		case <-ready:
			b.publish(ctx, protocol.Discovery)
			b.publish(ctx, protocol.Inquiry)
		case <-b.strangers:
			b.publish(ctx, protocol.Discovery)
		case m := <-b.lost:
			b.gone(m)
		case <-greet.C:
			b.publish(ctx, protocol.Discovery)
		case now := <-tick.C:
			b.expire(ctx, now, changed)
		case <-ctx.Done():
			return
		}
	}
}

// publish publishes the hub's identity at an address: Discovery reaches all, Inquiry asks
// workers to announce themselves.
func (b *Book) publish(ctx context.Context, to bus.Address) {
	if b.Bus == nil {
		return
	}
	hub := b.Hub
	if hub.Hub == "" {
		hub.Hub = "unnamed"
	}
	body, err := json.Marshal(&hub)
	if err == nil {
		err = b.Bus.Publish(ctx, to, &bus.Envelope{
			ID: uuid.NewString(), Type: protocol.TypeHub, Time: task.MillisOf(time.Now()), Source: "hub/" + hub.Hub, Body: body,
		})
	}
	if err != nil && ctx.Err() == nil {
		b.log().Warn("tell workers of the hub", "at", to, "error", err)
	}
}

// hear handles an announcement or a leave message.
func (b *Book) hear(ctx context.Context, e *bus.Delivery, changed func(directory.Update)) {
	err := protocol.CheckSender(e)
	switch {
	case err != nil:
	case e.Type == protocol.TypeAnnounce:
		err = b.announce(ctx, e, changed)
	case e.Type == protocol.TypeGoodbye:
		err = b.leave(e.Envelope)
	}
	if err != nil {
		b.log().Warn("announcement of an agent is refused", "from", e.Source, "error", err)
	}
}

func (b *Book) announce(ctx context.Context, e *bus.Delivery, changed func(directory.Update)) error {
	var a protocol.Announce
	if err := json.Unmarshal(e.Body, &a); err != nil {
		return fmt.Errorf("body: %w", err)
	}
	if want := "agent/" + string(a.Agent); e.Source != want {
		return fmt.Errorf("source is not %q", want)
	}
	s, err := directory.Announced(a.Agent, a.Card)
	if err != nil {
		return err
	}
	s.Serial, s.Where = a.Serial, "the bus"
	b.mu.Lock()
	defer b.mu.Unlock()
	k := b.agents[s.Name]
	if k == nil && len(b.agents) >= maxAgents {
		return fmt.Errorf("there are %d agents on the bus already", maxAgents)
	}
	if k != nil && e.From != "" && k.Spec.Queue != s.Queue {
		return fmt.Errorf("in the hub its name is %q, and that agent is at the queue %s", s.Name, k.Spec.Queue)
	}
	fresh := k == nil || !k.Spec.Same(&s)
	if k == nil {
		k = &known{workers: make(map[string]time.Time)}
		b.agents[s.Name] = k
	}
	now := task.MillisOf(time.Now()).Time()
	k.Spec, k.SeenAt, k.session = s, now, true
	if _, there := k.workers[a.Worker]; there || len(k.workers) < maxWorkers {
		k.workers[a.Worker] = time.Now()
		if !there {
			defer b.greet()
		}
	}
	if fresh {
		changed(b.updateLocked())
		b.log().Info("agent has announced itself on the bus", "agent", s.Name, "queue", a.Agent)
	}
	if fresh || now.Sub(k.stored) >= seenEvery {
		b.keepLocked(ctx)
	}
	b.tell(k)
	return nil
}

// greet signals that a new worker needs the hub's identity.
func (b *Book) greet() {
	select {
	case b.strangers <- struct{}{}:
	default:
	}
}

// leave removes a worker that has said goodbye. Its agent remains.
func (b *Book) leave(e *bus.Envelope) error {
	var l protocol.Goodbye
	if err := json.Unmarshal(e.Body, &l); err != nil {
		return fmt.Errorf("body: %w", err)
	}
	b.gone(missing{l.Agent, l.Worker})
	return nil
}

// Lost records that a worker's lease has expired. If the worker is still running, it announces
// itself again.
func (b *Book) Lost(name task.Agent, worker string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case b.lost <- missing{name, worker}:
	default: // the worker expires by its silence
	}
}

// missing is a lost worker.
type missing struct {
	agent  task.Agent
	worker string
}

// gone removes a worker. Its agent remains.
func (b *Book) gone(m missing) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if k := b.agents[directory.NameOf(string(m.agent))]; k != nil {
		delete(k.workers, m.worker)
		b.tell(k)
	}
}

// expire removes silent workers, and agents without an announcement for protocol.AnnounceTTL.
func (b *Book) expire(ctx context.Context, now time.Time, changed func(directory.Update)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, k := range b.agents {
		before := len(k.workers)
		maps.DeleteFunc(k.workers, func(_ string, at time.Time) bool { return now.Sub(at) >= silence })
		if len(k.workers) < before {
			b.tell(k)
		}
	}
	if b.pruneLocked(now) {
		changed(b.updateLocked())
		b.keepLocked(ctx)
	}
}

// tell passes a sighting of the agent to See.
func (b *Book) tell(k *known) {
	if b.See != nil {
		b.See(k.Spec.Name, directory.Sighting{At: k.SeenAt, Session: k.session, Workers: len(k.workers)})
	}
}

// tellAll passes the stored sightings of all agents to See.
func (b *Book) tellAll() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, k := range b.agents {
		b.tell(k)
	}
}

// keepLocked stores the agents and writes File.
func (b *Book) keepLocked(ctx context.Context) {
	all := make([]directory.Known, 0, len(b.agents))
	for _, name := range slices.Sorted(maps.Keys(b.agents)) {
		k := b.agents[name]
		k.stored = k.SeenAt
		all = append(all, k.Known)
	}
	note, err := json.Marshal(all)
	if err == nil {
		err = b.Notes.PutNote(ctx, noteName, note)
	}
	if err != nil && ctx.Err() == nil {
		b.log().Error("remember agents on the bus", "error", err)
	}
	if b.File == "" {
		return
	}
	if err := write(b.File, all); err != nil {
		b.log().Error("write agents on the bus", "file", b.File, "error", err)
	}
}
