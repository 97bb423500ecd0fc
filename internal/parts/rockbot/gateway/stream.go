package gateway

import (
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/json/rawjson"
)

// stream rewrites the frames of one stream. RockBot's streams end with the answer as a
// message.
type stream struct {
	// whole returns the v1.0 Task; see Shape.Frames.
	whole func() []byte
}

// frames returns the events for a v1.0 frame.
func (s *stream) frames(v1 []byte) [][]byte {
	name, v := rawjson.First(v1)
	switch name {
	case "task", "message", "statusUpdate", "artifactUpdate":
	default:
		return nil // RockBot has no other events
	}
	events := [][]byte{appendFrame(nil, v1)}
	if status := rawjson.Member(v, "status"); name == "statusUpdate" && ended(rawjson.Member(status, "state")) {
		if msg := s.answer(status); msg != nil {
			events = append(events, append(append([]byte(`{"message":`), msg...), '}'))
		}
	}
	return events
}

// answer returns the message that follows the status that ends a task, or nil.
func (s *stream) answer(status []byte) []byte {
	if msg := rawjson.Member(status, "message"); msg != nil {
		return dialect.PlainMessage(nil, msg)
	}
	if s.whole == nil {
		return nil
	}
	if msg := rawjson.Member(rawjson.Member(s.whole(), "status"), "message"); msg != nil {
		return dialect.PlainMessage(nil, msg)
	}
	return nil
}
