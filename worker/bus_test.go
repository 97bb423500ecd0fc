package worker_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/worker"
)

// TestDialWithoutABroker: a bus opens while its broker is down, and reports that it is.
func TestDialWithoutABroker(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"nats://127.0.0.1:1", "amqp://127.0.0.1:1"} {
		b, err := worker.Dial(t.Context(), url, nil)
		if err != nil {
			t.Fatalf("Dial(%s): %v", url, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // do not wait for the broker
		if n, err := worker.Waiting(ctx, b, "echo"); !errors.Is(err, worker.ErrUnavailable) {
			t.Errorf("Waiting() at %s = %d, %v, want ErrUnavailable", url, n, err)
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestDialRejectsAddresses: the error of an invalid address shows the right form, and no password.
func TestDialRejectsAddresses(t *testing.T) {
	t.Parallel()
	for _, url := range []string{
		"", "u:geheim@host", "host:4222", "http://u:geheim@host", "nats://u:geheim@host:port", "tls://u:geheim/x@host:4222", "amqp://u:geheim@host:port", "amqps://u:geheim/x@host",
	} {
		b, err := worker.Dial(t.Context(), url, slog.New(slog.DiscardHandler))
		if err == nil || b != nil {
			t.Errorf("Dial(%q) = %v, %v, want an error alone", url, b, err)
			continue
		}
		if text := err.Error(); strings.Contains(text, "geheim") || !strings.Contains(text, "nats://") && !strings.Contains(text, "amqp://") || strings.Contains(text, " at ://") {
			t.Errorf("Dial(%q) = %s", url, text)
		}
	}
}
