package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/parley-a2a/parley/agent/remote"
	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/auth/token"
	"github.com/parley-a2a/parley/internal/agents/command"
	"github.com/parley-a2a/parley/internal/config"
	"github.com/parley-a2a/parley/internal/secret/tokenexchange"
)

// identityParts are what tells agents whose work they do. The zero value tells nothing.
type identityParts struct {
	keys     *tokenexchange.Keys // nil if the hub asserts nothing
	asserter *token.Asserter     // nil likewise
	bearers  bool                // tokens of callers are needed
}

// openIdentity reads the keys of assertions, if agents of the configuration get some.
func (h *Hub) openIdentity() error {
	uses := func(f func(*config.Identity) bool) bool {
		return slices.ContainsFunc(h.cfg.Agents, func(a config.Agent) bool { return f(&a.Identity) })
	}
	h.identity.bearers = uses((*config.Identity).Bearers)
	if !uses((*config.Identity).Asserts) {
		return nil
	}
	if err := h.cfg.CheckIssuer(); err != nil {
		return configf("%s: %w", source(h.cfg), err)
	}
	keys, err := tokenexchange.Load(h.dir.Join(tokenexchange.FileName))
	if err != nil {
		return err
	}
	h.identity.keys = keys
	h.identity.asserter = &token.Asserter{Issuer: h.cfg.Issuer(), Key: keys.Key, Claims: []string{"org", "roles"}}
	return nil
}

// onward returns what executors let others know callers by; nil if there is nothing.
func (i *identityParts) onward() auth.Onward {
	if i.asserter == nil {
		return nil
	}
	return i.asserter
}

// told lets an agent elsewhere know whose work it does, if it is to.
func (h *Hub) told(a *config.Agent, r *remote.Agent) *remote.Agent {
	if p := a.Onward(h.identity.asserter); p != nil {
		r.Identity = p
	}
	return r
}

// program returns the executor of a program. Callers without credentials have no assertion.
func (h *Hub) program(a *config.Agent) *command.Agent {
	x := a.Executor(h.runs())
	p := a.Onward(h.identity.asserter)
	if p == nil {
		return x
	}
	x.Assert = func(ctx context.Context) (string, error) {
		text, err := p.Token(ctx)
		if errors.Is(err, auth.ErrNobody) {
			return "", nil
		}
		return text, err
	}
	return x
}

// keySet returns what serves the keys that sign cards and assertions; nil if nothing is
// signed.
func (h *Hub) keySet() func() ([]byte, error) {
	cards, keys := h.signing.keySet, h.identity.keys
	switch {
	case keys == nil && cards == nil:
		return nil
	case keys == nil:
		return func() ([]byte, error) { return cards, nil }
	}
	return func() ([]byte, error) {
		set, err := keys.Set()
		if err != nil || cards == nil {
			return set, err
		}
		return joinKeySets(cards, set)
	}
}

// issues returns what the hub says of itself as an issuer; nil if it asserts nothing.
func (h *Hub) issues() ([]byte, error) {
	if h.identity.keys == nil {
		return nil, nil
	}
	issuer := h.cfg.Issuer()
	return token.Metadata(issuer, issuer+keySetPath)
}

// joinKeySets returns the keys of all sets in one, each once.
func joinKeySets(sets ...[]byte) ([]byte, error) {
	var all struct {
		Keys []json.RawMessage `json:"keys"`
	}
	for _, text := range sets {
		one := all
		one.Keys = nil
		if err := json.Unmarshal(text, &one); err != nil {
			return nil, fmt.Errorf("key set: %w", err)
		}
		for _, k := range one.Keys {
			if !slices.ContainsFunc(all.Keys, func(have json.RawMessage) bool { return bytes.Equal(have, k) }) {
				all.Keys = append(all.Keys, k)
			}
		}
	}
	return json.Marshal(&all)
}
