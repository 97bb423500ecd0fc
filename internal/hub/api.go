package hub

import (
	"context"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/callgraph"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/front/adminapi"
	"github.com/parley-a2a/parley/internal/hosts"
	"github.com/parley-a2a/parley/internal/inbox/question"
	"github.com/parley-a2a/parley/internal/outbound/card"
	"github.com/parley-a2a/parley/task"
)

// API returns the handler of /api/v1 with the parts that the hub has. The caller may set more
// fields before it mounts the handler.
func (h *Hub) API() *adminapi.Handler {
	p, e := &h.parts, h.engine
	a := &adminapi.Handler{
		Hub: e, Directory: h.directory, Tasks: p.Store, Excerpts: p.Store, Graphs: callgraph.New(p.Store), Trees: e, Logs: e, Reader: e, Policy: e.Policy(), Inbox: p.Inbox,
		Version: h.settings.Version, Started: time.Now(), Logger: p.Logger,
	}
	a.Events, a.Samples = h.events, &h.samples
	a.Names = hosts.New(h.settings.PublicURL, h.settings.AllowedHosts)
	if h.pusher != nil {
		a.Push = &adminapi.Push{Desk: p.Store, Pusher: h.pusher}
	}
	if p.Trust != nil {
		a.Trust = p.Trust
	}
	if p.Notes != nil {
		a.Memory = &adminapi.Memory{Notes: p.Notes, Turns: p.Turns, Sessions: p.Recorder}
	}
	if p.Audit != nil {
		a.Audit, a.AuditLog = apiAuditor{p.Audit}, &adminapi.AuditLog{Log: p.Audit, Dir: p.Audit.Dir()}
	}
	return a
}

// Reach returns a function that lists the interfaces of an agent for cards. base is the address
// of the hub, grpc the address of its gRPC listener.
func (h *Hub) Reach(base, grpc string) func(name task.Agent) []*a2a.AgentInterface {
	return func(name task.Agent) []*a2a.AgentInterface {
		first, _ := h.engine.Agent("")
		return card.Interfaces(card.Endpoint{Base: base, GRPC: grpc, Agent: string(name), Default: first.Name == name})
	}
}

// checks returns the states of the parts that the engine does not know.
func (p *Parts) checks() []engine.Check {
	var all []engine.Check
	if p.Checks != nil {
		all = p.Checks()
	}
	if p.Audit == nil {
		return all
	}
	check := engine.Check{Name: "audit", OK: true}
	if err := p.Audit.Trouble(); err != nil {
		check.OK, check.Detail = false, unwritten(err).Message
	}
	return append(all, check)
}

func (h *Hub) services(ready func()) []Service {
	all := []Service{{Name: "events", Run: h.events.Run, Late: true}, {Name: "ready", Run: func(ctx context.Context) error { return h.awaitReady(ctx, ready) }}}
	all = append(all, Service{Name: "samples", Run: h.samples.Run}, Service{Name: "index of texts", Run: h.indexTexts})
	if h.parts.Inbox != nil {
		all = append(all, Service{Name: "inbox", Run: h.parts.Inbox.Run}, Service{Name: "events of the inbox", Run: h.watchInbox})
	}
	if h.parts.Trust != nil {
		all = append(all, Service{Name: "trust", Run: h.parts.Trust.Run, Late: true})
	}
	if h.directory != nil {
		all = append(all, Service{Name: "directory", Run: h.runDirectory})
	}
	if h.parts.Bus != nil {
		all = append(all, Service{Name: "bus", Run: h.parts.Bus.Run, Late: true})
	}
	return all
}

// awaitReady calls ready when the tasks of an earlier process have been recovered.
func (h *Hub) awaitReady(ctx context.Context, ready func()) error {
	select {
	case <-h.engine.Recovered():
	case <-ctx.Done():
		return nil
	}
	if h.parts.Inbox != nil {
		if err := question.Reconcile(ctx, h.parts.Inbox, h.engine); err != nil && ctx.Err() == nil {
			h.parts.Logger.Warn("questions in the inbox may be settled already", "error", err)
		}
	}
	if ready != nil {
		ready()
	}
	return nil
}
