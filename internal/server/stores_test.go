package server

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/parley-a2a/parley/internal/config"
)

// TestInterruptedWait: a hub that is stopped while it waits for its database does not claim that it
// tries again.
func TestInterruptedWait(t *testing.T) {
	t.Parallel()
	stopped := errors.New("stopped")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 200*time.Millisecond, stopped)
	defer cancel()
	var log bytes.Buffer
	cfg := &config.Config{Data: t.TempDir(), Listen: "127.0.0.1:0", Store: "postgres://127.0.0.1:1/x"}
	_, err := Open(ctx, Options{Config: cfg, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if !errors.Is(err, stopped) || strings.Count(err.Error(), "stopped") != 1 {
		t.Errorf("Open = %v, want the cause of its end once", err)
	}
	if text := log.String(); !strings.Contains(text, "the hub waits for it") || strings.Contains(text, "tries again") {
		t.Errorf("the hub has logged %q", text)
	}
}
