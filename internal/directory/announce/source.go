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

	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/bus/protocol"
	"github.com/parley-a2a/parley/internal/directory"
	"github.com/parley-a2a/parley/internal/directory/dirstore"
	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/wake"
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

// SourceName is the name of the source in the entries of the directory.
const SourceName = "the bus"

// noteName is the name of the note with the agents.
const noteName = "agents on the bus"

// Source records the agents that announce themselves. Notes is required.
type Source struct {
	// Bus is the bus on which workers announce themselves. If nil, there are no workers.
	Bus   bus.Bus
	Notes Notes
	// Hub is sent to the workers. It may be zero.
	Hub protocol.Hub
	// File is the path to which the agents are written as known-agents.json; empty means none.
	File string
	// First are agents known before any announcement, read from such a file.
	First []directory.Known
	// Presence is called with each change of the presence of an agent. It may be nil.
	Presence func(name task.Agent, s directory.Presence)
	// Signer signs messages to workers. If nil, none are sent.
	Signer *bus.Signer
	// Unused returns why the hub gives the workers at the queue of an announced agent no tasks;
	// empty if it does. It may be nil.
	Unused func(s *directory.Spec) string
	// Logger receives refused announcements. If nil, nothing is logged.
	Logger *slog.Logger

	// newWorkers signals that a new worker needs the hub's identity.
	newWorkers wake.Signal
	// inquire signals that the workers are to announce themselves.
	inquire wake.Signal
	// lostWorkers queues workers reported by Lost.
	lostWorkers chan lostWorker

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

var _ directory.Source = (*Source)(nil)

// Name implements directory.Source.
func (*Source) Name() string { return SourceName }

func (src *Source) log() *slog.Logger {
	if src.Logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return src.Logger
}

// Load implements directory.Source.
func (src *Source) Load(ctx context.Context) directory.Update {
	src.mu.Lock()
	defer src.mu.Unlock()
	if src.loaded {
		return src.updateLocked()
	}
	src.loaded, src.agents, src.newWorkers = true, make(map[task.Agent]*known), wake.New()
	src.inquire = wake.New()
	src.lostWorkers = make(chan lostWorker, 64)
	var stored []directory.Known
	note, err := src.Notes.Note(ctx, noteName)
	if err == nil && note != nil {
		err = json.Unmarshal(note, &stored)
	}
	for _, k := range slices.Concat(src.First, stored) {
		if old := src.agents[k.Spec.Name]; old == nil || !old.SeenAt.After(k.SeenAt) {
			src.agents[k.Spec.Name] = &known{Known: k, stored: k.SeenAt, workers: make(map[string]time.Time)}
		}
	}
	src.pruneLocked(time.Now())
	u := src.updateLocked()
	if err != nil {
		u.Problems = append(u.Problems, fmt.Errorf("agents that were announced before: %w", err))
	}
	return u
}

// updateLocked returns the current state as an Update.
func (src *Source) updateLocked() directory.Update {
	var u directory.Update
	for _, name := range slices.Sorted(maps.Keys(src.agents)) {
		u.Specs = append(u.Specs, src.agents[name].Spec)
	}
	return u
}

// pruneLocked removes agents that were not seen for protocol.AnnounceTTL; it reports whether it
// removed any.
func (src *Source) pruneLocked(now time.Time) bool {
	before := len(src.agents)
	maps.DeleteFunc(src.agents, func(_ task.Agent, k *known) bool { return now.Sub(k.SeenAt) >= protocol.AnnounceTTL })
	return len(src.agents) < before
}

// Follow implements directory.Source.
func (src *Source) Follow(ctx context.Context, changed func(directory.Update)) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var wg sync.WaitGroup
	defer wg.Wait()
	ready := wake.New()
	src.follow(changed)
	wg.Go(func() { src.tend(ctx, ready, changed) })
	defer stop()
	if src.Bus == nil {
		src.reportAll()
		<-ctx.Done()
		return nil
	}
	sub := bus.Subscription{At: protocol.Discovery, Ready: ready.Send, Unreadable: func(e *bus.Envelope) { src.denyVersion(ctx, e) }}
	src.reportAll()
	for d, err := range src.Bus.Receive(ctx, sub) {
		if err != nil {
			return fmt.Errorf("announcements: %w", err)
		}
		src.receive(ctx, d, changed)
	}
	return nil
}

// follow registers changed and calls it with the current state.
func (src *Source) follow(changed func(directory.Update)) {
	src.mu.Lock()
	defer src.mu.Unlock()
	src.changed = changed
	changed(src.updateLocked())
}

// otherExchange is the name of the single worker of an agent on another exchange.
const otherExchange = "elsewhere"

// Announce adds or updates an agent that announced itself on another exchange. The error gives
// the reason for a refusal. An agent whose name is in use must have the same queue and the same
// name on the exchange.
func (src *Source) Announce(ctx context.Context, s *directory.Spec) error {
	src.mu.Lock()
	defer src.mu.Unlock()
	if !src.loaded {
		return errors.New("the directory is not open")
	}
	k := src.agents[s.Name]
	switch {
	case k == nil && len(src.agents) >= maxAgents:
		return fmt.Errorf("the directory is full: it has %d agents", maxAgents)
	case k != nil && (k.Spec.Queue != s.Queue || ownName(&k.Spec) != ownName(s)):
		return fmt.Errorf("in the hub its name is %q, which another agent has", s.Name)
	case k == nil:
		k = &known{workers: make(map[string]time.Time)}
		src.agents[s.Name] = k
	}
	fresh := !k.Spec.Same(s)
	k.Spec, k.SeenAt, k.session = *s, task.MillisOf(time.Now()).Time(), true
	k.workers[otherExchange] = time.Now()
	if fresh && src.changed != nil {
		src.changed(src.updateLocked())
	}
	src.report(k)
	if fresh {
		src.log().Info("agent has announced itself", "agent", s.Name, "at", s.Where)
	}
	if fresh || k.SeenAt.Sub(k.stored) >= seenEvery {
		src.storeLocked(ctx)
	}
	return nil
}

// ownName returns an agent's own name on another exchange.
func ownName(s *directory.Spec) string { return cmp.Or(string(s.Exchange), s.Title) }

// Left records that an agent has left another exchange. Unless keep is set, the source does not
// name it any more.
func (src *Source) Left(ctx context.Context, name task.Agent, keep bool) {
	src.mu.Lock()
	defer src.mu.Unlock()
	k := src.agents[name]
	if k == nil {
		return
	}
	delete(k.workers, otherExchange)
	src.report(k)
	if keep {
		return
	}
	delete(src.agents, name)
	if src.changed != nil {
		src.changed(src.updateLocked())
	}
	src.storeLocked(ctx)
}

// tend asks workers to announce themselves when the bus is ready, publishes the hub's identity
// periodically, and removes expired workers and agents.
func (src *Source) tend(ctx context.Context, ready <-chan struct{}, changed func(directory.Update)) {
	tick, greet := time.NewTicker(tendEvery), time.NewTicker(protocol.AnnounceInterval)
	defer tick.Stop()
	defer greet.Stop()
	for {
		select {
		case <-ready:
			src.publish(ctx, protocol.Discovery)
			src.publish(ctx, protocol.Inquiry)
		case <-src.newWorkers:
			src.publish(ctx, protocol.Discovery)
		case <-src.inquire:
			src.publish(ctx, protocol.Inquiry)
		case m := <-src.lostWorkers:
			src.removeWorker(m)
		case <-greet.C:
			src.publish(ctx, protocol.Discovery)
		case now := <-tick.C:
			src.expire(ctx, now, changed)
		case <-ctx.Done():
			return
		}
	}
}

// publish publishes the hub's identity at an address: Discovery reaches all, Inquiry asks
// workers to announce themselves.
func (src *Source) publish(ctx context.Context, to bus.Address) {
	if src.Bus == nil {
		return
	}
	hub := src.Hub
	if hub.Hub == "" {
		hub.Hub = "unnamed"
	}
	body, err := json.Marshal(&hub)
	if err == nil {
		err = src.Bus.Publish(ctx, to, &bus.Envelope{
			ID: uuid.NewString(), Type: protocol.TypeHub, Time: task.MillisOf(time.Now()), Source: "hub/" + hub.Hub, Body: body,
		})
	}
	if err != nil && ctx.Err() == nil {
		src.log().Warn("announce the hub to workers", "at", to, "error", err)
	}
}

// receive handles an announcement or a leave message.
func (src *Source) receive(ctx context.Context, e *bus.Delivery, changed func(directory.Update)) {
	err := protocol.CheckSender(e)
	switch {
	case err != nil:
	case e.Type == protocol.TypeAnnounce:
		err = src.announce(ctx, e, changed)
	case e.Type == protocol.TypeGoodbye:
		err = src.leave(ctx, e.Envelope, changed)
	}
	if err != nil {
		src.log().Warn("announcement of an agent rejected", "from", e.Source, "error", err)
	}
}

func (src *Source) announce(ctx context.Context, e *bus.Delivery, changed func(directory.Update)) error {
	var a protocol.Announce
	if err := protocol.Decode(e.Body, &a); err != nil {
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
	first := false // the worker is new
	defer func() {
		if first {
			if src.Unused != nil {
				if reason := src.Unused(&s); reason != "" {
					src.deny(ctx, a.Worker, reason)
				}
			}
		}
	}()
	src.mu.Lock()
	defer src.mu.Unlock()
	k := src.agents[s.Name]
	if k == nil && len(src.agents) >= maxAgents {
		return fmt.Errorf("there are %d agents on the bus already", maxAgents)
	}
	if k != nil && e.From != "" && k.Spec.Queue != s.Queue {
		return fmt.Errorf("in the hub its name is %q, and that agent is at the queue %s", s.Name, k.Spec.Queue)
	}
	fresh := k == nil || !k.Spec.Same(&s)
	if k == nil {
		k = &known{workers: make(map[string]time.Time)}
		src.agents[s.Name] = k
	}
	now := task.MillisOf(time.Now()).Time()
	k.Spec, k.SeenAt, k.session = s, now, true
	if _, there := k.workers[a.Worker]; there || len(k.workers) < maxWorkers {
		k.workers[a.Worker] = time.Now()
		if first = !there; first {
			defer src.newWorkers.Send()
		}
	}
	if fresh {
		changed(src.updateLocked())
	}
	src.report(k)
	if fresh { // the log follows the directory, which now has the agent with its worker
		src.log().Info("agent has announced itself on the bus", "agent", s.Name, "queue", a.Agent)
	}
	if fresh || now.Sub(k.stored) >= seenEvery {
		src.storeLocked(ctx)
	}
	return nil
}

// denyVersion notifies the worker that has sent an announcement of another version. The worker cannot
// read the reason, but logs the version of its envelope.
func (src *Source) denyVersion(ctx context.Context, e *bus.Envelope) {
	var a protocol.Announce
	if e.Version == bus.Version || e.Type != protocol.TypeAnnounce || protocol.Decode(e.Body, &a) != nil {
		return
	}
	src.deny(ctx, a.Worker, fmt.Sprintf("version %d of the wire contract is required", bus.Version))
}

// deny notifies a worker that the hub gives it no tasks.
func (src *Source) deny(ctx context.Context, worker, reason string) {
	at := protocol.WorkerAt(worker)
	if src.Signer == nil || at.Check() != nil {
		return
	}
	e := &bus.Envelope{
		ID: uuid.NewString(), Type: protocol.TypeDeny, Time: task.MillisOf(time.Now()), Source: "hub/" + src.Signer.Hub(),
		Destination: "worker/" + worker,
	}
	var err error
	if e.Body, err = json.Marshal(&protocol.Deny{Reason: reason}); err == nil {
		err = src.Signer.Sign(e)
	}
	if err == nil {
		err = src.Bus.Publish(ctx, at, e)
	}
	if err != nil && ctx.Err() == nil {
		src.log().Warn("notify a worker without tasks", "worker", worker, "error", err)
	}
}

// leave removes a worker that has said goodbye. Its agent has left with the last of them. A worker that is
// not known, because the hub has started or its lease has expired, may not be the last; the others are asked
// to announce themselves.
func (src *Source) leave(ctx context.Context, e *bus.Envelope, changed func(directory.Update)) error {
	var l protocol.Goodbye
	if err := protocol.Decode(e.Body, &l); err != nil {
		return fmt.Errorf("body: %w", err)
	}
	if want := "agent/" + string(l.Agent); e.Source != want {
		return fmt.Errorf("source is not %q", want)
	}
	src.mu.Lock()
	defer src.mu.Unlock()
	k := src.agents[directory.NameOf(string(l.Agent))]
	if k == nil || k.Spec.Queue != l.Agent {
		return nil
	}
	_, known := k.workers[l.Worker]
	if delete(k.workers, l.Worker); len(k.workers) == 0 {
		src.inquire.Send()
	}
	if known && len(k.workers) == 0 && !k.Spec.Left {
		k.Spec.Left = true
		changed(src.updateLocked())
		src.storeLocked(ctx)
		src.report(k)
		src.log().Info("agent has left the bus with its last worker", "agent", k.Spec.Name, "queue", l.Agent)
		return nil
	}
	src.report(k)
	return nil
}

// Lost records that a worker's lease has expired. If the worker is still running, it announces
// itself again.
func (src *Source) Lost(name task.Agent, worker string) {
	src.mu.Lock()
	defer src.mu.Unlock()
	select {
	case src.lostWorkers <- lostWorker{name, worker}:
	default: // the worker expires by its silence
	}
}

// lostWorker is a lost worker.
type lostWorker struct {
	agent  task.Agent
	worker string
}

// removeWorker removes a worker. Its agent remains.
func (src *Source) removeWorker(m lostWorker) {
	src.mu.Lock()
	defer src.mu.Unlock()
	if k := src.agents[directory.NameOf(string(m.agent))]; k != nil {
		delete(k.workers, m.worker)
		src.report(k)
	}
}

// expire removes silent workers, and agents without an announcement for protocol.AnnounceTTL.
func (src *Source) expire(ctx context.Context, now time.Time, changed func(directory.Update)) {
	src.mu.Lock()
	defer src.mu.Unlock()
	for _, k := range src.agents {
		before := len(k.workers)
		maps.DeleteFunc(k.workers, func(_ string, at time.Time) bool { return now.Sub(at) >= silence })
		if len(k.workers) < before {
			src.report(k)
		}
	}
	if src.pruneLocked(now) {
		changed(src.updateLocked())
		src.storeLocked(ctx)
	}
}

// report passes the presence of the agent to Presence.
func (src *Source) report(k *known) {
	if src.Presence != nil {
		src.Presence(k.Spec.Name, directory.Presence{At: k.SeenAt, Session: k.session, Workers: len(k.workers)})
	}
}

// reportAll passes the stored presence of all agents to Presence.
func (src *Source) reportAll() {
	src.mu.Lock()
	defer src.mu.Unlock()
	for _, k := range src.agents {
		src.report(k)
	}
}

func (src *Source) storeLocked(ctx context.Context) {
	all := make([]directory.Known, 0, len(src.agents))
	for _, name := range slices.Sorted(maps.Keys(src.agents)) {
		k := src.agents[name]
		k.stored = k.SeenAt
		all = append(all, k.Known)
	}
	note, err := json.Marshal(all)
	if err == nil {
		err = src.Notes.PutNote(ctx, noteName, note)
	}
	if err != nil && ctx.Err() == nil {
		src.log().Error("remember agents on the bus", "error", err)
	}
	if src.File == "" {
		return
	}
	here := slices.DeleteFunc(all, func(k directory.Known) bool { return k.Spec.Left })
	if err := write(src.File, here); err != nil {
		src.log().Error("write agents on the bus", "file", src.File, "error", err)
	}
}
