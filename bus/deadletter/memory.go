package deadletter

import (
	"context"
	"fmt"
	"slices"
	"sync"
)

// Memory is a Store that ends with the process. The zero Memory is empty and ready to use.
type Memory struct {
	mu      sync.Mutex // guards the field below
	letters []*Letter  // the oldest first
}

var _ Store = (*Memory)(nil)

func (m *Memory) indexLocked(id ID) int {
	return slices.IndexFunc(m.letters, func(l *Letter) bool { return l.ID == id })
}

// PutLetter implements Archive.
func (m *Memory) PutLetter(ctx context.Context, l *Letter) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.indexLocked(l.ID) < 0 {
		m.letters = append(m.letters, l.Clone())
	}
	return nil
}

// Letters implements Archive.
func (m *Memory) Letters(ctx context.Context, q *Query) ([]Letter, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	from := len(m.letters)
	if q.After != "" {
		if from = m.indexLocked(q.After); from < 0 {
			return nil, fmt.Errorf("letters after %s: %w", q.After, ErrNoLetter)
		}
	}
	var all []Letter
	for i := from - 1; i >= 0 && len(all) < q.Limit; i-- {
		l := *m.letters[i]
		if (q.Queue == "" || q.Queue == l.Queue) && (q.Task == "" || q.Task == l.Task) {
			l.Envelope = nil
			all = append(all, l)
		}
	}
	return all, nil
}

// Letter implements Archive.
func (m *Memory) Letter(ctx context.Context, id ID) (*Letter, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	i := m.indexLocked(id)
	if i < 0 {
		return nil, fmt.Errorf("letter %s: %w", id, ErrNoLetter)
	}
	return m.letters[i].Clone(), nil
}

// DropLetter implements Dropper.
func (m *Memory) DropLetter(ctx context.Context, id ID) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	i := m.indexLocked(id)
	if i < 0 {
		return fmt.Errorf("drop letter %s: %w", id, ErrNoLetter)
	}
	m.letters = slices.Delete(m.letters, i, i+1)
	return nil
}

// SweepLetters implements Dropper.
func (m *Memory) SweepLetters(ctx context.Context, b Bounds) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	kept, size, full := 0, 0, false
	before := len(m.letters)
	left := make([]*Letter, 0, before)
	for _, l := range slices.Backward(m.letters) {
		size += l.Size
		full = full || kept >= b.Letters || size > b.Bytes
		if !full && !l.At.Before(b.Before) {
			left = append(left, l)
			kept++
		}
	}
	slices.Reverse(left)
	m.letters = left
	return before - len(left), nil
}
