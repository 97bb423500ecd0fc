package memstore

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"sync"

	"github.com/parley-a2a/parley/internal/task"
)

// keepMoments is the number of moments that a store keeps.
const keepMoments = 8192

// moment is a task.Moment without its position and head.
type moment struct {
	key         task.Key
	first, last int64
	notice      []byte
}

// timeline keeps the newest moments in a ring. The zero timeline is empty.
type timeline struct {
	once sync.Once
	id   string // set by once
	// ring holds the moment with position seq at index (seq-1) % keepMoments.
	ring   []moment
	newest int64
}

func (t *timeline) add(m moment) {
	if len(t.ring) < keepMoments {
		t.ring = append(t.ring, m)
	} else {
		t.ring[t.newest%keepMoments] = m
	}
	t.newest++
}

// oldest returns the position of the oldest kept moment; zero if there is none.
func (t *timeline) oldest() int64 {
	if t.newest == 0 {
		return 0
	}
	return t.newest - int64(len(t.ring)) + 1
}

// AddNotices implements task.Timeline.
func (m *Store) AddNotices(ctx context.Context, notices [][]byte) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("add notices: %w", err)
	}
	if err := task.CheckNotices(notices); err != nil {
		return fmt.Errorf("add notices: %w", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, n := range notices {
		m.timeline.add(moment{notice: bytes.Clone(n)})
	}
	return nil
}

// Timeline implements task.Timeline.
func (m *Store) Timeline(ctx context.Context, after int64, limit int) (task.TimelinePage, error) {
	if err := ctx.Err(); err != nil {
		return task.TimelinePage{}, fmt.Errorf("timeline after %d: %w", after, err)
	}
	if limit <= 0 {
		return task.TimelinePage{}, fmt.Errorf("timeline: limit %d must be positive", limit)
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	t := &m.timeline
	t.once.Do(func() { t.id = rand.Text()[:12] })
	page := task.TimelinePage{ID: t.id, Oldest: t.oldest(), Newest: t.newest}
	for seq := max(after+1, page.Oldest); seq > 0 && seq <= t.newest && len(page.Moments) < limit; seq++ {
		r := &m.timeline.ring[(seq-1)%keepMoments]
		moment := task.Moment{Seq: seq, Key: r.key, First: r.first, Last: r.last, Notice: bytes.Clone(r.notice)}
		if r.key != 0 {
			if h, err := m.headLocked(r.key); err == nil {
				moment.Head = h
			}
		}
		page.Moments = append(page.Moments, moment)
	}
	return page, nil
}
