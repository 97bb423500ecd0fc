package server

import (
	"errors"
	"fmt"

	"github.com/parley-a2a/parley/internal/config"
	"github.com/parley-a2a/parley/internal/directory"
	"github.com/parley-a2a/parley/internal/directory/agentfile"
	"github.com/parley-a2a/parley/internal/hub"
	"github.com/parley-a2a/parley/internal/outbound/safedial"
	"github.com/parley-a2a/parley/internal/registry"
)

// listing returns the configuration of the directory; nil with the profile of the conformance
// kits.
func (h *Hub) listing() (*hub.Listing, error) {
	c := &h.cfg.Directory
	policy, err := safedial.ParsePolicy(c.Allow)
	if err != nil {
		return nil, configf("directory.allow: %w", err)
	}
	h.checker.policy = policy
	if h.cfg.Conformance {
		return nil, nil
	}
	reader := hub.NewCardReader(policy)
	verifier, err := newCardVerifier(&h.cfg.Cards, reader.Plain)
	if err != nil {
		return nil, err
	}
	if verifier != nil {
		reader.Verify = verifier.check
	}
	return &hub.Listing{
		Config: directory.Config{
			Sources: h.sources(), Store: h.stores.agents, Policy: registrable(policy),
			Refresh: duration(c.Refresh), Probe: duration(c.Probe), Services: h.cfg.Services(),
		},
		Reader: reader, Announced: h.busParts.announced, Elsewhere: h.elsewhere, Executor: h.remoteExecutor, Dropped: h.broker.Forget,
	}, nil
}

// sources returns the sources of agents, in order of precedence, after the agents of the hub.
func (h *Hub) sources() []directory.Source {
	c := &h.cfg.Directory
	all := []directory.Source{configuredAgents(h.cfg)}
	for _, of := range registry.Added[config.Sources]() {
		all = append(all, of(h.cfg, h.fileOptions(""))...)
	}
	if !c.WriteKnownAgents {
		all = append(all, agentfile.Known(h.fileOptions(c.KnownAgents)))
	}
	return all
}

// registrable returns a check of the addresses of registered agents that names the setting for the
// refused ones.
func registrable(policy *safedial.Policy) func(url string) error {
	return func(url string) error {
		err := policy.CheckURL(url)
		if errors.As(err, new(*safedial.Refusal)) {
			return fmt.Errorf("%w with directory.allow in parley.yaml, or --agents-allow", err)
		}
		return err
	}
}
