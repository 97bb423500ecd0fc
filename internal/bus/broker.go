package bus

import (
	"container/heap"
	"log/slog"
	"sync"
	"time"

	"github.com/parley-a2a/parley/internal/wake"
)

// broker holds the queues and topics of all Memory values that are peers.
type broker struct {
	maxBytes int64
	log      *slog.Logger

	mu     sync.Mutex // guards the fields below and all values reachable from them
	queues map[string]*queue
	topics map[string]map[*listener]struct{}
	bytes  int64 // in all queues
	last   int64 // the number of the newest item
}

// queue exists while it holds an item or has a receiver. Each of its items is in one of the
// heaps.
type queue struct {
	ready     items // by seq: items that wait for a receiver
	leased    items // by due: items held by a receiver or refused for a while
	receivers map[*receiver]struct{}
	alarm     *time.Timer // set while leased is not empty
	alarmAt   time.Time   // when alarm fires, not after the first item is due
}

// item is an envelope in a queue.
type item struct {
	data   []byte
	seq    int64
	number int       // deliveries so far
	holder *receiver // nil if no receiver holds it
	due    time.Time // of a leased item: when it becomes ready again
	index  int       // in its heap
}

// receiver is one loop over Receive.
type receiver struct {
	prefetch int // how many items it may hold
	lease    time.Duration
	wake     wake.Signal
	held     map[*item]struct{}
}

// put publishes data.
func (b *broker) put(to Address, data []byte) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if to.Kind == TopicKind {
		b.broadcastLocked(to, data)
		return nil
	}
	if b.bytes+int64(len(data)) > b.maxBytes {
		return ErrFull
	}
	b.addLocked(to.Name, data)
	return nil
}

func (b *broker) addLocked(name string, data []byte) {
	q := b.queueLocked(name)
	b.last++
	b.bytes += int64(len(data))
	q.ready.push(&item{data: data, seq: b.last})
	q.wakeUp()
}

func (b *broker) queueLocked(name string) *queue {
	q := b.queues[name]
	if q == nil {
		q = &queue{
			ready:     items{before: func(a, b *item) bool { return a.seq < b.seq }},
			leased:    items{before: func(a, b *item) bool { return a.due.Before(b.due) }},
			receivers: map[*receiver]struct{}{},
		}
		if b.queues == nil {
			b.queues = map[string]*queue{}
		}
		b.queues[name] = q
	}
	return q
}

// wakeUp wakes the receivers that may hold another item.
func (q *queue) wakeUp() {
	for r := range q.receivers {
		if len(r.held) < r.prefetch {
			r.wake.Send()
		}
	}
}

func (b *broker) addReceiver(name string, r *receiver) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.queueLocked(name).receivers[r] = struct{}{}
}

func (b *broker) removeReceiver(name string, r *receiver) {
	b.mu.Lock()
	defer b.mu.Unlock()
	q := b.queues[name]
	delete(q.receivers, r)
	for it := range r.held {
		b.requeueLocked(name, q, it, 0)
	}
	b.removeIfUnusedLocked(name, q)
}

// next returns a delivery for r, or nil if none is ready or r holds its prefetch. It moves
// undecodable items to Dead.
func (b *broker) next(at Address, r *receiver) *Delivery {
	b.mu.Lock()
	defer b.mu.Unlock()
	q := b.queues[at.Name]
	for len(r.held) < r.prefetch && q.ready.Len() > 0 {
		it := q.ready.pop()
		e, err := Decode(it.data)
		switch {
		case err == nil:
		case at == Dead:
			e = ReadDead(it.data)
		default:
			b.moveToDeadLocked(at.Name, it, err.Error())
			continue
		}
		it.number++
		it.holder = r
		it.due = time.Now().Add(r.lease)
		r.held[it] = struct{}{}
		q.leased.push(it)
		b.armLocked(at.Name, q)
		return &Delivery{Envelope: e, At: at, Number: it.number, Settle: b.settle(at, r, it)}
	}
	return nil
}

// dropLocked removes a leased item.
func (b *broker) dropLocked(q *queue, it *item) {
	q.leased.remove(it)
	b.bytes -= int64(len(it.data))
	it.release()
}

// release takes the item from its holder, which then may hold another one.
func (it *item) release() {
	if it.holder != nil {
		delete(it.holder.held, it)
		it.holder.wake.Send()
		it.holder = nil
	}
}

// requeueLocked makes a leased item ready after some time, or moves it to Dead after MaxDeliveries
// deliveries.
func (b *broker) requeueLocked(name string, q *queue, it *item, after time.Duration) {
	it.release()
	switch {
	case it.number >= MaxDeliveries && name != Dead.Name:
		b.deadLetterLocked(name, q, it, TooOften(Queue(name)))
	case after > 0:
		it.due = time.Now().Add(after)
		q.leased.fix(it)
		b.armLocked(name, q)
	default:
		q.leased.remove(it)
		q.ready.push(it)
		q.wakeUp()
	}
}

// deadLetterLocked moves a leased item to Dead. At Dead it only makes the item ready.
func (b *broker) deadLetterLocked(name string, q *queue, it *item, reason string) {
	if name == Dead.Name {
		b.requeueLocked(name, q, it, 0)
		return
	}
	q.leased.remove(it)
	it.release()
	b.moveToDeadLocked(name, it, reason)
}

// moveToDeadLocked puts an item that is in no heap at Dead, even beyond maxBytes: otherwise the
// item would be lost.
func (b *broker) moveToDeadLocked(name string, it *item, reason string) {
	b.bytes -= int64(len(it.data))
	b.log.Warn("bus: envelope moved to Dead", "queue", name, "reason", shortened(reason))
	b.addLocked(Dead.Name, DeadLetter(it.data, Queue(name), reason))
}

// armLocked sets the alarm for the first leased item, unless the alarm fires early enough.
func (b *broker) armLocked(name string, q *queue) {
	first := q.leased.first()
	if first == nil || q.alarm != nil && !q.alarmAt.After(first.due) {
		return
	}
	q.disarm()
	q.alarmAt = first.due
	q.alarm = time.AfterFunc(time.Until(first.due), func() { b.expire(name, q) })
}

func (q *queue) disarm() {
	if q.alarm != nil {
		q.alarm.Stop()
		q.alarm = nil
	}
}

// expire requeues the leased items whose time has come.
func (b *broker) expire(name string, q *queue) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.queues[name] != q {
		return
	}
	q.disarm()
	now := time.Now()
	for first := q.leased.first(); first != nil && !first.due.After(now); first = q.leased.first() {
		b.requeueLocked(name, q, first, 0)
	}
	b.armLocked(name, q)
}

// removeIfUnusedLocked removes a queue without items and receivers.
func (b *broker) removeIfUnusedLocked(name string, q *queue) {
	if q.ready.Len() == 0 && q.leased.Len() == 0 && len(q.receivers) == 0 {
		q.disarm()
		delete(b.queues, name)
	}
}

func (b *broker) depth(name string) Depth {
	b.mu.Lock()
	defer b.mu.Unlock()
	q := b.queues[name]
	if q == nil {
		return Depth{}
	}
	return Depth{Ready: int64(q.ready.Len()), Held: int64(q.leased.Len()), Receivers: len(q.receivers)}
}

func (b *broker) purge(name string) int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	q := b.queues[name]
	if q == nil {
		return 0
	}
	n := q.ready.Len()
	for q.ready.Len() > 0 {
		b.bytes -= int64(len(q.ready.pop().data))
	}
	b.removeIfUnusedLocked(name, q)
	return int64(n)
}

// items is a heap. The exported methods are for package heap.
type items struct {
	list   []*item
	before func(a, b *item) bool
}

// Len implements heap.Interface.
func (h *items) Len() int { return len(h.list) }

// Less implements heap.Interface.
func (h *items) Less(i, j int) bool { return h.before(h.list[i], h.list[j]) }

// Swap implements heap.Interface.
func (h *items) Swap(i, j int) {
	h.list[i], h.list[j] = h.list[j], h.list[i]
	h.list[i].index, h.list[j].index = i, j
}

// Push implements heap.Interface.
func (h *items) Push(x any) {
	it, _ := x.(*item)
	it.index = len(h.list)
	h.list = append(h.list, it)
}

// Pop implements heap.Interface.
func (h *items) Pop() any {
	last := len(h.list) - 1
	it := h.list[last]
	h.list[last] = nil
	h.list = h.list[:last]
	return it
}

func (h *items) push(it *item)   { heap.Push(h, it) }
func (h *items) fix(it *item)    { heap.Fix(h, it.index) }
func (h *items) remove(it *item) { heap.Remove(h, it.index) }

func (h *items) pop() *item {
	it, _ := heap.Pop(h).(*item)
	return it
}

func (h *items) first() *item {
	if len(h.list) == 0 {
		return nil
	}
	return h.list[0]
}
