package promptkit

import (
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/json/rawjson"
)

// stream rewrites the frames of one stream into the order of PromptKit's server: a
// task is working from its first event on, and each chunk of an artifact appends.
type stream struct {
	// state is the last state sent, so that the reader sees only transitions that PromptKit
	// defines.
	state string
	// shown holds the ids of the artifacts of which a chunk was sent.
	shown map[string]bool
}

// frames returns the events for a v1.0 frame.
func (s *stream) frames(v1 []byte) [][]byte {
	switch name, v := rawjson.First(v1); name {
	case "task":
		return s.task(v)
	case "statusUpdate":
		return s.status(v)
	case "artifactUpdate":
		return append(s.resume(v), s.chunk(v))
	case "message":
		return [][]byte{appendAnswer(nil, v1)}
	}
	return nil
}

// task converts a snapshot: the status of the task, followed by its artifacts if the task is
// open. A finished task is sent as its status alone.
func (s *stream) task(t []byte) [][]byte {
	status := rawjson.Member(t, "status")
	s.state = dialect.StateWord(rawjson.Member(status, "state"))
	if s.state == "submitted" {
		s.state = "working"
		status = rawjson.RewriteObject(nil, status, func(dst []byte, name string, v []byte) []byte {
			if name == "state" {
				return append(dst, `"TASK_STATE_WORKING"`...)
			}
			return append(dst, v...)
		})
	}
	events := [][]byte{append(appendStatus(append(eventIDs(t), `,"status":`...), status), '}')}
	if dialect.EndsTask(s.state) {
		return events
	}
	for a := range rawjson.Elements(rawjson.Member(t, "artifacts")) {
		s.first(a)
		ev := append(eventIDs(t), `,"artifact":`...)
		events = append(events, append(dialect.PlainArtifact(ev, a), '}'))
	}
	return events
}

// first reports whether this is the first chunk of an artifact, and records it.
func (s *stream) first(artifact []byte) bool {
	id, _ := rawjson.String(rawjson.Member(artifact, "artifactId"))
	if s.shown[id] {
		return false
	}
	if s.shown == nil {
		s.shown = make(map[string]bool)
	}
	s.shown[id] = true
	return true
}

// chunk converts a chunk of an artifact. The first chunk has append set, like all later ones; a
// chunk that replaces an earlier artifact does not.
func (s *stream) chunk(v []byte) []byte {
	appends := s.first(rawjson.Member(v, "artifact")) || string(rawjson.Member(v, "append")) == "true"
	dst := append([]byte(nil), '{')
	for name, v := range rawjson.Fields(v) {
		switch name {
		case "append":
			continue
		case "artifact":
			dst = dialect.PlainArtifact(rawjson.AppendName(dst, name), v)
			if appends {
				dst = append(dst, `,"append":true`...)
			}
		default:
			dst = append(rawjson.AppendName(dst, name), v...)
		}
	}
	return append(dst, '}')
}

// eventIDs begins an event with the ids of a task, or of an event.
func eventIDs(t []byte) []byte {
	id := rawjson.Member(t, "id")
	if id == nil {
		id = rawjson.Member(t, "taskId")
	}
	dst := append([]byte(`{"taskId":`), id...)
	context := rawjson.Member(t, "contextId")
	if context == nil {
		context = []byte(`""`)
	}
	return append(append(dst, `,"contextId":`...), context...)
}

func (s *stream) status(v []byte) [][]byte {
	var events [][]byte
	status := rawjson.Member(v, "status")
	next := dialect.StateWord(rawjson.Member(status, "state"))
	if next == "working" && s.state == next && rawjson.Member(status, "message") == nil && rawjson.Member(v, "metadata") == nil {
		return nil // the reader has this state
	}
	if missesWorking(s.state, next) {
		events = append(events, workingEvent(v, rawjson.Member(status, "timestamp")))
	}
	s.state = next
	return append(events, appendChange(nil, v))
}

// resume returns a working event if v is the first event after an interrupted state.
func (s *stream) resume(v []byte) [][]byte {
	if s.state != "input_required" && s.state != "auth_required" {
		return nil
	}
	s.state = "working"
	return [][]byte{workingEvent(v, nil)}
}

// missesWorking reports whether PromptKit requires a working state between two states.
func missesWorking(from, to string) bool {
	if from == to || to == "working" {
		return false
	}
	switch from {
	case "input_required", "auth_required":
		return to != "canceled"
	}
	return false
}

// workingEvent returns the working event to insert before the update v.
func workingEvent(v, timestamp []byte) []byte {
	dst := append(eventIDs(v), `,"status":{"state":"working"`...)
	if timestamp != nil {
		dst = append(append(dst, `,"timestamp":`...), timestamp...)
	}
	return append(dst, "}}"...)
}
