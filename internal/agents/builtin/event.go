package builtin

import "github.com/a2aproject/a2a-go/v2/a2a"

// emit yields events in order until one is refused, and reports whether none was.
func emit(yield yieldFunc, events ...a2a.Event) bool {
	for _, e := range events {
		if !yield(e, nil) {
			return false
		}
	}
	return true
}

// dataField returns the value of a field in the first data part of m that has it.
func dataField(m *a2a.Message, field string) (any, bool) {
	if m == nil {
		return nil, false
	}
	for _, p := range m.Parts {
		if object, ok := p.Data().(map[string]any); ok {
			if v, ok := object[field]; ok {
				return v, true
			}
		}
	}
	return nil, false
}
