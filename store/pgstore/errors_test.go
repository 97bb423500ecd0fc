package pgstore

import (
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/parley-a2a/parley/internal/task"
)

// TestConnectionErrorsAreOneLine: an operator reads each reason once, and on one line.
func TestConnectionErrorsAreOneLine(t *testing.T) {
	t.Parallel()
	_, cause := pgconn.Connect(t.Context(), "postgres://anna@127.0.0.1:1/x")
	err := unavailable(cause)
	if !errors.Is(err, task.ErrUnavailable) {
		t.Errorf("unavailable(%v) = %v, want ErrUnavailable", cause, err)
	}
	text := err.Error()
	if strings.ContainsAny(text, "\n\t") || strings.Count(text, "connection refused") != 1 {
		t.Errorf("the error is %q, want one line with one reason", text)
	}
	if _, ok := errors.AsType[*pgconn.ConnectError](err); !ok {
		t.Errorf("%v does not wrap the error of the driver", err)
	}
}

func TestRefusedTLSIsLeftOut(t *testing.T) {
	t.Parallel()
	const head, noTLS, reason = "failed to connect:", "[::1]:5432: tls error: server refused TLS connection", "[::1]:5432: server error: no such role"
	for given, want := range map[string]string{
		head + " " + noTLS:                      head + " " + noTLS,
		head + "\n\t" + noTLS + "\n\t" + reason: head + " " + reason,
		head + "\n\t" + noTLS + "\n\t" + noTLS:  head + " " + noTLS,
	} {
		if got := (connectError{errors.New(given)}).Error(); got != want {
			t.Errorf("the error of %q is %q, want %q", given, got, want)
		}
	}
}
