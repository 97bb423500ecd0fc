package task

import (
	"errors"
	"fmt"
	"slices"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/session"
)

// Reasons for which Apply refuses an entry. Callers test with errors.Is.
var (
	// ErrIllegal is returned if the protocol forbids the entry in the state of the task.
	ErrIllegal = errors.New("illegal event")
	// ErrTerminal is the ErrIllegal of a task that has ended.
	ErrTerminal = fmt.Errorf("task has ended: %w", ErrIllegal)
	// ErrFenced is returned for an event of a run that is no longer the task's run.
	ErrFenced = errors.New("run is fenced")
	// ErrRepeated is returned for an event that was applied before. It is not an error of the
	// sender.
	ErrRepeated = errors.New("event was applied before")
	// ErrGap is returned if an event before this one is missing.
	ErrGap = errors.New("event is missing")
)

// MaxSealed limits the sealed artifacts that a head remembers. Sealing is enforced for the most
// recent ones only, so that the head of a task with many artifacts stays small.
const MaxSealed = 256

// stateSet is a set of states.
type stateSet uint16

func setOf(states ...State) stateSet {
	var s stateSet
	for _, st := range states {
		s |= 1 << st
	}
	return s
}

func (s stateSet) has(st State) bool { return s&(1<<st) != 0 }

// transitions lists the states that may follow a state. The specification gives no matrix; all
// known clients and kits accept this one.
var transitions = [numStates]stateSet{
	Unspecified:   setOf(Submitted, Working, InputRequired, AuthRequired, Completed, Failed, Rejected),
	Submitted:     setOf(Submitted, Working, InputRequired, AuthRequired, Completed, Failed, Canceled, Rejected),
	Working:       setOf(Working, InputRequired, AuthRequired, Completed, Failed, Canceled, Rejected),
	InputRequired: setOf(Working, InputRequired, AuthRequired, Completed, Failed, Canceled, Rejected),
	AuthRequired:  setOf(Working, InputRequired, AuthRequired, Completed, Failed, Canceled, Rejected),
}

// CanFollow reports whether a task may change from state from to state to. If from is
// Unspecified, it reports whether a new task may begin in state to.
func CanFollow(from, to State) bool {
	return from < numStates && to < numStates && transitions[from].has(to)
}

// Apply returns the head after e, and e in the form to be stored: with its version, and with
// its time moved forward if the task's clock is ahead. It returns an error wrapping ErrIllegal
// if the protocol forbids e in the state of h, and ErrFenced, ErrRepeated or ErrGap if e does
// not fit into the run of h. It does not change Rev, Key or the fields of Run other than Seq
// and Disclosed; the caller sets them.
func Apply(h Head, e Entry) (Head, Entry, error) {
	if err := admit(&h, &e); err != nil {
		return h, e, err
	}
	e.Version = h.Version + 1
	e.At = max(e.At, h.UpdatedAt)
	h.Version = e.Version
	h.UpdatedAt = e.At
	if e.Epoch != 0 {
		h.Run.Seq = e.Seq
	}
	h.Others = h.Others || len(e.Others) > 0
	switch e.Kind {
	case Created:
		h.CreatedAt = e.At
		h.LastMessage = e.Version
		h.setStatus(&e, nil)
	case Message:
		h.LastMessage = e.Version
	case Status:
		h.setStatus(&e, e.Body)
	case Artifact:
		h.Run.Disclosed = true
		if e.LastChunk {
			// The slice is shared with earlier heads, so it is copied.
			from := max(0, len(h.Sealed)+1-MaxSealed)
			sealed := append(make([]a2a.ArtifactID, 0, len(h.Sealed)+1-from), h.Sealed[from:]...)
			h.Sealed = append(sealed, e.ArtifactID)
		}
	case Other:
		h.Run.Disclosed = true
	}
	return h, e, nil
}

// admit returns an error if e may not be applied to h.
func admit(h *Head, e *Entry) error {
	switch {
	case e.Kind == Created && h.Version != 0:
		return fmt.Errorf("create a task that exists: %w", ErrIllegal)
	case e.Kind != Created && h.Version == 0:
		return fmt.Errorf("event of a task that does not exist: %w", ErrIllegal)
	}
	if e.Epoch != 0 {
		if err := h.Run.admit(e); err != nil {
			return err
		}
	}
	if h.State.Terminal() {
		return fmt.Errorf("%v: %w", h.State, ErrTerminal)
	}
	return admitKind(h, e)
}

// admit returns an error if e is not the next event of the run.
func (r *Run) admit(e *Entry) error {
	switch c, _ := (session.Place{Epoch: r.Epoch, Seq: r.Seq}).Classify(e.Epoch, e.Seq, 1); c {
	case session.Stale:
		return fmt.Errorf("epoch %d, run is in epoch %d: %w", e.Epoch, r.Epoch, ErrFenced)
	case session.Repeated:
		return ErrRepeated
	case session.Gap:
		return fmt.Errorf("event %d after %d: %w", e.Seq, r.Seq, ErrGap)
	}
	return nil
}

func admitKind(h *Head, e *Entry) error {
	switch e.Kind {
	case Created, Status:
		if !CanFollow(h.State, e.State) {
			return fmt.Errorf("%v after %v: %w", e.State, h.State, ErrIllegal)
		}
	case Message:
		if len(e.Body) == 0 {
			return fmt.Errorf("message without content: %w", ErrIllegal)
		}
	case Other:
		if len(e.Body) == 0 {
			return fmt.Errorf("event without content: %w", ErrIllegal)
		}
	case Artifact:
		if e.ArtifactID == "" {
			return fmt.Errorf("artifact without id: %w", ErrIllegal)
		}
		if slices.Contains(h.Sealed, e.ArtifactID) {
			return fmt.Errorf("artifact %q had its last chunk: %w", e.ArtifactID, ErrIllegal)
		}
	default:
		return fmt.Errorf("kind %d: %w", e.Kind, ErrIllegal)
	}
	return nil
}

func (h *Head) setStatus(e *Entry, message []byte) {
	h.State = e.State
	h.StatusAt = e.At
	h.StatusMessage = message
	if e.State != Submitted && e.State != Working {
		h.Run.Disclosed = true
	}
	if e.State.Terminal() {
		h.Sealed = nil
		h.CancelAt = 0
		h.Run.Holder = ""
		h.Run.Dispatch = Idle
	}
}
