package server

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/parley-a2a/parley/internal/agents/model"
	"github.com/parley-a2a/parley/internal/agents/queue"
	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/bus/protocol"
	"github.com/parley-a2a/parley/internal/config"
	"github.com/parley-a2a/parley/internal/directory"
	"github.com/parley-a2a/parley/internal/directory/agentfile"
	"github.com/parley-a2a/parley/internal/directory/announce"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/front/adminapi"
	"github.com/parley-a2a/parley/internal/front/livefeed"
	"github.com/parley-a2a/parley/internal/hub"
	"github.com/parley-a2a/parley/internal/secret/hubkey"
)

// busParts are the parts of a hub at a bus. Without a bus they are nil.
type busParts struct {
	bus        bus.Bus
	contact    func() error           // writes bus.json if that was not possible; nil without a broker
	drop       func(key string) error // disconnects the clients with a key; nil if there are none
	where      string                 // for people, without credentials
	kind       string                 // of the broker
	address    string                 // without credentials; empty if it has none
	dispatcher *queue.Dispatcher
	announced  *announce.Source
	dead       *queue.DeadLetters
	chat       *livefeed.View
}

// openBus opens the bus and creates the parts that use it, unless the bus is off.
func (h *Hub) openBus(ctx context.Context) error {
	c, p := &h.cfg.Bus, &h.busParts
	if h.cfg.Conformance || c.URL == config.BusOff {
		return nil
	}
	signer, err := hubkey.Load(h.dir.Join(hubkey.FileName))
	if err != nil {
		return err
	}
	if err := h.connect(ctx, signer.HubKey()); err != nil || p.bus == nil {
		return err
	}
	p.dispatcher = &queue.Dispatcher{
		Bus: p.bus, ID: signer.Hub(), Signer: signer, MaxWait: duration(c.MaxWait), Lease: duration(c.Lease),
		Logger: h.logger,
	}
	if err := h.shareHubKey(ctx, signer.Hub()); err != nil {
		return err
	}
	p.dead = &queue.DeadLetters{Bus: p.bus, Store: h.stores.letters, Signer: signer, Undelivered: p.dispatcher.Undeliverable, Logger: h.logger}
	err = h.openAnnounced(&announce.Source{Bus: p.bus, Signer: signer, Hub: protocol.NewHub(signer.HubKey())})
	if err != nil {
		return err
	}
	if !c.NoLiveView {
		p.chat = &livefeed.View{Bus: p.bus, Hub: signer.Hub(), Logger: h.logger}
	}
	return nil
}

// unused returns why workers at the queue of an announced agent get no tasks; empty if they do.
func (h *Hub) unused(s *directory.Spec) string {
	d := h.core.Directory()
	if d == nil {
		return ""
	}
	e, err := d.Get(string(s.Name))
	if err != nil || e.Spec.Queue == s.Queue {
		return ""
	}
	return fmt.Sprintf("%s has another agent %q: give the worker another name", cmp.Or(e.Spec.Where, "the hub"), s.Name)
}

// namesCheck reports names of the hub's own agents that further agents have.
func (h *Hub) namesCheck() engine.Check {
	c := engine.Check{Name: "names", OK: true}
	if d := h.core.Directory(); d != nil {
		var all []string
		for _, e := range d.List() {
			if e.Spec.Local && len(e.Problems) > 0 {
				all = append(all, fmt.Sprintf("agent %q: %s", e.Name(), strings.Join(e.Problems, "; ")))
			}
		}
		c.Detail = strings.Join(all, "; ")
	}
	return c
}

// openAnnounced connects b to the stored agents and to the file of known agents.
func (h *Hub) openAnnounced(b *announce.Source) (err error) {
	b.Notes, b.Logger, b.Unused = h.stores.agents, h.logger, h.unused
	h.busParts.announced = b
	if !h.cfg.Directory.WriteKnownAgents {
		return nil
	}
	if b.File, b.First, err = agentfile.ReadKnown(h.fileOptions(h.cfg.Directory.KnownAgents)); err != nil {
		return fmt.Errorf("known agents: %w", err)
	}
	for i := range b.First {
		h.nameAsConfigured(&b.First[i].Spec)
	}
	b.File, err = filepath.Abs(b.File)
	return err
}

// fileOptions returns the paths at which a file that names agents may be.
func (h *Hub) fileOptions(flag string) agentfile.Options {
	return agentfile.Options{Watcher: &h.files, Flag: flag, Data: h.dir.Path(), Exchange: h.exchange != nil, ModelExtensions: model.Extensions()}
}

// busServices returns the hub's services on the bus. The bus delivers reports of workers until
// no task runs any more.
func (h *Hub) busServices() []hub.Service {
	p := &h.busParts
	if p.bus == nil {
		return nil
	}
	all := []hub.Service{
		{Name: "dead letters", Run: h.recovered(p.dead.Run)}, // only then can it fail tasks
	}
	if p.contact != nil {
		all = append(all, hub.Service{Name: "bus.json", Run: h.writeContact})
	}
	if p.chat != nil {
		all = append(all, hub.Service{Name: "live view", Run: p.chat.Run, Late: true})
	}
	return all
}

// recovered returns a function that waits for the recovery of earlier tasks and then calls run.
func (h *Hub) recovered(run func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		select {
		case <-h.engine.Recovered():
		case <-ctx.Done():
			return nil
		}
		return run(ctx)
	}
}

// status returns the bus for administrators, or nil without a bus.
func (p *busParts) status() *adminapi.Bus {
	if p.bus == nil {
		return nil
	}
	return &adminapi.Bus{Bus: p.bus, Kind: p.kind, Address: p.address, Backlogs: p.dispatcher.Backlogs}
}

// checks returns the state of the bus. While the broker is unreachable, the hub still accepts
// messages and puts them into their queues later.
func (p *busParts) checks() []engine.Check {
	m, ok := p.bus.(bus.Monitor)
	if !ok {
		return nil
	}
	check, c := engine.Check{Name: "bus", OK: true}, m.Connection()
	switch {
	case c.Up:
	case c.Since.IsZero():
		check.Detail = "not connected yet; messages for agents at queues wait in the hub"
	default:
		check.Detail = fmt.Sprintf("not connected since %s: %s; messages for agents at queues wait in the hub",
			c.Since.UTC().Format(time.RFC3339), cmp.Or(c.Reason, "the reason is unknown"))
	}
	return []engine.Check{check}
}
