package peer_test

import (
	"context"
	"crypto/tls"
	"errors"
	"iter"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/outbound/peer"
	"github.com/parley-a2a/parley/internal/outbound/transport"
)

var errStreamed = errors.New("streamed")

// onlyCalls is a connection that only makes calls with one answer.
type onlyCalls struct{ transport.Conn }

func (onlyCalls) Call(_ context.Context, method string, _ []byte) ([]byte, error) {
	if method != "SendMessage" {
		return nil, errors.New(method)
	}
	return []byte(done), nil
}

func (onlyCalls) Stream(context.Context, string, []byte) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) { yield(nil, errStreamed) }
}

func (onlyCalls) Close() error { return nil }

// TestSingleAnswersAreNotStreamed: an agent of the official SDK confirms extensions at the end of a call
// over gRPC, which a stream reports after its first message.
func TestSingleAnswersAreNotStreamed(t *testing.T) {
	t.Parallel()
	for _, streaming := range []bool{false, true} {
		p := at(t, "http://127.0.0.1:2", a2a.TransportProtocolGRPC, "1.0", peer.Options{Retries: -1, Transports: map[a2a.TransportProtocol]transport.Factory{
			a2a.TransportProtocolGRPC: func(context.Context, a2a.AgentInterface, transport.HeaderFunc, *tls.Config) (transport.Conn, error) {
				return onlyCalls{}, nil
			},
		}})
		p.Card().A2A.Capabilities.Streaming = streaming
		var states []a2a.TaskState
		var last error
		for ev, err := range p.Stream(t.Context(), messageOf("hello")) {
			if last = err; err == nil {
				states = append(states, ev.State)
			}
		}
		switch {
		case streaming && !errors.Is(last, errStreamed):
			t.Errorf("a stream was not opened: %v, %v", states, last)
		case !streaming && (last != nil || len(states) != 1 || states[0] != a2a.TaskStateCompleted):
			t.Errorf("states = %v, %v, want one answer", states, last)
		}
	}
}
