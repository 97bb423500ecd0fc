package acts

import (
	"fmt"
	"maps"
	"slices"

	"github.com/parley-a2a/parley/internal/check/wire"
)

// arms maps the payload names of events, as in the protocol and in the draft, to those of the
// protocol.
var arms = map[string]string{"task": "task", "message": "message", "statusUpdate": "status_update", "artifactUpdate": "artifact_update"}

// views returns the forms of an event that a test may match: the payload under either of its
// names, the payload alone, and the frame of the binding.
func views(e wire.Event) []any {
	event, _ := e.Value.(map[string]any)
	named := maps.Clone(event)
	all := []any{}
	for arm, name := range arms {
		if v, ok := event[arm]; ok {
			named[name] = v
			all = append(all, v)
		}
	}
	return append([]any{any(named)}, append(all, e.Envelope)...)
}

// stream checks the events of a stream against the expectations.
func (r *run) stream(s *step, x *wire.Exchange) error {
	want := s.Stream
	n := len(x.Events)
	switch {
	case want.MinCount != nil && n < *want.MinCount:
		return &mismatch{"stream", fmt.Sprintf("at least %d events", *want.MinCount), fmt.Sprintf("%d events", n)}
	case want.MaxCount != nil && n > *want.MaxCount:
		return &mismatch{"stream", fmt.Sprintf("at most %d events", *want.MaxCount), fmt.Sprintf("%d events", n)}
	case n == 0:
		return &mismatch{"stream", "a stream of events", shown(x.Envelope)}
	case want.Final != nil && !x.Ended:
		return fmt.Errorf("the stream did not end: %w", x.Err)
	}
	if want.Ordering != "" {
		if err := monotonic(x.Events); err != nil {
			return err
		}
	}
	if want.Final != nil {
		if err := r.event("final_event", want.Final, x.Events[n-1:]); err != nil {
			return err
		}
	}
	for i := range x.Events {
		if want.Each == nil {
			break
		}
		if err := r.event(fmt.Sprintf("events[%d]", i), want.Each, x.Events[i:i+1]); err != nil {
			return err
		}
	}
	return r.events(want.Events, x.Events)
}

// events looks for each expected event, at its position or anywhere.
func (r *run) events(want []map[string]any, got []wire.Event) error {
	for i, w := range want {
		at := i
		if index, ok := rational(w["index"]); ok && index.IsInt() {
			at = int(index.Num().Int64())
		}
		among := got
		if w["match"] != "any_position" {
			if at < 0 || at >= len(got) {
				return &mismatch{fmt.Sprintf("events[%d]", at), "an event", "absent"}
			}
			among = got[at : at+1]
		}
		asserted := maps.Clone(w)
		maps.DeleteFunc(asserted, func(name string, v any) bool {
			return name == "description" || name == "index" || name == "match" && (v == "any_position" || v == "exact_position")
		})
		if err := r.event(fmt.Sprintf("events[%d]", i), asserted, among); err != nil {
			return err
		}
	}
	return nil
}

// event returns nil if one of the events matches.
func (r *run) event(path string, want map[string]any, among []wire.Event) error {
	filled, err := r.fill(want)
	if err != nil {
		return err
	}
	for _, e := range among {
		if err = matchAny(path, filled, views(e)); err == nil {
			return nil
		}
	}
	return err
}

// next maps each state that is not terminal to the states that must not follow it (the
// draft's section 7.1). A state may repeat.
var next = map[string][]string{
	"TASK_STATE_SUBMITTED":      nil, // any state may follow
	"TASK_STATE_WORKING":        {"TASK_STATE_SUBMITTED"},
	"TASK_STATE_INPUT_REQUIRED": {"TASK_STATE_SUBMITTED"},
	"TASK_STATE_AUTH_REQUIRED":  {"TASK_STATE_SUBMITTED"},
}

// monotonic returns an error if a state returns to SUBMITTED, or follows a terminal one.
func monotonic(events []wire.Event) error {
	before := ""
	for i, e := range events {
		state := text(e.Value, "statusUpdate.status.state")
		if state == "" {
			state = text(e.Value, "task.status.state")
		}
		if state == "" || state == before {
			continue
		}
		forbidden, open := next[before]
		if before != "" && (!open || slices.Contains(forbidden, state)) {
			return &mismatch{fmt.Sprintf("events[%d]", i), "a state that can follow " + before, state}
		}
		before = state
	}
	return nil
}
