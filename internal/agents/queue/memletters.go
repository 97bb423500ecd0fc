package queue

import (
	"context"
	"fmt"
	"slices"
	"sync"
)

// MemLetters is a Store that ends with the process. The zero Memory is empty and ready to use.
type MemLetters struct {
	mu      sync.Mutex // guards the field below
	letters []*Letter  // the oldest first
}

var _ LetterStore = (*MemLetters)(nil)

func (m *MemLetters) indexLocked(id LetterID) int {
	return slices.IndexFunc(m.letters, func(l *Letter) bool { return l.ID == id })
}

// PutLetter implements Archive.
func (m *MemLetters) PutLetter(ctx context.Context, l *Letter) error {
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
func (m *MemLetters) Letters(ctx context.Context, q *LetterQuery) ([]Letter, error) {
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
func (m *MemLetters) Letter(ctx context.Context, id LetterID) (*Letter, error) {
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
func (m *MemLetters) DropLetter(ctx context.Context, id LetterID) error {
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
func (m *MemLetters) SweepLetters(ctx context.Context, b LetterBounds) (int, error) {
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

// CountLetters implements LetterCounter.
func (m *MemLetters) CountLetters(ctx context.Context) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.letters), ctx.Err()
}
