package openaifront

import (
	"github.com/parley-a2a/parley/internal/front/exchange"
	"github.com/parley-a2a/parley/internal/front/surface"
	"github.com/parley-a2a/parley/internal/sse"
)

const chunkObject = "chat.completion.chunk"

// done is the last event of a stream.
var done = []byte("data: [DONE]\n\n")

// stream answers with the agent's output as it arrives. Once it has started, errors are events.
func (a *answer) stream() error {
	send, err := a.visit.Stream()
	if err != nil {
		return err
	}
	nothing := ""
	if send(a.chunk(choice{Delta: &delta{Role: "assistant", Content: &nothing}})) != nil {
		return nil
	}
	for ev, err := range a.turn.Events(a.visit.Request.Context(), a.visit.KeepAlive) {
		if err == nil {
			err = a.send(send, &ev)
		} else if !a.visit.Gone(err) {
			report := a.visit.Explain(err)
			_ = send(surface.AppendEvent(nil, problemOf(&report).body())) // the client may have disconnected
		}
		if err != nil {
			return nil
		}
	}
	return nil
}

// send sends an event. An error means that the reader has disconnected.
func (a *answer) send(send func([]byte) error, ev *exchange.Event) error {
	text := a.textOf(ev)
	var b []byte
	switch {
	case ev.Kind == exchange.Idle:
		b = sse.Comment
	case ev.Kind == exchange.End:
		b = a.end(ev, text)
	case text != "":
		b = a.chunk(choice{Delta: &delta{Content: &text}})
	default:
		return nil
	}
	return send(b)
}

// end returns the events that end the stream.
func (a *answer) end(ev *exchange.Event, text string) []byte {
	if p := a.failure(ev); p != nil {
		return surface.AppendEvent(nil, p.body())
	}
	var b []byte
	if text != "" {
		b = append(b, a.chunk(choice{Delta: &delta{Content: &text}})...)
	}
	last := a.completion(chunkObject, choice{Delta: &delta{Parts: a.rawParts()}, FinishReason: &stop})
	last.Metadata = a.metadata()
	b = surface.AppendEvent(b, marshal(last))
	if a.req.usage {
		c := a.completion(chunkObject)
		c.Choices, c.Usage = []choice{}, &a.usage
		b = surface.AppendEvent(b, marshal(c))
	}
	return append(b, done...)
}

func (a *answer) chunk(c choice) []byte {
	return surface.AppendEvent(nil, marshal(a.completion(chunkObject, c)))
}
