package dialect

import "github.com/parley-a2a/parley/internal/json/rawjson"

// promptKitStream rewrites the frames of one stream into the order of PromptKit's server: a
// task is working from its first event on, and each chunk of an artifact appends.
type promptKitStream struct {
	// state is the last state sent, so that the reader sees only transitions that PromptKit
	// defines.
	state string
	// shown holds the ids of the artifacts of which a chunk was sent.
	shown map[string]bool
}

// frames returns the events for a v1.0 frame.
func (s *promptKitStream) frames(v1 []byte) [][]byte {
	switch name, v := arm(v1); name {
	case "task":
		return s.task(v)
	case "statusUpdate":
		return s.status(v)
	case "artifactUpdate":
		return append(s.resume(v), s.chunk(v))
	case "message":
		return [][]byte{promptKitAnswer(nil, v1)}
	}
	return nil
}

// task converts a snapshot: the status of the task, followed by its artifacts if the task is
// open. A finished task is sent as its status alone.
func (s *promptKitStream) task(t []byte) [][]byte {
	status := member(t, "status")
	s.state = promptKitState(member(status, "state"))
	if s.state == "submitted" {
		s.state = "working"
		status = rewriteObject(nil, status, func(dst []byte, name string, v []byte) []byte {
			if name == "state" {
				return append(dst, `"TASK_STATE_WORKING"`...)
			}
			return append(dst, v...)
		})
	}
	events := [][]byte{append(promptKitStatus(append(eventIDs(t), `,"status":`...), status), '}')}
	if promptKitEnded(s.state) {
		return events
	}
	for a := range rawjson.Elements(member(t, "artifacts")) {
		s.first(a)
		ev := append(eventIDs(t), `,"artifact":`...)
		events = append(events, append(promptKitArtifact(ev, a), '}'))
	}
	return events
}

// first reports whether this is the first chunk of an artifact, and records it.
func (s *promptKitStream) first(artifact []byte) bool {
	id, _ := rawjson.String(member(artifact, "artifactId"))
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
func (s *promptKitStream) chunk(v []byte) []byte {
	appends := s.first(member(v, "artifact")) || string(member(v, "append")) == "true"
	dst := append([]byte(nil), '{')
	for name, v := range rawjson.Fields(v) {
		switch name {
		case "append":
			continue
		case "artifact":
			dst = promptKitArtifact(appendName(dst, name), v)
			if appends {
				dst = append(dst, `,"append":true`...)
			}
		default:
			dst = append(appendName(dst, name), v...)
		}
	}
	return append(dst, '}')
}

// eventIDs begins an event with the ids of a task, or of an event.
func eventIDs(t []byte) []byte {
	id := member(t, "id")
	if id == nil {
		id = member(t, "taskId")
	}
	dst := append([]byte(`{"taskId":`), id...)
	context := member(t, "contextId")
	if context == nil {
		context = []byte(`""`)
	}
	return append(append(dst, `,"contextId":`...), context...)
}

func (s *promptKitStream) status(v []byte) [][]byte {
	var events [][]byte
	status := member(v, "status")
	next := promptKitState(member(status, "state"))
	if next == "working" && s.state == next && member(status, "message") == nil && member(v, "metadata") == nil {
		return nil // the reader has this state
	}
	if missesWorking(s.state, next) {
		events = append(events, workingEvent(v, member(status, "timestamp")))
	}
	s.state = next
	return append(events, promptKitChange(nil, v))
}

// resume returns a working event if v is the first event after an interrupted state.
func (s *promptKitStream) resume(v []byte) [][]byte {
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

func promptKitEnded(state string) bool {
	switch state {
	case "completed", "failed", "canceled", "rejected":
		return true
	}
	return false
}
