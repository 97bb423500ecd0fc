package server

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/config"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/file/watch"
)

type reloader struct {
	load   func() (*config.Config, error)
	level  *slog.LevelVar
	keys   *auth.Keyring
	logger *slog.Logger

	applied config.Config  // the configuration at the start with the applied changes
	last    *config.Config // the configuration as it was last read
}

// followFiles follows the files of the configuration until ctx ends, and reads all of them again
// on SIGHUP.
func (h *Hub) followFiles(ctx context.Context) error {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() { h.files.Run(ctx) })
	if h.tls != nil {
		wg.Go(func() { h.files.Follow(ctx, watch.File{Paths: h.tls.Paths(), Read: h.reloadTLS, Reports: true}) })
	}
	for {
		select {
		case <-hangups:
			h.logger.Info("reloading all configuration files")
			h.files.Reload()
		case <-ctx.Done():
			return nil
		}
	}
}

// reloadConfig follows the configuration file until ctx ends.
func (h *Hub) reloadConfig(ctx context.Context) error {
	if h.cfg.File == "" {
		return nil
	}
	load := h.load
	if load == nil {
		load = func() (*config.Config, error) { return config.Load(h.cfg.File) }
	}
	r := &reloader{load: load, level: h.level, keys: h.keys, logger: h.logger, applied: *h.cfg, last: h.cfg}
	h.files.Follow(ctx, watch.File{Paths: []string{h.cfg.File}, Read: func(asked bool) error { return r.read(ctx, asked) }})
	return nil
}

// followedCheck reports the files of the configuration whose content is not in force. A hub that
// keeps the earlier content is still ready.
func (h *Hub) followedCheck() engine.Check {
	c := engine.Check{Name: "configuration", OK: true}
	var all []string
	for _, p := range h.files.Problems() {
		all = append(all, filepath.Base(p.Path)+" is not applied; its earlier content stays in force, and the log has the reason")
	}
	if err := h.files.Untold(); err != nil {
		all = append(all, "changed files are read up to three seconds late: "+err.Error())
	}
	c.Detail = strings.Join(all, "; ")
	return c
}

// read reads the file, applies the keys that can change at run time, and logs those that need a
// restart. asked is set if an operator has requested it: then a file without changes is logged.
func (r *reloader) read(ctx context.Context, asked bool) error {
	c, err := r.load()
	if err != nil {
		return err
	}
	if len(config.Changed(r.last, c)) == 0 {
		if asked {
			r.logger.Info("the configuration has not changed", "file", c.File)
		}
		return nil
	}
	r.last = c
	var now, later []string
	callers := c.Auth.CallerKeys()
	for _, key := range config.Changed(&r.applied, c) {
		if slices.Contains(callers, key) || key == "log.level" && r.level != nil {
			now = append(now, key)
		} else {
			later = append(later, key)
		}
	}
	if len(now) > 0 {
		if err := r.apply(ctx, c, now); err != nil {
			return err
		}
		r.logger.Info("configuration changed and applied", "file", c.File, "keys", now)
	}
	if len(later) > 0 {
		r.logger.Warn("changed keys of the configuration need a restart of the hub", "file", c.File, "keys", later)
	}
	if len(now)+len(later) == 0 {
		r.logger.Info("the configuration matches the running hub again", "file", c.File)
	}
	return nil
}

// apply applies the keys that have changed: the level of the log, and the callers.
func (r *reloader) apply(ctx context.Context, c *config.Config, changed []string) error {
	level := slog.LevelInfo
	if slices.Contains(changed, "log.level") && (c.Log.Level == "" || level.UnmarshalText([]byte(c.Log.Level)) == nil) {
		r.level.Set(level)
		r.applied.Log.Level = c.Log.Level
	}
	if !slices.ContainsFunc(c.Auth.CallerKeys(), func(key string) bool { return slices.Contains(changed, key) }) {
		return nil
	}
	if err := r.keys.Configure(ctx, c.Auth.Keys()); err != nil {
		return err
	}
	r.applied.SetCallers(c)
	return nil
}
