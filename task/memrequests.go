package task

import (
	"bytes"
	"context"
	"fmt"
)

var _ Requests = (*Memory)(nil)

// requestName is what a caller calls a request by.
type requestName struct {
	owner Owner
	agent Agent
	key   string
}

// bookedRequest is a request of a memory store. at is its place in the order of time,
// whose key is a number of its own.
type bookedRequest struct {
	fingerprint []byte
	at          Cursor
	task        Key
	version     int64
}

// requestBook holds the requests of a memory store. The zero requestBook is empty.
type requestBook struct {
	named map[requestName]bookedRequest
	// tasks are the requests of each task that has some.
	tasks map[Key]map[requestName]bool
	// names are the requests by their numbers in ages.
	names map[Key]requestName
	ages  order
	last  Key
}

// used reports whether the request of c has the key of an earlier one.
func (b *requestBook) used(c *Change) bool {
	had, there := b.named[nameOf(c)]
	return there && had.at.At >= c.Request.Since
}

func nameOf(c *Change) requestName {
	return requestName{c.Next.Owner, c.Next.Agent, c.Request.Key}
}

// put keeps the request of a change that was stored, instead of one with its name.
func (b *requestBook) put(c *Change) {
	if b.named == nil {
		b.named = make(map[requestName]bookedRequest)
		b.tasks = make(map[Key]map[requestName]bool)
		b.names = make(map[Key]requestName)
	}
	name := nameOf(c)
	b.drop(name)
	b.last++
	r := bookedRequest{
		fingerprint: bytes.Clone(c.Request.Fingerprint), at: Cursor{c.Request.At, b.last},
		task: c.Next.Key, version: c.Next.Version,
	}
	b.named[name], b.names[b.last] = r, name
	b.ages.insert(r.at)
	if b.tasks[r.task] == nil {
		b.tasks[r.task] = make(map[requestName]bool)
	}
	b.tasks[r.task][name] = true
}

// drop forgets a request, if it is there.
func (b *requestBook) drop(name requestName) {
	r, there := b.named[name]
	if !there {
		return
	}
	delete(b.named, name)
	delete(b.names, r.at.Key)
	b.ages.remove(r.at)
	if delete(b.tasks[r.task], name); len(b.tasks[r.task]) == 0 {
		delete(b.tasks, r.task)
	}
}

// forget drops the requests of a task.
func (b *requestBook) forget(key Key) {
	for name := range b.tasks[key] {
		b.drop(name)
	}
}

// sweep drops up to limit requests from before before.
func (b *requestBook) sweep(before Millis, limit int) int {
	var old []requestName
	b.ages.ascend(Cursor{}, func(c Cursor) bool {
		if len(old) >= limit || c.At >= before {
			return false
		}
		old = append(old, b.names[c.Key])
		return true
	})
	for _, name := range old {
		b.drop(name)
	}
	return len(old)
}

// Request implements Requests.
func (m *Memory) Request(ctx context.Context, owner Owner, agent Agent, key string) (Requested, error) {
	if err := ctx.Err(); err != nil {
		return Requested{}, fmt.Errorf("request %q: %w", key, err)
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	r, there := m.requests.named[requestName{owner, agent, key}]
	if !there {
		return Requested{}, fmt.Errorf("request %q: %w", key, ErrNotFound)
	}
	h, err := m.headLocked(r.task)
	if err != nil {
		return Requested{}, fmt.Errorf("request %q: %w", key, err)
	}
	return Requested{
		Request: Request{Key: key, Fingerprint: bytes.Clone(r.fingerprint), At: r.at.At},
		Version: r.version, Head: h,
	}, nil
}

// SweepRequests implements Requests.
func (m *Memory) SweepRequests(ctx context.Context, before Millis, limit int) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, fmt.Errorf("sweep requests: %w", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.requests.sweep(before, limit), nil
}
