// Package livefile tells when files change. It watches the folders in which a change may
// mean another content, so that files that come later, are replaced, or are links are
// seen as well. A program writes a file in several steps: one call is for all that comes
// before the folders are quiet.
package livefile

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

// settle is how long a folder must be quiet before its files are read.
const settle = 100 * time.Millisecond

// Follow calls changed once when it watches, and then whenever something may have
// changed at paths, until ctx ends. The paths may be files or folders, and need not be
// there.
func Follow(ctx context.Context, paths []string, changed func()) error {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("follow files: %w", err)
	}
	defer w.Close()
	watch(w, paths)
	changed() // what has happened before
	quiet := time.NewTimer(settle)
	quiet.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case _, ok := <-w.Events:
			if !ok {
				return fmt.Errorf("follow files: the system tells nothing any more")
			}
			quiet.Reset(settle)
		case <-w.Errors:
			quiet.Reset(settle) // something may have been missed
		case <-quiet.C:
			watch(w, paths) // links may lead elsewhere now
			changed()
		}
	}
}

// watch watches the folders on which it depends what is read.
func watch(w *fsnotify.Watcher, paths []string) {
	for _, path := range paths {
		for _, dir := range watched(path) {
			_ = w.Add(dir) // one that is not there is not watched
		}
	}
}

// watched returns the folders in which a change may mean another content of path.
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
