package queue

import (
	"sync"

	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/wake"
)

// maxMail limits the items in a mailbox that are not from a queue; their senders repeat them.
// The number of items from a queue is limited by the prefetch of the bus.
const maxMail = 256

// mailbox holds the unread items of a run. Use newMailbox.
type mailbox struct {
	// wake is signalled when an item was added.
	wake wake.Signal

	mu     sync.Mutex // guards the fields below
	items  []any
	others int
}

// put adds an item, or drops it if there are too many.
func (m *mailbox) put(item any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if d, ok := item.(*bus.Delivery); !ok || d.At.Kind == bus.TopicKind {
		if m.others >= maxMail {
			return
		}
		m.others++
	}
	m.items = append(m.items, item)
	m.wake.Send()
}

// pending reports whether there are unread items.
func (m *mailbox) pending() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.items) > 0
}

// take removes and returns all items.
func (m *mailbox) take() []any {
	m.mu.Lock()
	defer m.mu.Unlock()
	items := m.items
	m.items, m.others = nil, 0
	return items
}
