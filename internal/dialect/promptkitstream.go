package dialect

import "github.com/parley-a2a/parley/internal/rawjson"

// promptKitStream rewrites the frames of one stream. It remembers the last state, so
// that its reader sees only the transitions that PromptKit has.
type promptKitStream struct{ state string }

// frames returns the events that show a v1.0 frame.
func (s *promptKitStream) frames(v1 []byte) [][]byte {
	switch name, v := arm(v1); name {
	case "task":
		return s.task(v)
	case "statusUpdate":
		return s.status(v)
	case "artifactUpdate":
		return [][]byte{rewriteObject(nil, v, func(dst []byte, name string, v []byte) []byte {
			if name == "artifact" {
				return promptKitArtifact(dst, v)
			}
			return append(dst, v...)
		})}
	case "message":
		return [][]byte{promptKitAnswer(nil, v1)}
	}
	return nil
}

// task shows a snapshot: its status, and then what an open task has made so far. Of a
// task that has ended the status is all.
func (s *promptKitStream) task(t []byte) [][]byte {
	ids := eventIDs(t)
	status := member(t, "status")
	s.state = promptKitState(member(status, "state"))
	events := [][]byte{append(promptKitStatus(append(ids, `,"status":`...), status), '}')}
	if promptKitEnded(s.state) {
		return events
	}
	for a := range rawjson.Elements(member(t, "artifacts")) {
		ev := append(eventIDs(t), `,"artifact":`...)
		events = append(events, append(promptKitArtifact(ev, a), '}'))
	}
	return events
}

// eventIDs begins an event with the ids of a task.
func eventIDs(t []byte) []byte {
	dst := append([]byte(`{"taskId":`), member(t, "id")...)
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
	if missesWorking(s.state, next) {
		events = append(events, workingEvent(v, member(status, "timestamp")))
	}
	s.state = next
	return append(events, rewriteObject(nil, v, func(dst []byte, name string, v []byte) []byte {
		if name == "status" {
			return promptKitStatus(dst, v)
		}
		return append(dst, v...)
	}))
}

// missesWorking reports whether PromptKit has a working between two states.
func missesWorking(from, to string) bool {
	if from == to || to == "working" {
		return false
	}
	switch from {
	case "submitted":
		return true
	case "input_required", "auth_required":
		return to != "canceled"
	}
	return false
}

// workingEvent returns the event that is missing in front of the update v.
func workingEvent(v, timestamp []byte) []byte {
	dst := append([]byte(`{"taskId":`), member(v, "taskId")...)
	dst = append(append(dst, `,"contextId":`...), member(v, "contextId")...)
	dst = append(dst, `,"status":{"state":"working"`...)
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
