package model

import (
	"slices"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// artifactID is the artifact with the answer.
const artifactID = "answer"

// output is the artifact with the text that this execution has written. A message of the model
// is written as it arrives, except its newest piece, so that the last piece can be marked as
// the last chunk. A new message replaces the text of an earlier one.
type output struct {
	// begun is set if a piece of the current message was written; held is the newest piece.
	begun, holds bool
	held         string
	// sealed is set if the artifact is complete.
	sealed bool
}

// add writes a piece of text.
func (o *output) add(s *session, text string) {
	if o.holds {
		o.write(s, false, a2a.NewTextPart(o.held))
	}
	o.held, o.holds = text, true
}

// end writes the held piece. last is set if the message is the answer.
func (o *output) end(s *session, last bool, parts a2a.ContentParts) {
	var rest a2a.ContentParts
	if o.holds {
		rest = append(rest, a2a.NewTextPart(o.held))
	}
	if last {
		rest = append(rest, parts...)
	}
	o.held, o.holds = "", false
	if len(rest) == 0 {
		return
	}
	o.write(s, last, rest...)
	o.sealed = o.sealed || last
}

func (o *output) write(s *session, last bool, parts ...*a2a.Part) {
	ev := a2a.NewArtifactUpdateEvent(s.ec, artifactID, parts...)
	ev.Append, ev.LastChunk = o.begun, last
	o.begun = true
	s.emit(ev, nil)
}

// whole writes the complete answer, unless the artifact is complete already.
func (o *output) whole(s *session, text string, parts a2a.ContentParts) error {
	if o.sealed || s.call != nil && slices.Contains(s.call.Sealed, artifactID) {
		return nil
	}
	*o = output{}
	if text != "" {
		parts = append(a2a.ContentParts{a2a.NewTextPart(text)}, parts...)
	}
	o.end(s, true, parts)
	return nil
}
