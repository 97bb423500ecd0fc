package server

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"

	"github.com/parley-a2a/parley/internal/config"
	"github.com/parley-a2a/parley/internal/file/watch"
)

// runtimeKeys are the keys of parley.yaml whose changes a running hub applies.
var runtimeKeys = []string{"log.level"}

type reloader struct {
	path   string
	level  *slog.LevelVar
	logger *slog.Logger

	mu      sync.Mutex     // guards the fields below
	applied *config.Config // the file at the start with the applied changes; nil before it was read
	last    *config.Config // the file as it was last read
}

// reloadConfig follows the configuration file, and reads it again on SIGHUP, until ctx ends.
func (h *Hub) reloadConfig(ctx context.Context) error {
	if h.cfg.File == "" {
		return nil
	}
	r := &reloader{path: h.cfg.File, level: h.level, logger: h.logger}
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	var wg sync.WaitGroup
	defer wg.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	wg.Go(func() {
		for {
			select {
			case <-hangups:
				r.read(true)
			case <-ctx.Done():
				return
			}
		}
	})
	return watch.Follow(ctx, []string{r.path}, func() { r.read(false) })
}

// read reads the file, applies the keys that can change at run time, and logs those that need a
// restart. asked is set if an operator has requested it: then a file without changes is logged.
func (r *reloader) read(asked bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c, err := config.Load(r.path)
	switch {
	case err != nil:
		r.logger.Error("the changed configuration is not applied; the earlier one stays in force", "file", r.path, "error", err)
		return
	case r.applied == nil:
		r.applied, r.last = c, c
		return
	case len(config.Changed(r.last, c)) == 0:
		if asked {
			r.logger.Info("the configuration has not changed", "file", r.path)
		}
		return
	}
	r.last = c
	var now, later []string
	for _, key := range config.Changed(r.applied, c) {
		if slices.Contains(runtimeKeys, key) && r.level != nil {
			now = append(now, key)
		} else {
			later = append(later, key)
		}
	}
	if len(now) > 0 {
		r.apply(c)
		r.logger.Info("applied a changed configuration", "file", r.path, "keys", now)
	}
	if len(later) > 0 {
		r.logger.Warn("changed keys of the configuration need a restart of the hub", "file", r.path, "keys", later)
	}
	if len(now)+len(later) == 0 {
		r.logger.Info("the configuration is that of the running hub again", "file", r.path)
	}
}

// apply applies the keys of runtimeKeys.
func (r *reloader) apply(c *config.Config) {
	level := slog.LevelInfo
	if c.Log.Level == "" || level.UnmarshalText([]byte(c.Log.Level)) == nil {
		r.level.Set(level)
		r.applied.Log.Level = c.Log.Level
	}
}
