package task

import (
	"context"
	"encoding/binary"
	"fmt"
)

// SidecarKind is a kind of data beside a task. A task has at most one sidecar of each kind.
// Stores keep the numbers, which therefore never change.
type SidecarKind uint8

const (
	// SidecarCheckpoint is the state from which a run continues. Only its agent interprets it.
	SidecarCheckpoint SidecarKind = iota
	// SidecarRecordRequest asks the recorder of the hub to record the outcome of the task. Only
	// the recorder interprets it.
	SidecarRecordRequest
	// SidecarLineage is an encoded Lineage. It is stored when the task is created.
	SidecarLineage
	// SidecarKinds is the number of kinds.
	SidecarKinds
)

// Parent returns the parent in data of kind SidecarLineage, and zero for other kinds. Stores
// list the children of a task by it.
func (k SidecarKind) Parent(data []byte) Key {
	if k != SidecarLineage || len(data) != lineageSize {
		return 0
	}
	return Key(binary.BigEndian.Uint64(data))
}

// Sidecar is data beside a task, with the head of the task.
type Sidecar struct {
	Head Head
	Data []byte
}

// SidecarQuery selects sidecars of the tasks of all owners.
type SidecarQuery struct {
	Kind SidecarKind
	// Parent selects the lineages of the children of a task. Zero does not filter.
	Parent Key
	// After continues after the task with that key.
	After Key
	// Limit is the largest number of sidecars to return; it must be positive.
	Limit int
}

// Sidecars keeps small data beside tasks: Change.Sidecars.
type Sidecars interface {
	// Sidecar returns the sidecar of a task, or nil if it has none of this kind.
	Sidecar(ctx context.Context, key Key, kind SidecarKind) ([]byte, error)
	// Sidecars returns sidecars in order of the keys of their tasks.
	Sidecars(ctx context.Context, q *SidecarQuery) ([]Sidecar, error)
	// DropSidecar deletes a sidecar, durably. It is no error if the task has none.
	DropSidecar(ctx context.Context, key Key, kind SidecarKind) error
}

// Lineage links a task to the task on whose behalf it was created. Tasks of one lineage have
// the same owner. A lineage is deleted with its task, the child.
type Lineage struct {
	// Parent is the task that created it, Root the first task of the chain.
	Parent, Root Key
	// Hops is the number of delegations between a caller and the task, from 1.
	Hops int
}

const lineageSize = 3 * 8

// Encode returns l as a sidecar, or nil if l is nil.
func (l *Lineage) Encode() []byte {
	if l == nil {
		return nil
	}
	b := make([]byte, 0, lineageSize)
	for _, n := range [...]uint64{uint64(l.Parent), uint64(l.Root), uint64(l.Hops)} {
		b = binary.BigEndian.AppendUint64(b, n)
	}
	return b
}

// LineageOf returns the lineage of a task; the zero Lineage if a caller created the task.
func LineageOf(ctx context.Context, s Sidecars, key Key) (Lineage, error) {
	b, err := s.Sidecar(ctx, key, SidecarLineage)
	if err != nil || b == nil {
		return Lineage{}, err
	}
	l, err := DecodeLineage(b)
	if err != nil {
		return Lineage{}, fmt.Errorf("task %d: %w", key, err)
	}
	return l, nil
}

// DecodeLineage decodes the data of a sidecar.
func DecodeLineage(b []byte) (Lineage, error) {
	if len(b) != lineageSize {
		return Lineage{}, fmt.Errorf("lineage: %w", ErrCorrupt)
	}
	n := func(i int) uint64 { return binary.BigEndian.Uint64(b[8*i:]) }
	return Lineage{Parent: Key(n(0)), Root: Key(n(1)), Hops: int(n(2))}, nil
}

// Children returns up to limit heads of tasks that have the parent, with keys above after, in
// order of their keys.
func Children(ctx context.Context, s Sidecars, parent, after Key, limit int) ([]Head, error) {
	page, err := s.Sidecars(ctx, &SidecarQuery{Kind: SidecarLineage, Parent: parent, After: after, Limit: limit})
	if err != nil {
		return nil, fmt.Errorf("children of task %d: %w", parent, err)
	}
	heads := make([]Head, len(page))
	for i := range page {
		heads[i] = page[i].Head
	}
	return heads, nil
}
