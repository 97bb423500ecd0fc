package dialect

import "github.com/parley-a2a/parley/internal/json/rawjson"

// rockBotStream rewrites the frames of one stream. RockBot's streams end with the answer as a
// message.
type rockBotStream struct {
	// whole returns the v1.0 Task; see Shape.Frames.
	whole func() []byte
}

// frames returns the events for a v1.0 frame.
func (s *rockBotStream) frames(v1 []byte) [][]byte {
	name, v := rawjson.First(v1)
	if arms[name] == "" {
		return nil // RockBot has no other events
	}
	events := [][]byte{rockBotFrame(nil, v1)}
	if status := member(v, "status"); name == "statusUpdate" && ended(member(status, "state")) {
		if msg := s.answer(status); msg != nil {
			events = append(events, append(append([]byte(`{"message":`), msg...), '}'))
		}
	}
	return events
}

// answer returns the message that follows the status that ends a task, or nil.
func (s *rockBotStream) answer(status []byte) []byte {
	if msg := member(status, "message"); msg != nil {
		return PlainMessage(nil, msg)
	}
	if s.whole == nil {
		return nil
	}
	if msg := member(member(s.whole(), "status"), "message"); msg != nil {
		return PlainMessage(nil, msg)
	}
	return nil
}
