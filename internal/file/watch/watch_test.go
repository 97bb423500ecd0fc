package watch_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsnotify/fsnotify"
	"go.uber.org/goleak"

	"github.com/parley-a2a/parley/internal/file/watch"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// run runs w and follows path, until the end of the test. Each content that was read is sent to
// the channel, a missing file as its error.
func run(t *testing.T, w *watch.Watcher, path string) <-chan string {
	t.Helper()
	read := make(chan string, 1000)
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() { w.Run(ctx) })
	all.Go(func() {
		w.Follow(ctx, watch.File{Paths: []string{path}, Read: func(bool) error {
			text, err := os.ReadFile(path)
			if err != nil {
				text = []byte(err.Error())
			}
			read <- string(text)
			return err
		}})
	})
	t.Cleanup(func() { cancel(); all.Wait() })
	return read
}

// none is a system without an instance of inotify for this user.
func none() (*fsnotify.Watcher, error) { return nil, syscall.EMFILE }

// TestFollow changes a file in all ways in which deployments do, with and without notifications of
// the system.
func TestFollow(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func() (*fsnotify.Watcher, error){"notified": nil, "by time": none} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			// As a volume of Kubernetes: the file is a link to a link to a folder.
			for _, folder := range []string{"v1", "v2"} {
				write(t, filepath.Join(root, folder, "rules"), folder)
			}
			link := func(to, name string) {
				t.Helper()
				if err := errors.Join(os.Symlink(to, filepath.Join(root, "new")), os.Rename(filepath.Join(root, "new"), filepath.Join(root, name))); err != nil {
					t.Fatal(err)
				}
			}
			link("v1", "data")
			folder := filepath.Join(root, "folder")
			path := filepath.Join(folder, "rules")
			if err := errors.Join(os.Mkdir(folder, 0o700), os.Symlink("../data/rules", path)); err != nil {
				t.Fatal(err)
			}
			read := run(t, &watch.Watcher{Logger: slog.New(slog.DiscardHandler), Open: open}, path)
			until := func(what, want string) {
				t.Helper()
				timeout := time.After(2 * time.Minute)
				for {
					select {
					case got := <-read:
						if strings.Contains(got, want) {
							return
						}
					case <-timeout:
						t.Fatalf("%s: %q was never read", what, want)
					}
				}
			}
			until("at first", "v1")
			link("v2", "data")
			until("another target of the inner link", "v2")
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			write(t, path, "a file")
			until("a file for the link", "a file")
			write(t, path, "in place")
			until("written in place", "in place")
			if err := os.Rename(folder, folder+".old"); err != nil {
				t.Fatal(err)
			}
			until("a folder that is gone", "no such file")
			write(t, path, "another folder")
			until("another folder", "another folder")
			write(t, path, "later")
			until("written in the other folder", "later")
			if err := os.Rename(root, root+".old"); err != nil {
				t.Fatal(err)
			}
			write(t, path, "another root")
			until("the folder above was replaced", "another root")
		})
	}
}

// Without notifications files are followed by time, which is logged once.
func TestNoInstances(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		w := &watch.Watcher{Logger: slog.New(slog.NewTextHandler(&log, nil)), Open: none}
		path := filepath.Join(t.TempDir(), "file")
		write(t, path, "first")
		read := run(t, w, path)
		if got := <-read; got != "first" {
			t.Errorf("read %q", got)
		}
		write(t, path, "second")
		began := time.Now()
		for got := range read {
			if got == "second" {
				break
			}
		}
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("a change was read after %v", took)
		}
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if err := w.Untold(); !errors.Is(err, syscall.EMFILE) {
			t.Errorf("Untold: %v", err)
		}
		if n := strings.Count(log.String(), "max_user_instances"); n != 1 {
			t.Errorf("%d records, want 1:\n%s", n, &log)
		}
	})
}

// A file is read once its writer has left it alone for a moment, and after one second at the latest.
func TestHalfWritten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "file")
		change := func(text string) {
			write(t, path, text)
			if err := os.Chtimes(path, time.Time{}, time.Now()); err != nil { // the clock of the test
				t.Fatal(err)
			}
		}
		change("first")
		read := run(t, &watch.Watcher{Logger: slog.New(slog.DiscardHandler), Open: none}, path)
		forget := func() {
			for len(read) > 0 {
				<-read
			}
		}
		time.Sleep(10*time.Second - 20*time.Millisecond) // shortly before a comparison
		synctest.Wait()
		forget()
		change("half")
		began := time.Now()
		time.Sleep(50 * time.Millisecond)
		synctest.Wait()
		change("whole")
		if got := <-read; got != "whole" || time.Since(began) != 150*time.Millisecond {
			t.Errorf("%q is read after %v", got, time.Since(began))
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		forget()
		began = time.Now()
		for len(read) == 0 {
			change("busy")
			time.Sleep(60 * time.Millisecond)
			synctest.Wait()
		}
		if took := time.Since(began); took < time.Second || took > 3100*time.Millisecond {
			t.Errorf("a file that is never left alone is read after %v", took)
		}
	})
}

// An error is logged once, and the problem lasts until the content is in force. Reload reads files
// without a change.
func TestProblems(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		w := &watch.Watcher{Logger: slog.New(slog.NewTextHandler(&log, nil)), Open: none}
		path := filepath.Join(t.TempDir(), "file")
		write(t, path, "good")
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		defer all.Wait()
		defer cancel()
		asks := 0
		all.Go(func() { w.Run(ctx) })
		all.Go(func() {
			w.Follow(ctx, watch.File{Paths: []string{path}, Read: func(asked bool) error {
				if asked {
					asks++
				}
				if text, err := os.ReadFile(path); err != nil || string(text) != "good" {
					return errors.New("line 1 is wrong")
				}
				return nil
			}})
		})
		problem := func(want int) {
			t.Helper()
			time.Sleep(10 * time.Second)
			if got := w.Problems(); len(got) != want || want > 0 && got[0].Path != path {
				t.Errorf("problems %v, want %d", got, want)
			}
		}
		problem(0)
		for _, text := range []string{"", "g", "goo"} {
			write(t, path, text)
			problem(1)
		}
		if n := strings.Count(log.String(), "line 1 is wrong"); n != 1 {
			t.Errorf("%d records, want 1:\n%s", n, &log)
		}
		w.Reload()
		problem(1)
		write(t, path, "good")
		problem(0)
		if asks != 1 {
			t.Errorf("%d reads on Reload, want 1", asks)
		}
	})
}

// A file in a folder with constant changes is read nevertheless.
func TestBusyFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	read := run(t, &watch.Watcher{Logger: slog.New(slog.DiscardHandler)}, path)
	<-read
	write(t, path, "new")
	timeout := time.After(2 * time.Minute)
	for other := filepath.Join(dir, "other"); ; {
		write(t, other, "x")
		select {
		case got := <-read:
			if got == "new" {
				return
			}
		case <-timeout:
			t.Fatal("the file was not read")
		default:
		}
	}
}
