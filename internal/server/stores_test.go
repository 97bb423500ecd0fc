package server

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/internal/config"
)

// stopAt is a log that calls stop when it gets a record with a text.
type stopAt struct {
	bytes.Buffer
	text string
	stop func()
}

func (l *stopAt) Write(p []byte) (int, error) {
	if strings.Contains(string(p), l.text) {
		l.stop()
	}
	return l.Buffer.Write(p)
}

// TestInterruptedWait: a hub that is stopped while it waits for its database does not claim that it
// tries again.
func TestInterruptedWait(t *testing.T) {
	t.Parallel()
	stopped := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	log := &stopAt{text: "waiting for it", stop: func() { cancel(stopped) }}
	cfg := &config.Config{Data: t.TempDir(), Listen: "127.0.0.1:0", Store: config.Store{Home: "postgres://127.0.0.1:1/x"}}
	_, err := Open(ctx, Options{Config: cfg, Logger: slog.New(slog.NewTextHandler(log, nil))})
	if !errors.Is(err, stopped) || strings.Count(err.Error(), "stopped") != 1 {
		t.Errorf("Open = %v, want the cause of its end once", err)
	}
	if text := log.String(); !strings.Contains(text, log.text) || strings.Contains(text, "retrying") {
		t.Errorf("the hub has logged %q", text)
	}
}
