// Package watch reports changes of files. It watches all folders whose changes may affect the
// content of a file, so it also detects files that are created later, replaced, or symbolic
// links. Programs write a file in several steps: one call covers all changes until the folders
// have been quiet for a moment, or one second of changes if they are never quiet.
package watch

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	// settle is the time that a folder must be quiet before its files are read.
	settle = 100 * time.Millisecond
	// most is the longest delay of a call. The folder of a busy database is never quiet.
	most = time.Second
)

// Follow calls changed once when watching has begun, and then whenever the content at paths may
// have changed, until ctx ends. The paths may be files or folders, and need not exist.
func Follow(ctx context.Context, paths []string, changed func()) error {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("follow files: %w", err)
	}
	defer w.Close()
	watch(w, paths)
	changed() // covers changes before the watch began
	quiet := time.NewTimer(settle)
	quiet.Stop()
	var since time.Time // time of the first unreported event; zero if there is none
	stirred := func() {
		if since.IsZero() {
			since = time.Now()
		}
		quiet.Reset(rest(time.Since(since)))
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case _, ok := <-w.Events:
			if !ok {
				return fmt.Errorf("follow files: the system reports no more changes")
			}
			stirred()
		case <-w.Errors:
			stirred() // an event may have been missed
		case <-quiet.C:
			since = time.Time{}
			watch(w, paths) // links may have new targets
			changed()
		}
	}
}

// rest returns the delay after an event. waited is the age of the first unreported event.
func rest(waited time.Duration) time.Duration { return min(settle, max(0, most-waited)) }

// watch watches the folders that the content at paths depends on.
func watch(w *fsnotify.Watcher, paths []string) {
	for _, path := range paths {
		for _, dir := range watched(path) {
			_ = w.Add(dir) // missing folders are not watched
		}
	}
}

// watched returns the folders whose changes may affect the content of path.
func watched(path string) []string {
	dirs := []string{filepath.Dir(path)}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		dirs = append(dirs, path)
	}
	if real, err := filepath.EvalSymlinks(path); err == nil && real != path {
		dirs = append(dirs, filepath.Dir(real))
	}
	return dirs
}
