package aguifront

import (
	"encoding/json"
	"strings"
)

// state is the state that client and agent share: the client's state, with the changes of the
// extension worldstate-delta-v1.
type state struct {
	root object
	// shown is set once the client has a snapshot.
	shown bool
}

// newState returns the state of the client, if it is an object, or an empty one.
func newState(raw json.RawMessage) *state {
	s := &state{root: object{}}
	if json.Unmarshal(raw, &s.root) != nil || s.root == nil {
		s.root = object{}
	}
	return s
}

// worldDelta is a part of the extension worldstate-delta-v1.
type worldDelta struct {
	Deltas []worldChange `json:"deltas"`
}

// worldChange sets, increases or appends to a value of a domain. The names in a path are
// separated by dots or slashes.
type worldChange struct {
	Domain string `json:"domain"`
	Path   string `json:"path"`
	Op     string `json:"op"`
	Value  any    `json:"value"`
}

// change reports a part's change of the state: as a snapshot the first time and when a new
// branch was created, else as a patch. It returns false if the part is no valid change.
func (s *eventWriter) change(raw []byte) bool {
	var d worldDelta
	if json.Unmarshal(raw, &d) != nil || len(d.Deltas) == 0 {
		return false
	}
	for i := range d.Deltas {
		if d.Deltas[i].Domain == "" || !known(d.Deltas[i].Op) {
			return false
		}
	}
	patch := []object{}
	whole := !s.state.shown
	for i := range d.Deltas {
		names, value, grown := s.state.apply(&d.Deltas[i])
		whole = whole || grown || value == nil
		var b strings.Builder
		for _, name := range names {
			b.WriteByte('/')
			b.WriteString(strings.NewReplacer("~", "~0", "/", "~1").Replace(name))
		}
		patch = append(patch, object{"op": "add", "path": b.String(), "value": value})
	}
	if whole {
		s.event("STATE_SNAPSHOT", object{"snapshot": s.state.root})
		s.state.shown = true
		return true
	}
	s.event("STATE_DELTA", object{"delta": patch})
	return true
}

func known(op string) bool { return op == "set" || op == "inc" || op == "push" }

// apply applies a change and returns its path, the new value, and whether a parent had to be
// created.
func (s *state) apply(c *worldChange) (names []string, value any, grown bool) {
	names = append([]string{c.Domain}, strings.FieldsFunc(c.Path, func(r rune) bool { return r == '.' || r == '/' })...)
	at := s.root
	for _, name := range names[:len(names)-1] {
		next, ok := at[name].(object)
		if !ok {
			next, grown = object{}, true
			at[name] = next
		}
		at = next
	}
	last := names[len(names)-1]
	switch c.Op {
	case "inc":
		was, _ := at[last].(float64)
		by, _ := c.Value.(float64)
		value = was + by
	case "push":
		list, _ := at[last].([]any)
		value = append(list[:len(list):len(list)], c.Value)
	default:
		value = c.Value
	}
	at[last] = value
	return names, value, grown
}
