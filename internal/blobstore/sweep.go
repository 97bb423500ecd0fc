package blobstore

import (
	"context"
	"errors"
	"time"

	"github.com/parley-a2a/parley/internal/task"
)

// Tasks looks up the tasks of a Store's parts. Its methods are safe for concurrent use.
type Tasks interface {
	// Ended returns the time at which the task ended, the zero time if it is open, or
	// task.ErrNotFound.
	Ended(ctx context.Context, k Key) (time.Time, error)
	// Names reports whether an entry of the task names the part.
	Names(ctx context.Context, k Key, d Digest) (bool, error)
}

// End records that the task k ended at a time, if the Store has parts of it.
func (s *Folder) End(k Key, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if tr := s.tasks[k]; tr != nil {
		tr.looked, tr.ended = true, at
	}
}

// Sweep removes parts whose time has passed at now, parts of deleted tasks, and parts that no
// entry names. It returns the number of removed parts. Parts whose state could not be looked up
// are kept until the next call; the error gives the reasons.
func (s *Folder) Sweep(ctx context.Context, tasks Tasks, now time.Time) (removed int, err error) {
	var errs []error
	for _, k := range s.keys() {
		if ctx.Err() != nil {
			break
		}
		n, err := s.sweepTask(ctx, tasks, k, now)
		removed += n
		if err != nil {
			errs = append(errs, err)
			if errors.Is(err, task.ErrUnavailable) {
				break
			}
		}
	}
	return removed, errors.Join(errs...)
}

func (s *Folder) keys() []Key {
	s.mu.Lock()
	defer s.mu.Unlock()
	keys := make([]Key, 0, len(s.tasks))
	for k := range s.tasks {
		keys = append(keys, k)
	}
	return keys
}

func (s *Folder) sweepTask(ctx context.Context, tasks Tasks, k Key, now time.Time) (removed int, err error) {
	gone, err := s.lookUpEnd(ctx, tasks, k)
	if err != nil {
		return 0, err
	}
	for _, d := range s.due(k, now, gone) {
		s.mu.Lock()
		if r := s.findLocked(k, d); r != nil && r.holders == 0 {
			s.removeLocked(k, d)
			removed++
		}
		s.mu.Unlock()
	}
	n, err := s.sweepPending(ctx, tasks, k, now)
	return removed + n, err
}

// lookUpEnd looks up the end of a task, unless it is known, and reports whether the task was
// deleted.
func (s *Folder) lookUpEnd(ctx context.Context, tasks Tasks, k Key) (gone bool, err error) {
	s.mu.Lock()
	tr := s.tasks[k]
	known := tr == nil || tr.looked
	s.mu.Unlock()
	if known {
		return false, nil
	}
	ended, err := tasks.Ended(ctx, k)
	if errors.Is(err, task.ErrNotFound) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if tr := s.tasks[k]; tr != nil && !tr.looked {
		tr.looked, tr.ended = true, ended
	}
	return false, nil
}

// due returns the parts of a task whose time has passed. A missing task may be about to be
// created, so its parts are kept for the grace time.
func (s *Folder) due(k Key, now time.Time, gone bool) (list []Digest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	tr := s.tasks[k]
	if tr == nil {
		return nil
	}
	for d, r := range tr.refs {
		late := gone && now.Sub(r.Stored) >= Grace
		if late || !tr.ended.IsZero() && now.Sub(tr.ended) >= r.Keep {
			list = append(list, d)
		}
	}
	return list
}

// sweepPending looks up which pending parts of a task are named by an entry. Parts are pending
// after a crash, or after a change with an unknown outcome.
func (s *Folder) sweepPending(ctx context.Context, tasks Tasks, k Key, now time.Time) (removed int, err error) {
	for _, d := range s.pending(k, now) {
		named, err := tasks.Names(ctx, k, d)
		if errors.Is(err, task.ErrNotFound) {
			continue // the next sweep finds that the task is gone
		}
		if err != nil {
			return removed, err
		}
		s.mu.Lock()
		r := s.findLocked(k, d)
		switch {
		case r == nil || r.holders > 0:
		case named:
			s.confirmLocked(k, r)
		default:
			s.removeLocked(k, d)
			removed++
		}
		s.mu.Unlock()
	}
	return removed, nil
}

func (s *Folder) pending(k Key, now time.Time) (list []Digest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if tr := s.tasks[k]; tr != nil {
		for d, r := range tr.refs {
			if r.pending && r.holders == 0 && now.Sub(r.Stored) >= Grace {
				list = append(list, d)
			}
		}
	}
	return list
}
