package task

import (
	"slices"
	"strconv"

	"github.com/parley-a2a/parley/internal/json/rawjson"
)

// AppendJSON appends m as a JSON string with exactly three digits of a second, such as
// "2026-03-12T09:05:00.000Z" (specification §5.6.1). Never, the zero Millis, is null. Years
// outside 0000 to 9999 are written as the nearest of those.
func (m Millis) AppendJSON(dst []byte) []byte {
	if m == 0 {
		return append(dst, "null"...)
	}
	t := min(max(m, minMillis), maxMillis).Time()
	year, month, day := t.Date()
	hour, minute, second := t.Clock()
	dst = append(dst, '"', byte('0'+year/1000), byte('0'+year/100%10))
	dst = appendTwo(dst, year%100, '-')
	dst = appendTwo(dst, int(month), '-')
	dst = appendTwo(dst, day, 'T')
	dst = appendTwo(dst, hour, ':')
	dst = appendTwo(dst, minute, ':')
	dst = appendTwo(dst, second, '.')
	ms := t.Nanosecond() / 1e6
	dst = append(dst, byte('0'+ms/100))
	dst = appendTwo(dst, ms%100, 'Z')
	return append(dst, '"')
}

// The first and the last millisecond of four-digit years.
const (
	minMillis Millis = -62167219200000
	maxMillis Millis = 253402300799999
)

func appendTwo(dst []byte, n int, after byte) []byte {
	return append(dst, byte('0'+n/10), byte('0'+n%10), after)
}

// AppendFrame appends the StreamResponse object for e: the task, a status update or an artifact
// update (specification §3.2.3, §4.2). A further message of the caller has no frame; dst is
// then returned unchanged. Only the ids of h are used, so h may be newer than e.
func AppendFrame(dst []byte, h *Head, e *Entry) []byte {
	if dst == nil {
		dst = make([]byte, 0, frameSize(h, e))
	}
	switch e.Kind {
	case Created:
		dst = appendIDs(append(dst, `{"task":{"id":`...), h)
		dst = append(appendStatus(append(dst, `,"status":`...), e.State, nil, e.At), '}')
		dst = append(dst, `,"history":[`...)
		dst = append(dst, e.Body...)
		return append(dst, `]}}`...)
	case Status:
		dst = appendEventIDs(append(dst, `{"statusUpdate":{"taskId":`...), h)
		dst = appendStatus(append(dst, `,"status":`...), e.State, e.Body, e.At)
		dst = append(appendInside(dst, level(e.Others, inStatus)), '}')
		return appendFrameEnd(appendMeta(dst, e.Meta), e.Others)
	case Artifact:
		dst = appendEventIDs(append(dst, `{"artifactUpdate":{"taskId":`...), h)
		dst = append(dst, `,"artifact":`...)
		dst = append(dst, e.Body...)
		if e.Append {
			dst = append(dst, `,"append":true`...)
		}
		if e.LastChunk {
			dst = append(dst, `,"lastChunk":true`...)
		}
		return appendFrameEnd(appendMeta(dst, e.Meta), e.Others)
	case Other:
		return append(dst, e.Body...)
	}
	return dst
}

// frameSize returns a size that is sufficient for the frame of e unless an id has characters that
// are escaped.
func frameSize(h *Head, e *Entry) int {
	around := len(`{"artifactUpdate":{"taskId":"","contextId":"","artifact":,"append":true}}`)
	if e.Kind != Artifact {
		around = len(`{"statusUpdate":{"taskId":"","contextId":"","status":{"state":"TASK_STATE_INPUT_REQUIRED",` +
			`"message":,"timestamp":"2026-03-12T09:05:00.000Z"}}}`)
	}
	if e.LastChunk {
		around += len(`,"lastChunk":true`)
	}
	if len(e.Meta) > 0 {
		around += len(`,"metadata":`)
	}
	return around + len(h.ID) + len(h.ContextID) + len(e.Body) + len(e.Meta) + len(e.Others)
}

// appendHead leaves the object and its status open for further members.
func appendHead(dst []byte, h *Head, message []byte) []byte {
	dst = appendIDs(append(dst, `{"id":`...), h)
	return appendStatus(append(dst, `,"status":`...), h.State, message, h.StatusAt)
}

// appendIDs omits an empty context; it is optional in a Task.
func appendIDs(dst []byte, h *Head) []byte {
	if h.ContextID == "" {
		return rawjson.AppendString(dst, string(h.ID))
	}
	return appendEventIDs(dst, h)
}

func appendEventIDs(dst []byte, h *Head) []byte {
	dst = rawjson.AppendString(dst, string(h.ID))
	return rawjson.AppendString(append(dst, `,"contextId":`...), h.ContextID)
}

// appendStatus leaves the object open for further members.
func appendStatus(dst []byte, s State, message []byte, at Millis) []byte {
	dst = append(dst, `{"state":"`...)
	dst = append(dst, s.String()...)
	dst = append(dst, '"')
	if len(message) > 0 {
		dst = append(dst, `,"message":`...)
		dst = append(dst, message...)
	}
	if at != 0 {
		dst = at.AppendJSON(append(dst, `,"timestamp":`...))
	}
	return dst
}

func appendMeta(dst, meta []byte) []byte {
	if len(meta) == 0 {
		return dst
	}
	return append(append(dst, `,"metadata":`...), meta...)
}

// TaskOptions selects the parts of a task to show. The zero TaskOptions show the whole history
// and no artifacts.
type TaskOptions struct {
	// History is the largest number of messages to show, the most recent ones
	// (specification §3.2.4). Nil shows all of them; with zero the key is absent.
	History *int
	// Artifacts shows the artifacts.
	Artifacts bool
	// EmptyHistory writes an empty array instead of omitting the history key.
	EmptyHistory bool
	// Answer shows the artifacts since the last message of the caller also as the message of the
	// status of a completed task that has none, for readers of messages. It requires Artifacts.
	Answer bool
	// EmptyArtifacts writes an empty array if Artifacts is set and the task has
	// none.
	EmptyArtifacts bool
}

// AppendTask appends the whole Task object (specification §4.1.1). The status is that of h,
// which must be the head at the version of f. A nil Fold has no history, artifacts or metadata.
func (f *Fold) AppendTask(dst []byte, h *Head, o TaskOptions) []byte {
	if f == nil {
		f = &Fold{}
	}
	message := h.StatusMessage
	if o.Answer && o.Artifacts && h.State == Completed && len(message) == 0 {
		message = f.answer(h)
	}
	dst = append(appendInside(appendHead(dst, h, message), f.status), '}')
	if o.Artifacts && (len(f.artifacts) > 0 || o.EmptyArtifacts) {
		dst = f.AppendArtifacts(append(dst, `,"artifacts":`...))
	}
	if f.shown(o.History) > 0 || o.EmptyHistory {
		dst = f.AppendHistory(append(dst, `,"history":`...), h, o.History)
	}
	if f.meta.len() > 0 {
		dst = f.meta.append(append(dst, `,"metadata":`...))
	}
	if f.others.len() > 0 {
		dst = f.others.appendList(append(dst, ','))
	}
	return append(dst, '}')
}

// answer returns a message with the parts of the artifacts since the last message of the caller,
// or else of all artifacts; nil if there are none.
func (f *Fold) answer(h *Head) []byte {
	since := f.asked()
	if !slices.ContainsFunc(f.artifacts, func(a artifact) bool { return a.version > since && len(a.parts) > 0 }) {
		since = -1
	}
	dst := rawjson.AppendString([]byte(`{"messageId":`), string(h.ID)+"-answer")
	dst = appendEventIDs(append(dst, `,"taskId":`...), h)
	dst = append(dst, `,"role":"ROLE_AGENT","parts":[`...)
	empty := len(dst)
	for i := range f.artifacts {
		if a := &f.artifacts[i]; a.version <= since || len(a.parts) == 0 {
			continue
		}
		if len(dst) > empty {
			dst = append(dst, ',')
		}
		dst = f.artifacts[i].appendParts(dst)
	}
	if len(dst) == empty {
		return nil
	}
	return append(dst, "]}"...)
}

// AppendArtifacts appends the array of the task's artifacts, in the order of their creation.
func (f *Fold) AppendArtifacts(dst []byte) []byte {
	dst = append(dst, '[')
	for i := range f.artifacts {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = f.artifacts[i].append(dst)
	}
	return append(dst, ']')
}

// AppendHistory appends the array of at most n messages, the most recent ones; nil means all. A
// message of the caller that no run of the task read before the task ended has the member
// "parley.undelivered": true in its metadata.
func (f *Fold) AppendHistory(dst []byte, h *Head, n *int) []byte {
	dst = append(dst, '[')
	skip := f.historyLen() - f.shown(n)
	first := true
	for i := range f.messages {
		if i == f.current-1 {
			continue
		}
		if skip--; skip >= 0 {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		m := &f.messages[i]
		if m.caller && h.State.Terminal() && m.version > h.Consumed {
			dst = appendUndelivered(dst, m.body)
		} else {
			dst = append(dst, m.body...)
		}
	}
	return append(dst, ']')
}

// shown returns the number of messages within a limit.
func (f *Fold) shown(limit *int) int {
	if limit == nil {
		return f.historyLen()
	}
	return min(max(*limit, 0), f.historyLen())
}

// undelivered marks a message that no run read before the task ended.
const undelivered = "parley.undelivered"

func appendUndelivered(dst, body []byte) []byte {
	var meta members
	dst = append(dst, '{')
	for name, value := range rawjson.Fields(body) {
		if name == "metadata" {
			meta.merge(value)
			continue
		}
		dst = rawjson.AppendString(dst, name)
		dst = append(append(append(dst, ':'), value...), ',')
	}
	meta.set(undelivered, strconv.AppendBool(nil, true))
	dst = meta.append(append(dst, `"metadata":`...))
	return append(dst, '}')
}
