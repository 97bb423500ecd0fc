package auth

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// RoleBus is the prefix of the role of a key for workers at the hub's own bus: "bus:" and the
// agent's name on the bus, in its exact spelling. Such a key has no other role. Package
// embedded defines the addresses that it opens. It authenticates no callers and does not turn a
// Keyring on.
const RoleBus = "bus:"

// BusAgent returns the agent for whose workers the key is; ok is false if it is for callers.
func (k *Key) BusAgent() (name string, ok bool) {
	if len(k.Principal.Roles) != 1 {
		return "", false
	}
	return strings.CutPrefix(k.Principal.Roles[0], RoleBus)
}

// maxBusAgent is the maximum length of an agent's name that leaves room for the id of a worker
// in an address of the bus.
const maxBusAgent = 170

// checkBusRole returns an error for a role for workers that names no agent or is not the only
// role.
func (p *Principal) checkBusRole() error {
	i := slices.IndexFunc(p.Roles, func(role string) bool { return strings.HasPrefix(role, RoleBus) })
	if i < 0 {
		return nil
	}
	if len(p.Roles) > 1 {
		return fmt.Errorf("a key with the role %s is only for workers of that agent and cannot have another role", p.Roles[i])
	}
	if p.Org != "" {
		return errors.New("a worker's key cannot have an owner: it creates no tasks")
	}
	name := strings.TrimPrefix(p.Roles[i], RoleBus)
	if len(name) > maxBusAgent {
		return fmt.Errorf("the name of an agent on the bus has over %d bytes", maxBusAgent)
	}
	for word := range strings.SplitSeq(name, ".") {
		if word == "" || !plain(word) {
			return fmt.Errorf("the role %s must name an agent on the bus: letters, digits, - and _, and dots between them", p.Roles[i])
		}
	}
	return nil
}

// Worker returns the valid key for workers with a text. Failed attempts are logged and delayed
// like those of callers; from is the address, "host:port".
func (r *Keyring) Worker(ctx context.Context, text, from string) (Key, error) {
	ks, err := r.keys()
	if err != nil {
		return Key{}, err
	}
	a := attempt{flaw: flawUnknown, hint: hintOf(text)}
	if len(text) > maxCredential {
		a.flaw = flawLong
	} else if k := ks.byHash[HashKey(text)]; k != nil {
		if a.flaw = k.flaw(time.Now()); a.flaw == "" {
			if _, ok := k.BusAgent(); ok {
				return *k, nil
			}
			a.flaw = "a key for callers was presented to the bus"
		}
	}
	return Key{}, r.refuse(ctx, &Request{RemoteAddr: from}, a)
}

// misplaced refuses a key for workers on a request to a Keyring that is off: its sender meant
// to authenticate.
func (r *Keyring) misplaced(ctx context.Context, ks *keys, req *Request) error {
	if len(ks.all) == 0 {
		return nil
	}
	if text, flaw := credential(req); flaw == "" {
		if k := ks.byHash[HashKey(text)]; k != nil {
			return r.refuse(ctx, req, attempt{flaw: flawBus, hint: hintOf(text)})
		}
	}
	return nil
}
