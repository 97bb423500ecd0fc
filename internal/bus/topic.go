package bus

import "github.com/parley-a2a/parley/internal/wake"

// The limits of a listener's backlog. Envelopes beyond them are lost for this listener.
const (
	maxWaiting      = 4096
	maxWaitingBytes = 8 << 20
)

// listener is one loop over Receive at a topic. It is guarded by broker.mu.
type listener struct {
	waiting [][]byte
	bytes   int
	lost    int64 // since the last warning
	wake    wake.Signal
}

func (b *broker) listen(name string, l *listener) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.topics == nil {
		b.topics = map[string]map[*listener]struct{}{}
	}
	if b.topics[name] == nil {
		b.topics[name] = map[*listener]struct{}{}
	}
	b.topics[name][l] = struct{}{}
}

func (b *broker) unlisten(name string, l *listener) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.topics[name], l)
	if len(b.topics[name]) == 0 {
		delete(b.topics, name)
	}
}

// broadcastLocked queues data for all listeners of a topic. It never waits for one.
func (b *broker) broadcastLocked(to Address, data []byte) {
	for l := range b.topics[to.Name] {
		if len(l.waiting) >= maxWaiting || l.bytes+len(data) > maxWaitingBytes {
			if l.lost == 0 {
				b.log.Warn("bus: a slow reader loses envelopes", "at", to)
			}
			l.lost++
			continue
		}
		if l.lost > 0 {
			b.log.Warn("bus: a slow reader caught up", "at", to, "lost", l.lost)
			l.lost = 0
		}
		l.waiting = append(l.waiting, data)
		l.bytes += len(data)
		l.wake.Send()
	}
}

// nextWaiting returns the oldest waiting envelope, or nil.
func (b *broker) nextWaiting(l *listener) []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(l.waiting) == 0 {
		l.waiting = nil
		return nil
	}
	data := l.waiting[0]
	l.waiting[0] = nil
	l.waiting = l.waiting[1:]
	l.bytes -= len(data)
	return data
}
