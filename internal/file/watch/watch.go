// Package watch follows files for a whole process.
//
// # How it works
//
// A [Watcher] compares the identity, time and size of all followed files every two seconds. The
// notifications of the system only make it faster: they cause a comparison once the folder has
// been quiet for a moment, or after one second of changes. A changed file itself must be left alone
// for a moment, because its writer may not have finished. One instance of inotify serves all
// files.
//
// # Guarantees
//
// A file that is created later, replaced, or behind a link that changes is read, also if its
// folder was replaced, was missing for a while, or has become the mount of another disk. If the
// system has no instance of inotify left for the user, files are followed by time only, and the
// Watcher tries again later.
//
// # Non-guarantees
//
// A change that keeps the time and the size of a file, long after the last one, is only read on
// Reload.
package watch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	// settle is the time that a folder must be quiet before its files are compared.
	settle = 100 * time.Millisecond
	// most is the longest delay of a comparison. The folder of a busy database is never quiet.
	most = time.Second
	// every is the time between comparisons without a notification.
	every = 2 * time.Second
	// retry is the time after which the system is asked for notifications again.
	retry = time.Minute
)

// File is a followed file.
type File struct {
	// Paths are the paths whose content counts: files or folders, which need not exist.
	Paths []string
	// Read reads the content. It is called once when following begins, then whenever the content
	// may have changed, and with asked set on Reload. Its error is the reason why the current
	// content is not in force.
	Read func(asked bool) error
	// Reports is set if Read logs its errors. Otherwise each is logged once.
	Reports bool
}

// Problem is the reason why the content of a file is not in force.
type Problem struct {
	Path string
	Err  error
}

// Watcher follows files. Its fields must not change once it runs.
type Watcher struct {
	// Logger receives a record when a file is not applied, and when the system gives no
	// notifications. It is required.
	Logger *slog.Logger
	// Open asks the system for notifications. If nil, it is fsnotify.NewWatcher.
	Open func() (*fsnotify.Watcher, error)

	mu        sync.Mutex // guards the fields below
	system    *fsnotify.Watcher
	untold    error // why the system does not report all changes
	followers []*follower
}

// follower is a followed file.
type follower struct {
	File

	wake    chan struct{} // a notification; has room for one
	look    chan struct{} // the time for a comparison; has room for one
	asked   chan struct{} // a Reload; has room for one
	folders []string      // those that are watched; guarded by Watcher.mu
	problem error         // guarded by Watcher.mu
	seen    stamp
}

// Run compares the files until ctx ends. Without it no change is noticed. It fails never because
// the system gives no notifications.
func (w *Watcher) Run(ctx context.Context) {
	var listening sync.WaitGroup
	defer listening.Wait()
	listening.Go(func() { w.listen(ctx) })
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			w.each(func(f *follower) { poke(f.look) })
		case <-ctx.Done():
			return
		}
	}
}

// Reload makes all files be read again.
func (w *Watcher) Reload() { w.each(func(f *follower) { poke(f.asked) }) }

// Problems returns the files whose content is not in force.
func (w *Watcher) Problems() (all []Problem) {
	w.each(func(f *follower) {
		if f.problem != nil {
			all = append(all, Problem{f.Paths[0], f.problem})
		}
	})
	return all
}

// Untold returns the reason why the system does not report all changes, so that they are noticed
// by time; nil if it does.
func (w *Watcher) Untold() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.untold
}

func (w *Watcher) each(do func(*follower)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, f := range w.followers {
		do(f)
	}
}

// poke puts a value into a channel with room for one.
func poke(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Follow calls f.Read until ctx ends.
func (w *Watcher) Follow(ctx context.Context, file File) {
	f := &follower{File: file, wake: make(chan struct{}, 1), look: make(chan struct{}, 1), asked: make(chan struct{}, 1)}
	w.mu.Lock()
	w.followers = append(w.followers, f)
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.followers = slices.DeleteFunc(w.followers, func(one *follower) bool { return one == f })
	}()
	w.watch(f)
	f.seen = stampOf(f.Paths)
	w.read(f, false) // covers changes before following began
	quiet := time.NewTimer(settle)
	quiet.Stop()
	var since time.Time // time of the first change that was not read; zero if there is none
	later := func(wait time.Duration) {
		if since.IsZero() {
			since = time.Now()
		}
		quiet.Reset(min(wait, max(0, most-time.Since(since))))
	}
	for {
		asked := false
		select {
		case <-ctx.Done():
			return
		case <-f.wake:
			later(settle)
			continue
		case <-quiet.C:
		case <-f.look:
			if !since.IsZero() {
				continue // until the folder is quiet
			}
		case <-f.asked:
			asked = true
		}
		w.watch(f) // folders may be others than before
		now := stampOf(f.Paths)
		if wait := now.settling(); wait > 0 && !asked && (since.IsZero() || time.Since(since) < most) {
			later(wait)
			continue
		}
		since = time.Time{}
		if asked || !now.same(&f.seen) || f.seen.young() {
			f.seen = now
			w.read(f, asked)
		}
	}
}

// read calls f.Read, and logs its error unless the last one was the same.
func (w *Watcher) read(f *follower, asked bool) {
	err := f.Read(asked)
	w.mu.Lock()
	before := f.problem
	f.problem = err
	w.mu.Unlock()
	if err == nil || f.Reports || before != nil && before.Error() == err.Error() {
		return
	}
	w.Logger.Error("a changed file is not applied; its earlier content stays in force", "file", f.Paths[0], "error", err)
}

// listen passes the notifications of the system on until ctx ends.
func (w *Watcher) listen(ctx context.Context) {
	open := w.Open
	if open == nil {
		open = fsnotify.NewWatcher
	}
	for ctx.Err() == nil {
		system, err := open()
		if err == nil {
			w.use(system)
			err = w.pass(ctx, system)
			w.use(nil)
			_ = system.Close()
		}
		if ctx.Err() != nil {
			return
		}
		w.missed(fmt.Errorf("the system reports no changes of files: %w", err))
		select {
		case <-time.After(retry):
		case <-ctx.Done():
		}
	}
}

// missed records the reason why the system does not report all changes, and logs it once.
func (w *Watcher) missed(err error) {
	w.mu.Lock()
	first := w.untold == nil
	w.untold = err
	w.mu.Unlock()
	if first {
		w.Logger.Warn("changed files are read up to three seconds late; on Linux raise fs.inotify.max_user_instances and max_user_watches", "error", err)
	}
}

// use makes system the one that reports changes.
func (w *Watcher) use(system *fsnotify.Watcher) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.system = system; system == nil {
		return
	}
	w.untold = nil
	for _, f := range w.followers {
		f.folders = nil
		poke(f.wake) // it watches its folders, and reads earlier changes
	}
}

// pass wakes the followers of changed folders until ctx ends or the system reports no more.
func (w *Watcher) pass(ctx context.Context, system *fsnotify.Watcher) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case e, ok := <-system.Events:
			if !ok {
				return errors.New("it has stopped")
			}
			w.each(func(f *follower) {
				if slices.Contains(f.folders, filepath.Dir(e.Name)) || slices.Contains(f.folders, e.Name) {
					poke(f.wake)
				}
			})
		case <-system.Errors: // an event may have been missed
			w.each(func(f *follower) { poke(f.wake) })
		}
	}
}

// watch asks the system to report changes of the folders on which the content of f depends.
func (w *Watcher) watch(f *follower) {
	var folders []string
	for _, path := range f.Paths {
		folders = append(folders, watched(path)...)
	}
	w.mu.Lock()
	system := w.system
	f.folders = folders
	w.mu.Unlock()
	if system == nil {
		return
	}
	for _, dir := range folders {
		err := system.Add(dir)
		if err != nil && !errors.Is(err, os.ErrNotExist) && !errors.Is(err, fsnotify.ErrClosed) {
			w.missed(fmt.Errorf("the system reports no changes of folder %s: %w", dir, err))
		}
	}
}

// watched returns the folders whose changes may affect the content of path.
func watched(path string) []string {
	path = filepath.Clean(path)
	dirs := []string{filepath.Dir(path)}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		dirs = append(dirs, path)
	}
	if real, err := filepath.EvalSymlinks(path); err == nil && real != path {
		dirs = append(dirs, filepath.Dir(real))
	}
	return dirs
}
