package auth

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// RoleBus begins the role of a key that is for workers of an agent at the hub's own bus:
// "bus:" and the name of the agent there, as it is spelled. Such a key has no other role. It
// opens what package embedded says, and nothing else: no caller is authenticated by it, and
// it does not turn a Keyring on.
const RoleBus = "bus:"

// BusAgent returns the agent whose workers a key is for; ok is false if it is for callers.
func (k *Key) BusAgent() (name string, ok bool) {
	if len(k.Principal.Roles) != 1 {
		return "", false
	}
	return strings.CutPrefix(k.Principal.Roles[0], RoleBus)
}

// maxBusAgent is the length of the longest name of an agent that has room for the id of a
// worker in an address of the bus.
const maxBusAgent = 170

// checkBusRole refuses a role for workers that is not alone, or names no agent.
func (p *Principal) checkBusRole() error {
	i := slices.IndexFunc(p.Roles, func(role string) bool { return strings.HasPrefix(role, RoleBus) })
	if i < 0 {
		return nil
	}
	if len(p.Roles) > 1 {
		return fmt.Errorf("a key with the role %s is for workers of that agent alone, and has no other role", p.Roles[i])
	}
	if p.Org != "" {
		return errors.New("a key for workers has no owner: it makes no tasks")
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

// Worker returns the key with a text, if it is one for workers that is good. Failed attempts
// are logged and delayed as those of callers are; from is the address, "host:port".
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
			a.flaw = "a key for callers was shown at the bus"
		}
	}
	return Key{}, r.refuse(ctx, &Request{RemoteAddr: from}, a)
}

// misplaced refuses a key for workers where callers need none: who shows it wants to be
// somebody.
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
