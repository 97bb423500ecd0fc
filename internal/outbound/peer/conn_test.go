package peer

import (
	"context"
	"errors"
	"iter"
	"testing"

	"github.com/parley-a2a/parley/client/transport"
	"github.com/parley-a2a/parley/internal/dialect"
)

// onlyCalls is a connection that only makes calls with one answer.
type onlyCalls struct{ transport.Conn }

func (onlyCalls) Call(_ context.Context, method string, params []byte) ([]byte, error) {
	return append([]byte(method+" "), params...), nil
}

func (onlyCalls) Stream(context.Context, string, []byte) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) { yield(nil, errors.New("streamed")) }
}

// TestSingleAnswersAreNotStreamed: an agent of the official SDK confirms extensions at the end of a call
// over gRPC, which a stream reports after its first message.
func TestSingleAnswersAreNotStreamed(t *testing.T) {
	t.Parallel()
	var got []string
	for raw, err := range results(t.Context(), onlyCalls{}, dialect.SendMessage, []byte("x")) {
		if err != nil {
			t.Error(err)
		}
		got = append(got, string(raw))
	}
	if len(got) != 1 || got[0] != "SendMessage x" {
		t.Errorf("answers = %q, want one", got)
	}
	for _, err := range results(t.Context(), onlyCalls{}, dialect.SendStreamingMessage, nil) {
		if err == nil {
			t.Error("a stream was not opened")
		}
	}
}
