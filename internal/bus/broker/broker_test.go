package broker_test

import (
	"strings"
	"testing"

	"github.com/parley-a2a/parley/internal/bus/broker"
)

// TestErrorsHaveNoSecrets opens buses at addresses that are not valid, with an unescaped password for one.
func TestErrorsHaveNoSecrets(t *testing.T) {
	t.Parallel()
	for _, at := range []string{
		"nats://u:s3cret@host:bad", "nats://u:s3cret%@host", "nats://u:s3cret/1@host", "tls://127.0.0.1:1,u:s3cret%@host",
		"amqp://u:s3cret@host:bad", "amqp://u:s3cret%@host", "amqps://u:s3cret/1@host", "http://u:s3cret@host", "u:s3cret@host",
	} {
		b, err := broker.Open(t.Context(), at, nil)
		if b != nil || err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("Open(%s) = %v, %v, want an error without the password", at, b, err)
		}
	}
}
