package server

import (
	"context"
	"errors"
	"time"

	"github.com/parley-a2a/parley/internal/config"
	"github.com/parley-a2a/parley/internal/front/httpfront"
	"github.com/parley-a2a/parley/internal/registry"
	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/telemetry/export"
	"github.com/parley-a2a/parley/internal/telemetry/trace"
	"github.com/parley-a2a/parley/internal/version"
	"github.com/parley-a2a/parley/store/sqlitestore"
)

// flushTimeout is the time to send the last spans and metrics.
const flushTimeout = 3 * time.Second

// startTelemetry starts the telemetry that the configuration and the environment variables of
// OpenTelemetry enable.
func (h *Hub) startTelemetry(ctx context.Context) (err error) {
	h.telemetry, err = export.Start(ctx, export.Config{
		Metrics: h.cfg.Telemetry.Metrics != "off", Names: h.telemetryNames(),
		Version: version.Version, Logger: h.logger,
	})
	if err == nil {
		h.opened(h.stopTelemetry)
	}
	return err
}

// TelemetryNames returns the names that a part gives metrics and spans; nil if the configuration wants
// none.
type TelemetryNames func(c *config.Config) *export.Names

func (h *Hub) telemetryNames() *export.Names {
	for _, names := range registry.Added[TelemetryNames]() {
		if n := names(h.cfg); n != nil {
			return n
		}
	}
	return nil
}

// stopTelemetry sends the remaining telemetry. If the collector does not accept it, it logs a
// warning.
func (h *Hub) stopTelemetry() error {
	ctx, cancel := context.WithTimeout(context.Background(), flushTimeout)
	defer cancel()
	if err := h.telemetry.Shutdown(ctx); err != nil {
		h.logger.Warn("the last spans and metrics were not sent", "error", err)
	}
	return nil
}

// committed records a commit of the store.
func committed(c sqlitestore.Commit) { trace.Committed(c.Changes, c.Took, reasonOf(c.Err)) }

// reasonOf names the kind of a store error in one word; empty without an error.
func reasonOf(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, task.ErrFull):
		return "full"
	case errors.Is(err, task.ErrReadOnly):
		return "read_only"
	}
	return "unavailable"
}

// metricsReaders returns the callers that may read /metrics.
func metricsReaders(word string) httpfront.Readers {
	switch word {
	case "admin":
		return httpfront.Admins
	case "anyone":
		return httpfront.Anyone
	}
	return httpfront.Local
}
