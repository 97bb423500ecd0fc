package queue

import (
	"sync"

	"github.com/parley-a2a/parley/bus"
)

// maxMail is how many things may wait in a mailbox that are not from a queue: they come
// again by themselves. How many from a queue wait is bounded by what the bus hands out.
const maxMail = 256

// mailbox holds what has come for a run. Use newMailbox.
type mailbox struct {
	// wake is signaled when there is something.
	wake chan struct{}

	mu     sync.Mutex // guards the fields below
	items  []any
	others int
}

func newMailbox() *mailbox { return &mailbox{wake: make(chan struct{}, 1)} }

// put adds something, unless there is too much.
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
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// take returns everything that is there.
func (m *mailbox) take() []any {
	m.mu.Lock()
	defer m.mu.Unlock()
	items := m.items
	m.items, m.others = nil, 0
	return items
}
