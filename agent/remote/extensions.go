package remote

import (
	"context"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/internal/outbound/card"
	"github.com/parley-a2a/parley/internal/outbound/peer"
)

// extensionsOf returns the URIs of the extensions that the caller has named. They are passed on
// unchanged: the agent decides which of them are active. The URIs are those of the call's
// record, and not those of the agent's card, which may not have been read again after a
// restart. card.TaskTree is not passed on: the hub itself activates it where it reads a tree, and
// the tasks that a run reads would lack their artifacts.
func extensionsOf(ec *a2asrv.ExecutorContext) []string {
	uris, _ := ec.ServiceParams.Get(a2a.SvcParamExtensions)
	if slices.Contains(uris, card.TaskTree) {
		uris = slices.DeleteFunc(slices.Clone(uris), func(uri string) bool { return uri == card.TaskTree })
	}
	return uris
}

// naming returns a context whose calls name the caller's extensions, and through which the run
// receives the extensions that the peer confirms.
func (r *run) naming(ctx context.Context) context.Context {
	uris := extensionsOf(r.ec)
	if len(uris) == 0 {
		return ctx
	}
	return peer.WithConfirmed(peer.WithExtensions(ctx, uris), r.confirm)
}

// confirms makes the run confirm extensions before its first event: those that the peer has
// confirmed by then, else those of an earlier execution, else none. Confirmations for an
// earlier message do not count.
func (r *run) confirms() {
	if r.h.Key != r.call.Key {
		r.h.Confirmed = ""
	}
	if len(extensionsOf(r.ec)) == 0 {
		return
	}
	yield := r.yield
	r.yield = func(ev a2a.Event, err error) bool {
		if !r.confirmed {
			r.confirm(strings.Split(r.h.Confirmed, ","))
		}
		return yield(ev, err)
	}
}

// maxKept is the largest list of extensions that goes into a checkpoint, in bytes.
const maxKept = 16 << 10

// confirm records the extensions that the peer has confirmed, without those that the caller has
// not named.
func (r *run) confirm(uris []string) {
	named := extensionsOf(r.ec)
	var active []string
	for _, uri := range uris {
		if slices.Contains(named, uri) {
			active = append(active, uri)
		}
	}
	r.confirmed = true
	r.call.Confirm(active)
	list := strings.Join(active, ",")
	if len(list) > maxKept {
		list = ""
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.h.Confirmed = list
}
