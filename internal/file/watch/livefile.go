// Package watch tells when files change. It watches the folders in which a change may
// mean another content, so that files that come later, are replaced, or are links are
// seen as well. A program writes a file in several steps: one call is for all that comes
// before the folders are quiet, or for all of a second where they never are.
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
	// settle is how long a folder must be quiet before its files are read.
	settle = 100 * time.Millisecond
	// most is how long they are waited for: the folder of a busy database is never quiet.
	most = time.Second
)

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
	var since time.Time // of the first event that was not told; zero if there is none
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
				return fmt.Errorf("follow files: the system tells nothing any more")
			}
			stirred()
		case <-w.Errors:
			stirred() // something may have been missed
		case <-quiet.C:
			since = time.Time{}
			watch(w, paths) // links may lead elsewhere now
			changed()
		}
	}
}

// rest is how long to wait after an event, if the first one that was not told came so long ago.
func rest(waited time.Duration) time.Duration { return min(settle, max(0, most-waited)) }

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
