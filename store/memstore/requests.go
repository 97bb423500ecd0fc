package memstore

import (
	"bytes"
	"context"
	"fmt"

	"github.com/parley-a2a/parley/task"
)

// requestName identifies a request.
type requestName struct {
	owner task.Owner
	agent task.Agent
	key   string
}

// requestRow is a stored request. at is its position in the order of time; the key in it is a
// number of the request, not of a task.
type requestRow struct {
	fingerprint []byte
	at          task.Cursor
	task        task.Key
	version     int64
}

// requestTable holds the requests of a memory store. The zero requestTable is empty.
type requestTable struct {
	named map[requestName]requestRow
	// tasks maps each task with requests to their names.
	tasks map[task.Key]map[requestName]bool
	// names maps the numbers in ages to requests.
	names map[task.Key]requestName
	ages  sortedSet
	last  task.Key
}

// used reports whether the request of c has the key of an earlier one.
func (b *requestTable) used(c *task.Change) bool {
	had, there := b.named[nameOf(c)]
	return there && had.at.At >= c.Request.Since
}

func nameOf(c *task.Change) requestName {
	return requestName{c.Next.Owner, c.Next.Agent, c.Request.Key}
}

// put stores the request of a stored change, and replaces one with the same name.
func (b *requestTable) put(c *task.Change) {
	if b.named == nil {
		b.named = make(map[requestName]requestRow)
		b.tasks = make(map[task.Key]map[requestName]bool)
		b.names = make(map[task.Key]requestName)
	}
	name := nameOf(c)
	b.drop(name)
	b.last++
	r := requestRow{
		fingerprint: bytes.Clone(c.Request.Fingerprint), at: task.Cursor{At: c.Request.At, Key: b.last},
		task: c.Next.Key, version: c.Next.Version,
	}
	b.named[name], b.names[b.last] = r, name
	b.ages.insert(r.at)
	if b.tasks[r.task] == nil {
		b.tasks[r.task] = make(map[requestName]bool)
	}
	b.tasks[r.task][name] = true
}

// drop deletes a request, if it exists.
func (b *requestTable) drop(name requestName) {
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

// forget deletes the requests of a task.
func (b *requestTable) forget(key task.Key) {
	for name := range b.tasks[key] {
		b.drop(name)
	}
}

// sweep deletes up to limit requests from before the given time.
func (b *requestTable) sweep(before task.Millis, limit int) int {
	var old []requestName
	b.ages.ascend(task.Cursor{}, func(c task.Cursor) bool {
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

// Request implements task.Requests.
func (m *Store) Request(ctx context.Context, owner task.Owner, agent task.Agent, key string) (task.Requested, error) {
	if err := ctx.Err(); err != nil {
		return task.Requested{}, fmt.Errorf("request %q: %w", key, err)
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	r, there := m.requests.named[requestName{owner, agent, key}]
	if !there {
		return task.Requested{}, fmt.Errorf("request %q: %w", key, task.ErrNotFound)
	}
	h, err := m.headLocked(r.task)
	if err != nil {
		return task.Requested{}, fmt.Errorf("request %q: %w", key, err)
	}
	return task.Requested{
		Request: task.Request{Key: key, Fingerprint: bytes.Clone(r.fingerprint), At: r.at.At},
		Version: r.version, Head: h,
	}, nil
}

// SweepRequests implements task.Requests.
func (m *Store) SweepRequests(ctx context.Context, before task.Millis, limit int) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, fmt.Errorf("sweep requests: %w", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.requests.sweep(before, limit), nil
}
