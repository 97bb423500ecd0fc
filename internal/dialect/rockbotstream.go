package dialect

import (
	"bytes"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/json/rawjson"
)

// maxRockBotAnswer is the number of bytes of artifacts that a stream keeps for its final
// message. A stream of a task with larger artifacts ends without that message: its readers have
// received all of the content.
const maxRockBotAnswer = 64 << 10

// rockBotStream rewrites the frames of one stream. RockBot's streams end with the answer as a
// message: the message of the status, or else the content of the artifacts.
type rockBotStream struct {
	// whole is set if the stream began with the task. A client that resumes a stream has
	// already received a part of the answer.
	whole bool
	made  []rockBotArtifact
	size  int
}

type rockBotArtifact struct {
	// id is the artifact's id as JSON; parts is the content of its rewritten list of parts.
	id, parts []byte
}

// frames returns the events for a v1.0 frame.
func (s *rockBotStream) frames(v1 []byte) [][]byte {
	if name, _ := arm(v1); arms[name] == "" {
		return nil // RockBot has no other events
	}
	events := [][]byte{rockBotFrame(nil, v1)}
	switch name, v := arm(v1); name {
	case "task":
		s.whole = true
		for a := range rawjson.Elements(member(v, "artifacts")) {
			s.keep(a, false)
		}
	case "artifactUpdate":
		s.keep(member(v, "artifact"), string(member(v, "append")) == "true")
	case "statusUpdate":
		if msg := s.answer(v); msg != nil {
			events = append(events, msg)
		}
	}
	return events
}

// keep stores the parts of an artifact.
func (s *rockBotStream) keep(artifact []byte, more bool) {
	if !s.whole || s.size > maxRockBotAnswer {
		return
	}
	id := member(artifact, "artifactId")
	a := s.artifact(id)
	if !more {
		a.parts = nil
	}
	for part := range rawjson.Elements(member(artifact, "parts")) {
		if len(a.parts) > 0 {
			a.parts = append(a.parts, ',')
		}
		a.parts = wrapPart(a.parts, part)
		s.size += len(part)
	}
	if s.size > maxRockBotAnswer {
		s.made = nil
	}
}

func (s *rockBotStream) artifact(id []byte) *rockBotArtifact {
	for i := range s.made {
		if bytes.Equal(s.made[i].id, id) {
			return &s.made[i]
		}
	}
	s.size += len(id)
	s.made = append(s.made, rockBotArtifact{id: bytes.Clone(id)})
	return &s.made[len(s.made)-1]
}

// answer returns the message that follows the status that ends a task, or nil.
func (s *rockBotStream) answer(update []byte) []byte {
	status := member(update, "status")
	if !ended(member(status, "state")) {
		return nil
	}
	dst := []byte(`{"message":`)
	if msg := member(status, "message"); msg != nil {
		return append(promptKitMessage(dst, msg), '}')
	}
	dst = beginAnswer(dst, member(update, "contextId"), member(update, "taskId"))
	empty := len(dst)
	for _, a := range s.made {
		if len(a.parts) > 0 && len(dst) > empty {
			dst = append(dst, ',')
		}
		dst = append(dst, a.parts...)
	}
	if len(dst) == empty {
		return nil
	}
	return append(dst, "]}}"...)
}

// beginAnswer begins a message of the agent, up to its parts.
func beginAnswer(dst, contextID, taskID []byte) []byte {
	dst = rawjson.AppendString(append(dst, `{"messageId":`...), a2a.NewMessageID())
	dst = append(append(dst, `,"contextId":`...), contextID...)
	dst = append(append(dst, `,"taskId":`...), taskID...)
	return append(dst, `,"role":"agent","parts":[`...)
}
