package dialect

import (
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/json/a2ajson"
	"github.com/parley-a2a/parley/internal/json/rawjson"
)

// stateNames maps the words of a state, without separators, to the state.
var stateNames = map[string]a2a.TaskState{
	"submitted": a2a.TaskStateSubmitted, "working": a2a.TaskStateWorking, "completed": a2a.TaskStateCompleted,
	"failed": a2a.TaskStateFailed, "canceled": a2a.TaskStateCanceled, "cancelled": a2a.TaskStateCanceled,
	"rejected": a2a.TaskStateRejected, "inputrequired": a2a.TaskStateInputRequired,
	"authrequired": a2a.TaskStateAuthRequired,
}

// stateNumbers maps the proto's numbers to the states.
var stateNumbers = map[int64]a2a.TaskState{
	1: a2a.TaskStateSubmitted, 2: a2a.TaskStateWorking, 3: a2a.TaskStateCompleted, 4: a2a.TaskStateFailed,
	5: a2a.TaskStateCanceled, 6: a2a.TaskStateInputRequired, 7: a2a.TaskStateRejected, 8: a2a.TaskStateAuthRequired,
}

// ReadState reads a state in the spelling of any dialect: "TASK_STATE_INPUT_REQUIRED",
// "input-required", "input_required", "inputRequired", "InputRequired", or the number in the
// proto. An unknown state is an error and never counts as terminal.
func ReadState(v []byte) (a2a.TaskState, error) {
	if n, ok := rawjson.Int(v); ok && stateNumbers[n] != "" {
		return stateNumbers[n], nil
	}
	s, ok := rawjson.String(v)
	if !ok {
		return "", a2ajson.Invalid("must be a state")
	}
	word := strings.ToLower(strings.TrimPrefix(s, "TASK_STATE_"))
	if state, ok := stateNames[strings.NewReplacer("-", "", "_", "", " ", "").Replace(word)]; ok {
		return state, nil
	}
	return "", a2ajson.Invalid("%q is not a state that can be followed", clip(s))
}

// appendTimestamp appends a timestamp in UTC and omits an invalid one. v0.3 allows any time
// zone, or none.
func appendTimestamp(dst, v []byte) []byte {
	s, _ := rawjson.String(v)
	t, err := time.Parse(time.RFC3339Nano, s)
	switch {
	case err == nil && strings.HasSuffix(s, "Z"):
		return append(rawjson.AppendName(dst, "timestamp"), v...)
	case err != nil:
		if t, err = time.Parse("2006-01-02T15:04:05.999999999", s); err != nil {
			return dst
		}
	}
	return rawjson.AppendString(rawjson.AppendName(dst, "timestamp"), t.UTC().Format(time.RFC3339Nano))
}
