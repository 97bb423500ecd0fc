package memstore

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/parley-a2a/parley/internal/task"
)

// requestName identifies a request.
type requestName struct {
	owner task.Owner
	agent task.Agent
	key   string
}

// requestRow is a stored request.
type requestRow struct {
	fingerprint []byte
	at          task.Millis
	task        task.Key
	version     int64
}

func nameOf(c *task.Change) requestName {
	return requestName{c.Next.Owner, c.Next.Agent, c.Request.Key}
}

// usedLocked reports whether the request of c has the key of an earlier one.
func (m *Store) usedLocked(c *task.Change) bool {
	had, there := m.requests[nameOf(c)]
	return there && had.at >= c.Request.Since
}

// Request implements task.Requests.
func (m *Store) Request(ctx context.Context, owner task.Owner, agent task.Agent, key string) (task.Requested, error) {
	if err := ctx.Err(); err != nil {
		return task.Requested{}, fmt.Errorf("request %q: %w", key, err)
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	row, there := m.requests[requestName{owner, agent, key}]
	if !there {
		return task.Requested{}, fmt.Errorf("request %q: %w", key, task.ErrNotFound)
	}
	return task.Requested{
		Request: task.Request{Key: key, Fingerprint: bytes.Clone(row.fingerprint), At: row.at},
		Version: row.version, Head: m.tasks[row.task].head,
	}, nil
}

// SweepRequests implements task.Requests. It visits all requests.
func (m *Store) SweepRequests(ctx context.Context, before task.Millis, limit int) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, fmt.Errorf("sweep requests: %w", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var old []requestName
	for name, row := range m.requests {
		if row.at < before {
			old = append(old, name)
		}
	}
	slices.SortFunc(old, func(a, b requestName) int { return cmp.Compare(m.requests[a].at, m.requests[b].at) })
	old = old[:min(limit, len(old))]
	for _, name := range old {
		delete(m.requests, name)
	}
	return len(old), nil
}
