package console

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/parley-a2a/parley/internal/adminjson"
	"github.com/parley-a2a/parley/internal/sse"
)

const (
	// pastTime bounds the search for the notices about a task, and pastNotices their number.
	pastTime    = 300 * time.Millisecond
	pastNotices = 200
	// pastEarly is how long before its task a notice may have been stored.
	pastEarly = 2 * time.Second
)

// past returns the events of a task beside its log, to its workers and its webhooks, and the
// id of the last event. Only administrators may read it, and the hub drops old events.
func (p *page) past(l *adminjson.TaskLog) (all []mark, last string) {
	if !p.caller.Admin {
		return nil, ""
	}
	owner := cmp.Or(p.r.FormValue("owner"), p.caller.Owner)
	ctx, cancel := context.WithTimeout(p.r.Context(), pastTime)
	defer cancel()
	path := "/api/v1/events?" + query("since", l.Task.CreatedAt.Add(-pastEarly).UTC().Format(time.RFC3339Nano),
		"follow", "false", "task", l.Task.TaskID, "owner", owner, "kind", "worker,webhook")
	_ = p.follow(ctx, path, func(e sse.Event) bool { // the page has the notices so far
		n := notice{id: e.ID}
		if json.Unmarshal(e.Data, &n) == nil && (strings.HasPrefix(n.Type, "worker.") || strings.HasPrefix(n.Type, "webhook.")) {
			all, last = append(all, n.mark()), e.ID
		}
		return len(all) < pastNotices
	})
	return all, last
}

// weave puts notices between the entries of a page by their times, and returns those after the last
// one. A page that does not begin with the first entry has no earlier notices.
func weave(entries []entryView, notices []mark, earlier bool) (after []mark) {
	for _, n := range notices {
		i := 0
		for i < len(entries) && !entries[i].Time.After(*n.At) {
			i++
		}
		switch {
		case i == len(entries):
			after = append(after, n)
		case i > 0 || !earlier:
			entries[i].Before = append(entries[i].Before, n)
		}
	}
	return after
}
