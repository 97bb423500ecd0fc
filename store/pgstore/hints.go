package pgstore

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/wake"
)

// channel is the channel of notifications, in which members name their changes to each other.
const channel = "parley"

// These are the largest sizes of the text and of the cancel requests of a hint, which PostgreSQL takes if it is shorter
// than 8,000 bytes in all.
const (
	maxHint    = 7000
	maxCancels = 900
)

var (
	qTopics     = prepared("SELECT name, n FROM topics")
	qCountTopic = prepared("INSERT INTO topics AS t VALUES ($1, 1) ON CONFLICT (name) DO UPDATE SET n = t.n + 1")

	// A commit with a notification holds a lock of the whole server until it is durable, so this one does
	// not wait for the disk. A hint that is lost costs no event.
	qNotify = prepared("SELECT set_config('synchronous_commit', 'off', true), pg_notify('" + channel + "', convert_from($1, 'UTF8'))")
)

// hint names changes to other members: keys of tasks, and topics.
type hint struct {
	text []byte
	// cancels names the open tasks with a cancel request, whose holder may have them in no memory. These
	// words are sent even if the text is too long.
	cancels []byte
	// full is set if the text is too long to be sent.
	full   bool
	topics []string
}

func (h *hint) reset() { *h = hint{text: h.text[:0], cancels: h.cancels[:0], topics: h.topics[:0]} }

func (h *hint) empty() bool { return len(h.text) == 0 && len(h.cancels) == 0 && !h.full }

// add adds words, each after a space.
func (h *hint) add(words []byte) {
	if h.full = h.full || len(h.text)+len(words) > maxHint; !h.full {
		h.text = append(h.text, words...)
	}
}

// addCancels adds words for cancel requests. Those that find no place are found by a look at all open tasks.
func (h *hint) addCancels(words []byte) {
	if len(h.cancels)+len(words) <= maxCancels {
		h.cancels = append(h.cancels, words...)
	}
}

// changed adds a task. The word for a cancel request is the negative key.
func (h *hint) changed(key task.Key, cancel bool) {
	var word [16]byte
	h.add(strconv.AppendInt(append(word[:0], ' '), int64(key), 36))
	if cancel {
		h.addCancels(strconv.AppendInt(append(word[:0], ' '), -int64(key), 36))
	}
}

// payload returns the notification of the member with an epoch.
func (h *hint) payload(epoch int64) []byte {
	text := strconv.AppendInt(nil, epoch, 36)
	text = append(text, h.cancels...)
	if h.full {
		return append(text, " *"...)
	}
	return append(text, h.text...)
}

// touched adds a topic to the hint of the transaction.
func (w *writer) touched(topic string) {
	if w.o.Member != nil && !slices.Contains(w.hint.topics, topic) {
		w.hint.topics = append(w.hint.topics, topic)
	}
}

// countTopics counts the changes of topics.
func (w *writer) countTopics() error {
	slices.Sort(w.hint.topics)
	for _, topic := range w.hint.topics {
		w.hint.add([]byte(" @" + topic))
		s := w.conn.start(qCountTopic)
		s.text(topic)
		if err := s.done(); err != nil {
			return err
		}
	}
	return nil
}

// Topics returns how often members have changed the data of each topic.
func (db *DB) Topics(ctx context.Context) (map[string]int64, error) {
	all := make(map[string]int64)
	err := db.read(ctx, func(c *conn) error {
		clear(all)
		s := c.start(qTopics)
		for s.next() {
			all[s.Text()] = s.Int()
		}
		return s.err
	})
	if err != nil {
		return nil, fmt.Errorf("topics: %w", err)
	}
	return all, nil
}

// follower does the work after a commit for which no caller waits: it sends hints, many commits in one, and
// numbers moments that no reader has asked for.
type follower struct {
	hints, numbers side
	wake           wake.Signal
	// keep is the number of moments that the timeline keeps.
	keep int
	// others is cleared while the hub knows that it is the only member.
	others atomic.Bool

	mu    sync.Mutex // guards the fields below
	epoch int64
	hint  hint
	// moments is the number of commits whose moments this hub has not numbered.
	moments int
	closed  bool
}

// committed adds the hint and the moments of a commit.
func (f *follower) committed(epoch int64, h *hint, moments bool) {
	f.mu.Lock()
	if f.others.Load() && !h.empty() {
		f.epoch = epoch
		f.hint.add(h.text)
		f.hint.addCancels(h.cancels)
		f.hint.full = f.hint.full || h.full
	}
	if moments {
		f.moments++
	}
	due := !f.hint.empty() || f.moments >= numberAfter
	f.mu.Unlock()
	if due {
		f.wake.Send()
	}
}

// close ends run once it has sent the last hint.
func (f *follower) close() {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	f.wake.Send()
}

// run follows the commits until close.
func (f *follower) run() {
	defer f.hints.close()
	for closed := false; !closed; {
		<-f.wake
		f.mu.Lock()
		closed = f.closed
		var payload []byte
		if !f.hint.empty() {
			payload = f.hint.payload(f.epoch)
		}
		f.hint.reset()
		number := f.moments >= numberAfter
		if number {
			f.moments = 0
		}
		f.mu.Unlock()
		if payload != nil {
			// Other members look for changes by themselves, though later.
			_ = f.hints.use(f.hints.timeout, func(c *conn) error {
				s := c.start(qNotify)
				s.blob(payload)
				return s.done()
			})
		}
		if number {
			_ = f.number() // a reader, or as many commits, try again
		}
	}
}
