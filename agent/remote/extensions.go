package remote

import (
	"context"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/internal/outbound/peer"
)

// extensionsOf returns the URIs of the extensions that the caller has named. They go on as
// they are: which of them are active is for the agent to say. They are those of the record
// of the call, and not those that the agent's card declares, which may not have been read
// again after a restart.
func extensionsOf(ec *a2asrv.ExecutorContext) []string {
	uris, _ := ec.ServiceParams.Get(a2a.SvcParamExtensions)
	return uris
}

// naming returns a context whose calls name the extensions of the caller, and in which the run
// takes in what the peer confirms.
func (r *run) naming(ctx context.Context) context.Context {
	uris := extensionsOf(r.ec)
	if len(uris) == 0 {
		return ctx
	}
	return peer.WithConfirmed(peer.WithExtensions(ctx, uris), r.confirm)
}

// confirms makes the run confirm, before its first event, what the peer has confirmed in an
// earlier execution, or nothing, unless it has confirmed something by then. What an earlier
// message has come to does not count.
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

// confirm takes in what the peer has confirmed, without what the caller has not named.
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
