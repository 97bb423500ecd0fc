package workers

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
	"github.com/parley-a2a/parley/internal/testing/natstest"
)

// TestStream: the stream that a worker of each language creates at a new server begins at a random sequence,
// so that a late acknowledgement of a delivery from an earlier stream matches no message. A server that is
// too old for that gets a stream, too.
func TestStream(t *testing.T) {
	t.Parallel()
	for version, program := range map[string]func(testing.TB) natstest.Program{"current": natstest.Current, "2.9": natstest.Debian} {
		for language, command := range besides(t) {
			t.Run(language+"/"+version, func(t *testing.T) {
				t.Parallel()
				server := natstest.Start(t, program(t))
				command.Args = append(append([]string(nil), command.Args...), server.URL, "poet")
				hubtest.Launch(t, command)
				first := firstSequence(t, server.URL)
				if old := version == "2.9"; (first <= 1) != old {
					t.Errorf("the stream begins at %d, want less than 2: %t", first, old)
				}
			})
		}
	}
}

// firstSequence waits for the stream of queues, and returns the sequence with which it begins.
func firstSequence(t *testing.T, url string) uint64 {
	t.Helper()
	js, err := natstest.Connect(t, url).JetStream()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for tick := time.Tick(50 * time.Millisecond); ; <-tick {
		info, err := js.StreamInfo("PARLEY", nats.Context(ctx))
		switch {
		case err == nil:
			return info.State.FirstSeq
		case !errors.Is(err, nats.ErrStreamNotFound) || ctx.Err() != nil:
			t.Fatalf("stream: %v", err)
		}
	}
}
