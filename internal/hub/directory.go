package hub

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/internal/directory"
	"github.com/parley-a2a/parley/internal/directory/announce"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/task"
)

// Listing configures the directory of a hub. The hub sets its Registrar, Fetcher, Sealer and
// Logger. The first source are the agents of the hub itself.
type Listing struct {
	directory.Config
	// Reader reads cards. It is required.
	Reader *CardReader
	// Announced records the agents that announce themselves, and is the last source. If nil,
	// announcements are not read.
	Announced *announce.Source
	// Elsewhere reports whether an agent that was registered with Register is listed by one of
	// the sources instead. If nil, none is.
	Elsewhere func(name task.Agent) bool
	// Executor returns the executor of an agent of the directory; Hub.Executor if nil.
	Executor func(e *directory.Entry) (a2asrv.AgentExecutor, error)
	// Dropped is called with each agent that is removed. It may be nil.
	Dropped func(name task.Agent)
}

func (h *Hub) list(l *Listing) {
	c := l.Config
	h.own.elsewhere = l.Elsewhere
	c.Sources = append([]directory.Source{&h.own}, c.Sources...)
	if l.Announced != nil {
		c.Sources = append(c.Sources, l.Announced)
	}
	r := &registrar{engine: h.engine, make: l.Executor, cardChanged: h.remotes.cardChanged, dropped: l.Dropped, made: make(map[task.Agent]madeExecutor)}
	if r.make == nil {
		r.make = h.Executor
	}
	c.Changed = h.agentChanged
	c.Registrar, c.Fetcher, c.Logger = r, l.Reader, h.parts.Logger
	if h.parts.Box != nil {
		c.Sealer = h.parts.Box
	}
	h.directory = directory.New(c)
	h.own.list = func(u directory.Update) { h.directory.Update(&h.own, u) }
	if l.Announced != nil {
		l.Announced.Presence = h.directory.SetPresence
		if b := h.parts.Bus; b != nil && b.Lost == nil {
			b.Lost = l.Announced.Lost
		}
	}
}

// OpenDirectory reads the sources of the directory and registers their agents. Run does it,
// unless it was done before.
func (h *Hub) OpenDirectory(ctx context.Context) error {
	if h.directory == nil || h.opened {
		return nil
	}
	h.opened = true
	return h.directory.Open(ctx)
}

// Directory returns the directory, or nil without one.
func (h *Hub) Directory() *directory.Directory { return h.directory }

// Healthy reports whether an agent is not known to be down.
func (h *Hub) Healthy(name task.Agent) bool { return h.directory == nil || h.directory.Healthy(name) }

func (h *Hub) ended(o *engine.Outcome) {
	if o.State != task.Completed {
		return
	}
	h.report(answer{agent: o.Agent})
}

// answer is the news that a task has about its agent.
type answer struct {
	agent task.Agent
	// problem is why an answer of the agent could not be read; empty if its task is completed.
	problem string
}

// report passes an answer to the directory.
func (h *Hub) report(a answer) {
	select {
	case h.answered <- a:
	default: // a later one will be seen
	}
}

// runDirectory runs the directory until ctx ends.
func (h *Hub) runDirectory(ctx context.Context) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		for {
			select {
			case a := <-h.answered:
				h.directory.Answered(a.agent, time.Now(), a.problem)
			case <-ctx.Done():
				return
			}
		}
	})
	defer h.parts.Directory.Reader.close()
	return h.directory.Run(ctx)
}

// Register registers an agent of the hub itself. The directory lists it.
func (h *Hub) Register(a engine.Agent) error {
	if err := h.engine.Register(a); err != nil {
		return err
	}
	h.own.add(a)
	return nil
}

// ownAgents are the agents of the hub itself, as a source of the directory: they can be found
// like others, and their names are reserved.
type ownAgents struct {
	// elsewhere reports whether another source lists an agent; nil if none is.
	elsewhere func(task.Agent) bool
	// list applies the state of the source; nil without a directory.
	list func(directory.Update)

	mu     sync.Mutex // guards the fields below
	all    []engine.Agent
	loaded bool
}

var _ directory.Source = (*ownAgents)(nil)

// add adds an agent. If the directory is open, it lists the agent when add returns.
func (o *ownAgents) add(a engine.Agent) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.all = append(o.all, a)
	if o.loaded {
		o.list(o.updateLocked())
	}
}

func (*ownAgents) Name() string { return "this hub" }

func (o *ownAgents) Load(context.Context) directory.Update {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.loaded = true
	return o.updateLocked()
}

func (o *ownAgents) updateLocked() directory.Update {
	var u directory.Update
	for i := range o.all {
		if a := &o.all[i]; o.elsewhere == nil || !o.elsewhere(a.Name) {
			u.Specs = append(u.Specs, ownSpec(a))
		}
	}
	return u
}

// ownSpec returns the entry of an agent of the hub.
func ownSpec(a *engine.Agent) directory.Spec {
	s := directory.Spec{
		Name: a.Name, Title: a.Card.Name, Description: a.Card.Description, Version: a.Card.Version, Local: true,
		InputModes: a.Card.DefaultInputModes, OutputModes: a.Card.DefaultOutputModes,
	}
	for i := range a.Card.Skills {
		k := &a.Card.Skills[i]
		s.Skills = append(s.Skills, directory.Skill{
			ID: k.ID, Name: k.Name, Description: k.Description, Tags: k.Tags, Examples: k.Examples,
			InputModes: k.InputModes, OutputModes: k.OutputModes,
		})
	}
	return s
}

// Follow implements directory.Source. An agent may have been added while the directory was opening.
func (o *ownAgents) Follow(ctx context.Context, changed func(directory.Update)) error {
	o.mu.Lock()
	changed(o.updateLocked())
	o.mu.Unlock()
	<-ctx.Done()
	return nil
}

// FixedAgents is a source of the directory whose agents do not change.
type FixedAgents struct {
	// Source is the name of the source.
	Source string
	Agents directory.Update
}

// Name implements directory.Source.
func (f FixedAgents) Name() string { return f.Source }

// Load implements directory.Source.
func (f FixedAgents) Load(context.Context) directory.Update { return f.Agents }

// Follow implements directory.Source.
func (FixedAgents) Follow(ctx context.Context, _ func(directory.Update)) error {
	<-ctx.Done()
	return nil
}

// registrar registers agents of the directory with the engine.
type registrar struct {
	engine *engine.Engine
	// make creates the executor of an agent.
	make func(e *directory.Entry) (a2asrv.AgentExecutor, error)
	// cardChanged is called when an agent keeps its executor and has a new card.
	cardChanged func(task.Agent)
	// dropped is called with each agent that is removed; nil if there is no need.
	dropped func(task.Agent)

	mu   sync.Mutex // guards the field below
	made map[task.Agent]madeExecutor
}

// madeExecutor is an executor with the properties for which it was created.
type madeExecutor struct {
	spec      directory.Spec
	transport string
	executor  a2asrv.AgentExecutor
}

// Put implements directory.Registrar. An agent keeps its executor, and so its connections, if
// only its card has changed.
func (r *registrar) Put(e *directory.Entry) error {
	x, err := r.executor(e)
	if err != nil {
		return err
	}
	a := engine.Agent{
		Name: e.Name(), Card: e.Card(), Others: e.Others, Executor: x, Serial: e.Spec.Serial, ListedSkills: true,
		Rank: rankOf(e), ByName: e.Spec.Left,
		AdvisoryModes: e.Spec.Model == nil && !e.Spec.Local && e.Transport() == directory.HTTP && !e.Spec.StrictModes,
	}
	if had, ok := r.engine.Agent(e.Name()); ok {
		a.More = had.More
	}
	if err := r.engine.Update(a); !errors.Is(err, engine.ErrNoAgent) {
		return err
	}
	return r.engine.Register(a)
}

// rankOf returns the precedence of an agent of the directory in the choice by skill.
func rankOf(e *directory.Entry) engine.Rank {
	switch {
	case e.Spec.Local || e.Spec.Model != nil:
		return engine.RankOwn
	case e.Registered || e.Sources[0] == announce.SourceName:
		return engine.RankFound
	}
	return engine.RankConfigured
}

func (r *registrar) executor(e *directory.Entry) (a2asrv.AgentExecutor, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	had, ok := r.made[e.Name()]
	if ok && had.spec.Same(&e.Spec) && had.transport == e.Transport() {
		r.cardChanged(e.Name())
		return had.executor, nil
	}
	x, err := r.make(e)
	if err != nil {
		return nil, err
	}
	r.cardChanged(e.Name()) // an agent of the configuration keeps its connection
	r.made[e.Name()] = madeExecutor{e.Spec, e.Transport(), x}
	return x, nil
}

func (r *registrar) Drop(name task.Agent) {
	r.mu.Lock()
	delete(r.made, name)
	r.mu.Unlock()
	if r.dropped != nil {
		r.dropped(name)
	}
	_ = r.engine.Unregister(name) // an agent that cannot be called is not registered
}
