// Package storetest provides a store in memory that fails on demand.
//
// # Overview
//
// A test sets Full of a [Store], and the store refuses all changes as one on a full disk does. With
// Keeps, it stores them nevertheless, so that its caller cannot rely on the error.
//
// # Guarantees
//
// Any number of goroutines may use a Store while a test changes its switches. Reads always work.
package storetest

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/internal/task"
)

// Store is a store in memory whose disk is full while Full is set. The zero Store is ready to use, by any number
// of goroutines.
type Store struct {
	memstore.Store
	// Full makes all changes fail.
	Full atomic.Bool
	// Keeps stores the changes that fail nevertheless.
	Keeps atomic.Bool
}

// Append implements task.Log.
func (s *Store) Append(ctx context.Context, c *task.Change) error {
	if !s.Full.Load() {
		return s.Store.Append(ctx, c)
	}
	if s.Keeps.Load() {
		if err := s.Store.Append(ctx, c); err != nil {
			return err
		}
	}
	return fmt.Errorf("sector 7: %w", task.ErrFull)
}

// Probe reports whether changes would fail.
func (s *Store) Probe(context.Context) error {
	if s.Full.Load() {
		return task.ErrFull
	}
	return nil
}
