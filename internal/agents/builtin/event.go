package builtin

import (
	"bytes"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/json/rawjson"
)

func rawStatus(state a2a.TaskState, parts [][]byte) *agent.Raw {
	b := rawjson.AppendString([]byte(`{"statusUpdate":{"status":{"state":`), string(state))
	b = append(b, `,"message":{"role":"ROLE_AGENT","parts":[`...)
	b = append(b, bytes.Join(parts, []byte(","))...)
	return &agent.Raw{JSON: append(b, `]}}}}`...)}
}

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
