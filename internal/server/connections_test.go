package server

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/internal/config"
)

// A file of before with limits.half_open works as before, with a notice.
func TestHalfOpenHasNoEffect(t *testing.T) {
	t.Parallel()
	for halfOpen, records := range map[int]int{0: 0, 7: 1} {
		var log strings.Builder
		c := &config.Config{File: "parley.yaml", Limits: config.Limits{Connections: 20, HalfOpen: halfOpen}}
		limit := (&Hub{cfg: c, logger: slog.New(slog.NewTextHandler(&log, nil))}).connections()
		if limit.Max != 20 || limit.Reserve != reservedConnections {
			t.Errorf("half_open %d: at most %d and %d connections", halfOpen, limit.Max, limit.Reserve)
		}
		if n := strings.Count(log.String(), "limits.half_open has no effect; remove it"); n != records {
			t.Errorf("half_open %d: %d notices, want %d", halfOpen, n, records)
		}
	}
}
