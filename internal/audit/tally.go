package audit

import (
	"net/netip"
	"strconv"
	"time"

	"github.com/parley-a2a/parley/internal/peeraddr"
)

const (
	// tallyWindow is the period over which further refusals of a kind are counted.
	tallyWindow = time.Minute
	// maxTallies limits the number of kinds that are counted separately.
	maxTallies = 1024
)

// tally counts refusals. The zero value is ready to use.
type tally struct {
	kinds map[kind]*counted
}

// kind groups refusals that are counted together.
type kind struct {
	action  Action
	actor   string
	network netip.Prefix
	reason  string
}

// counted is the number of refusals of a kind after the first.
type counted struct {
	record Record
	since  time.Time
	n      int
}

// Refused logs the refusal of a request. The first refusal of a kind (an action, a principal, a
// network and a reason) is an entry. Further ones are counted for a minute, and then logged as
// one entry with their number. If there are too many kinds, the rest is counted per action.
// Refused does not wait for the disk.
func (l *Log) Refused(r *Record) {
	if !l.Has(r.Action) {
		return
	}
	l.mu.Lock()
	first := l.tally.countLocked(r, time.Now())
	l.mu.Unlock()
	if first {
		one := *r
		one.Outcome = Refused
		l.Note(&one)
	}
}

// countLocked counts a refusal and reports whether it is the first of its kind.
func (t *tally) countLocked(r *Record, now time.Time) bool {
	k := kind{r.Action, r.Actor.ID, peeraddr.Network(r.Actor.From), clip(r.Reason)}
	if c := t.kinds[k]; c != nil {
		c.n++
		return false
	}
	if len(t.kinds) >= maxTallies {
		k = kind{action: r.Action}
		if c := t.kinds[k]; c != nil {
			c.n++
			return false
		}
		r = &Record{Action: r.Action, Actor: Actor{ID: "others"}, Reason: "too many rejected callers to record each"}
		t.kinds[k] = &counted{record: *r, since: now, n: 1}
		return false
	}
	c := &counted{record: *r, since: now}
	c.record.Detail = nil
	if t.kinds == nil {
		t.kinds = make(map[kind]*counted)
	}
	t.kinds[k] = c
	return true
}

// flushLocked logs the counts whose window is over; all counts if now is zero.
func (t *tally) flushLocked(l *Log, now time.Time) {
	for k, c := range t.kinds {
		if !now.IsZero() && now.Sub(c.since) < tallyWindow || len(l.batch.buf) >= maxBatch {
			continue
		}
		delete(t.kinds, k)
		if c.n == 0 {
			continue
		}
		r := c.record
		r.Outcome = Refused
		r.Detail = []Field{{"further", strconv.Itoa(c.n)}, {"since", c.since.UTC().Format(timeForm)}}
		l.addLocked(&r)
		l.batch.asked++
		l.note.Send()
	}
}
