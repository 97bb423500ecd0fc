package dialect

import (
	"strings"
	"time"

	"github.com/parley-a2a/parley/internal/json/a2ajson"
	"github.com/parley-a2a/parley/internal/json/rawjson"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/task"
)

const (
	listTenant = iota
	listAgentID
	listContextID
	listStatus
	listPageSize
	listPageToken
	listHistory
	listSince
	listArtifacts
)

// The Go SDK calls the timestamp lastUpdatedAfter on HTTP+JSON.
var listSchema = a2ajson.NewSchema("tenant", "agentId", "contextId", "status", "pageSize",
	"pageToken", "historyLength", "statusTimestampAfter:lastUpdatedAfter", "includeArtifacts")

// List reads the params of ListTasks (specification §3.1.4).
func (d *Decoder) List(params []byte) (*op.List, error) {
	r := &op.List{PageSize: d.PageSize}
	if r.PageSize == 0 {
		r.PageSize = DefaultPageSize
	}
	err := each(listSchema, params, func(i int, _ string, v []byte) error {
		return readListField(r, i, v)
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

// ListAt reads GET /tasks.
func (d *Decoder) ListAt(query string) (*op.List, error) {
	params, err := queryObject(listSchema, query)
	if err != nil {
		return nil, err
	}
	return d.List(params)
}

func readListField(r *op.List, i int, v []byte) (err error) {
	switch i {
	case listTenant, listAgentID:
		err = readTenant(&r.Target, v)
	case listContextID:
		err = readInto(&r.ContextID, v)
	case listStatus:
		r.State, err = readState(v)
	case listPageSize:
		r.PageSize, err = readPageSize(v)
	case listPageToken:
		err = readInto(&r.PageToken, v)
	case listHistory:
		err = readHistory(&r.HistoryLength, v)
	case listSince:
		r.Since, err = readTime(v)
	case listArtifacts:
		r.IncludeArtifacts, err = a2ajson.ReadBool(v)
	}
	return err
}

func readPageSize(v []byte) (int, error) {
	n, err := a2ajson.ReadInt(v)
	if err == nil && (n < 1 || n > maxPageSize) {
		err = a2ajson.Invalid("must be between 1 and %d", maxPageSize)
	}
	return n, err
}

// readState reads a state to filter by: its name, its number, or its short name in any spelling
// of the supported dialects. The empty name and the unspecified state do not filter.
func readState(v []byte) (task.State, error) {
	s, ok := rawjson.String(v)
	if !ok {
		s = string(v)
	}
	if n, isNumber := rawjson.Int([]byte(s)); isNumber {
		if st := task.State(n); int64(st) == n && (st == task.Unspecified || st.Valid()) {
			return st, nil
		}
		return 0, a2ajson.Invalid("%d is not a state", n)
	}
	if !ok {
		return 0, a2ajson.Invalid("must be the name of a state")
	}
	const prefix = "TASK_STATE_"
	name := strings.TrimPrefix(strings.ReplaceAll(strings.ToUpper(s), "-", "_"), prefix)
	if name == "" || name == "UNSPECIFIED" {
		return task.Unspecified, nil
	}
	if other, ok := otherStates[name]; ok {
		name = other
	}
	if st, ok := task.ParseState(prefix + name); ok {
		return st, nil
	}
	return 0, a2ajson.Invalid("%q is not a state", clip(s))
}

// otherStates are names of states that differ by more than case and hyphens.
var otherStates = map[string]string{
	"INPUTREQUIRED": "INPUT_REQUIRED",
	"AUTHREQUIRED":  "AUTH_REQUIRED",
	"CANCELLED":     "CANCELED",
}

// readTime reads a timestamp with any offset (specification §5.6.1). Stored times are truncated
// to milliseconds, so a more precise timestamp is rounded up.
func readTime(v []byte) (task.Millis, error) {
	s, ok := rawjson.String(v)
	if !ok {
		return 0, a2ajson.Invalid("must be an RFC 3339 timestamp")
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		// An offset whose plus sign was not escaped in a query arrives as a space.
		t, err = time.Parse(time.RFC3339Nano, strings.Replace(s, " ", "+", 1))
	}
	if err != nil {
		return 0, a2ajson.Invalid("must be an RFC 3339 timestamp, such as 2026-01-31T12:00:00.000Z")
	}
	at := task.MillisOf(t)
	if t.Nanosecond()%int(time.Millisecond) != 0 {
		at++
	}
	return max(at, 0), nil
}
