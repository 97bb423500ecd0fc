package server

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/internal/config"
	"github.com/parley-a2a/parley/internal/directory"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/hub"
	"github.com/parley-a2a/parley/internal/registry"
	"github.com/parley-a2a/parley/task"
)

// Exchange is the connection of a hub to an exchange of another system, whose agents perform tasks of
// the hub and call its agents.
type Exchange interface {
	// Executor returns the executor of an agent on the exchange.
	Executor(s *directory.Spec) a2asrv.AgentExecutor
	// Check returns an error if the configuration lets the agents call one that the hub does not have.
	Check(e *engine.Engine) error
	// Services returns the services of the hub on the exchange.
	Services(e *engine.Engine) []hub.Service
	Close() error
}

// NewExchange connects to the exchange of a part. The result is nil if the configuration uses none.
type NewExchange func(o ExchangeOptions) (Exchange, error)

// ExchangeOptions are the options of NewExchange.
type ExchangeOptions struct {
	Config *config.Config
	Logger *slog.Logger
	// Announced adds an agent that has announced itself on the exchange, or removes one that leaves.
	Announced func(s *directory.Spec, leaves bool) error
}

// openExchange connects to the exchange that the configuration names, if a part adds it.
func (h *Hub) openExchange() error {
	if h.cfg.Conformance {
		return nil
	}
	for _, connect := range registry.Added[NewExchange]() {
		x, err := connect(ExchangeOptions{Config: h.cfg, Logger: h.logger, Announced: h.announcedOnExchange})
		if err != nil {
			return err
		}
		if x != nil {
			h.exchange = x
			h.opened(x.Close)
		}
	}
	return nil
}

// announcedOnExchange adds an agent that has announced itself on the exchange. An agent of the
// configuration keeps its configured name.
func (h *Hub) announcedOnExchange(s *directory.Spec, leaves bool) error {
	h.nameAsConfigured(s)
	e, err := h.core.Directory().Get(string(s.Name))
	if err == nil && (e.Spec.Local || e.Spec.Model != nil) {
		return fmt.Errorf("the hub already has an agent %q", s.Name)
	}
	if leaves {
		// What an agent of a file has announced completes its entry, which stays.
		listed := err == nil && len(e.Sources) > 1
		h.busParts.announced.Left(context.Background(), s.Name, listed)
		return nil
	}
	return h.busParts.announced.Announce(context.Background(), s)
}

// nameAsConfigured gives an agent of the exchange its configured name.
func (h *Hub) nameAsConfigured(s *directory.Spec) {
	for i := range h.cfg.Agents {
		if a := &h.cfg.Agents[i]; a.Exchange() != "" && task.Agent(a.Exchange()) == s.Exchange {
			s.Name = task.Agent(a.Name)
		}
	}
}
