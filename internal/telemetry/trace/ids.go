package trace

import (
	"context"

	"github.com/parley-a2a/parley/internal/json/rawjson"
)

// IDs identify a piece of work across several systems. Empty ids are unknown.
type IDs struct {
	// Task and Context are the ids of the hub.
	Task, Context string
	// Correlation and Parent are the caller's X-Correlation-Id and X-Parent-Id, or
	// correlationId and parentId in its metadata.
	Correlation, Parent string
	// Session is the sessionId of the metadata.
	Session string
}

type idsKey struct{}

// WithIDs returns a context whose spans, log records and requests carry ids.
func WithIDs(ctx context.Context, ids IDs) context.Context {
	return context.WithValue(ctx, idsKey{}, &ids)
}

// IDsFrom returns the ids of a context.
func IDsFrom(ctx context.Context) IDs {
	if ids, ok := ctx.Value(idsKey{}).(*IDs); ok {
		return *ids
	}
	return IDs{}
}

// maxID is the length in bytes above which an id is ignored.
const maxID = 256

// Usable reports whether id can be sent as a header unchanged, and is short enough to be stored
// with a task and logged with each record.
func Usable(id string) bool {
	if id == "" || len(id) > maxID || id[0] == ' ' || id[len(id)-1] == ' ' {
		return false
	}
	for i := range len(id) {
		if id[i] < ' ' || id[i] > '~' {
			return false
		}
	}
	return true
}

// MetadataIDs returns the ids in a metadata object, which may be nil: correlationId, parentId
// and sessionId. Unusable ids are ignored.
func MetadataIDs(metadata []byte) IDs {
	var ids IDs
	if len(metadata) == 0 {
		return ids
	}
	for name, v := range rawjson.Fields(metadata) {
		var at *string
		switch name {
		case "correlationId":
			at = &ids.Correlation
		case "parentId":
			at = &ids.Parent
		case "sessionId":
			at = &ids.Session
		default:
			continue
		}
		if s, ok := rawjson.String(v); ok && Usable(s) {
			*at = s
		}
	}
	return ids
}

// Or returns ids with empty ones replaced by those of other.
func (ids IDs) Or(other IDs) IDs {
	for _, p := range [...]struct{ at, from *string }{
		{&ids.Task, &other.Task},
		{&ids.Context, &other.Context},
		{&ids.Correlation, &other.Correlation},
		{&ids.Parent, &other.Parent},
		{&ids.Session, &other.Session},
	} {
		if *p.at == "" {
			*p.at = *p.from
		}
	}
	return ids
}
