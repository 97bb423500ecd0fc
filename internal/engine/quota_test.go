package engine

import (
	"errors"
	"testing"

	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/task"
)

func TestQuota(t *testing.T) {
	t.Parallel()
	q := quota{each: 2, total: 3}
	steps := []struct {
		owner string
		give  bool
		want  bool
	}{
		{"ann", false, true},
		{"ann", false, true},
		{"ann", false, false}, // ann's limit
		{"bob", false, true},
		{"bob", false, false}, // the limit of all
		{"ann", true, true},
		{"bob", false, true},
	}
	for i, s := range steps {
		if s.give {
			q.release("ann")
			continue
		}
		err := q.acquire(task.Owner(s.owner))
		if (err == nil) != s.want {
			t.Errorf("step %d: take(%s) = %v, want ok %t", i, s.owner, err, s.want)
		}
		var f *apierror.Error
		if err != nil && (!errors.As(err, &f) || !errors.Is(err, apierror.ErrExhausted) || f.RetryAfter != retryStreams) {
			t.Errorf("step %d: take(%s) = %#v, want ErrExhausted with RetryAfter", i, s.owner, err)
		}
	}
	q.release("ann")
	q.release("bob")
	q.release("bob")
	if q.open != 0 || len(q.by) != 0 {
		t.Errorf("after all were given back: open = %d, by = %v", q.open, q.by)
	}
}

func TestQuotaWithoutLimit(t *testing.T) {
	t.Parallel()
	q := quota{each: -1, total: -1}
	for range 5 {
		if err := q.acquire("ann"); err != nil {
			t.Fatalf("take = %v", err)
		}
	}
	if q.open != 5 {
		t.Errorf("open = %d, want 5", q.open)
	}
}
