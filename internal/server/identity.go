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

// identityParts vouch for callers towards agents. The zero value asserts nothing.
type identityParts struct {
	keys     *tokenexchange.Keys // nil if the hub asserts nothing
	asserter *token.Asserter     // nil likewise
	bearers  bool                // whether agents need the tokens of callers
}

// openIdentity loads the keys of assertions, if agents of the configuration receive assertions.
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

// assertFor returns the asserter as an interface, or nil if the hub asserts nothing.
func (i *identityParts) assertFor() auth.Asserter {
	if i.asserter == nil {
		return nil
	}
	return i.asserter
}

// withIdentity makes a remote agent send the identity of the caller, if the configuration says so.
func (h *Hub) withIdentity(a *config.Agent, r *remote.Agent) *remote.Agent {
	if p := a.AssertTo(h.identity.asserter); p != nil {
		r.Identity = p
	}
	return r
}

// program returns the executor of a program. It passes no assertion for callers without
// credentials.
func (h *Hub) program(a *config.Agent) *command.Agent {
	x := a.Executor(h.runs())
	p := a.AssertTo(h.identity.asserter)
	if p == nil {
		return x
	}
	x.Assert = func(ctx context.Context) (string, error) {
		text, err := p.Token(ctx)
		if errors.Is(err, auth.ErrNoIdentity) {
			return "", nil
		}
		return text, err
	}
	return x
}

// keySet returns a function that serves the keys that sign cards and assertions; nil if nothing
// is signed.
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

// issues returns the issuer metadata of the hub; nil if it asserts nothing.
func (h *Hub) issues() ([]byte, error) {
	if h.identity.keys == nil {
		return nil, nil
	}
	issuer := h.cfg.Issuer()
	return token.Metadata(issuer, issuer+keySetPath)
}

// joinKeySets merges key sets, without duplicates.
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
