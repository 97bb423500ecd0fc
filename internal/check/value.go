package check

import (
	"encoding/json"
	"maps"
	"slices"
)

// at follows a path of field names and indices into a decoded JSON value. It returns nil if
// there is no value.
func at(v any, path ...any) any {
	for _, step := range path {
		switch step := step.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[step]
		case int:
			list, _ := v.([]any)
			if step >= len(list) {
				return nil
			}
			v = list[step]
		}
	}
	return v
}

// text returns the string at a path; empty if there is none.
func text(v any, path ...any) string {
	s, _ := at(v, path...).(string)
	return s
}

// list returns the array at a path.
func list(v any, path ...any) []any {
	l, _ := at(v, path...).([]any)
	return l
}

// has reports whether the object v has a field, even if it is null.
func has(v any, name string) bool {
	m, _ := v.(map[string]any)
	_, ok := m[name]
	return ok
}

// arms returns the names among names that v has.
func arms(v any, names ...string) []string {
	var found []string
	for _, name := range names {
		if has(v, name) {
			found = append(found, name)
		}
	}
	return found
}

// walk calls f for v and all values below it. It skips the content of values for which f
// returns false, and of free values, which callers and agents may fill arbitrarily. Fields are
// visited in the order of their names.
func walk(v any, f func(path string, v any) bool) { walkAt("", v, f) }

// free are the fields whose content the protocol does not define.
var free = []string{"metadata", "data", "params", "schemes", "scopes", "securitySchemes", "header"}

func walkAt(path string, v any, f func(string, any) bool) {
	if !f(path, v) {
		return
	}
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if !slices.Contains(free, name) {
				walkAt(path+"."+name, v[name], f)
			}
		}
	case []any:
		for _, item := range v {
			walkAt(path+"[]", item, f)
		}
	}
}

// equal reports whether two decoded values are the same JSON.
func equal(a, b any) bool { return compact(a) == compact(b) }

// compact encodes v with its fields sorted.
func compact(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// The states of a task (specification §4.1.3).
var (
	terminalStates    = []string{"TASK_STATE_COMPLETED", "TASK_STATE_FAILED", "TASK_STATE_CANCELED", "TASK_STATE_REJECTED"}
	interruptedStates = []string{"TASK_STATE_INPUT_REQUIRED", "TASK_STATE_AUTH_REQUIRED"}
	activeStates      = []string{"TASK_STATE_SUBMITTED", "TASK_STATE_WORKING"}
	allStates         = slices.Concat(activeStates, interruptedStates, terminalStates)
)

func terminal(state string) bool    { return slices.Contains(terminalStates, state) }
func interrupted(state string) bool { return slices.Contains(interruptedStates, state) }
