// Package trustfile reads and writes the file agent-trust.json. It is read when the hub starts
// and whenever it changes. An invalid file changes nothing, and its problem is logged. Writing
// replaces the file in one step.
package trustfile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"github.com/parley-a2a/parley/internal/file/atomicfile"
	"github.com/parley-a2a/parley/internal/file/textfile"
	"github.com/parley-a2a/parley/internal/file/watch"
	"github.com/parley-a2a/parley/internal/trust"
)

// Name is the default name of the file.
const Name = "agent-trust.json"

// maxFile is the largest size of a file in bytes.
const maxFile = 4 << 20

// File is a trust file. Its fields must not change once it is in use.
type File struct {
	// Paths are the possible paths of the file; the first that exists counts, and a new file is
	// written to the last.
	Paths []string
	// Logger receives a record for each problem of the file. It is required.
	Logger *slog.Logger

	mu   sync.Mutex // guards the fields below
	last []byte     // the content last read or written
	read bool       // the file existed
}

// Paths returns the paths of a hub's file: configured, or else those in the folders of
// Parley's files.
func Paths(configured, data string) []string {
	if configured != "" {
		return []string{configured}
	}
	return []string{Name, filepath.Join("workspace", Name), filepath.Join(data, Name)}
}

// Load passes the entries of the file to follow. A file that is invalid at the start is an
// error, so that a hub does not start with less trust, or more, than its owner configured.
func (f *File) Load(follow func([]trust.Entry)) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.loadLocked(follow)
}

func (f *File) loadLocked(follow func([]trust.Entry)) error {
	path, src, err := f.text()
	switch {
	case err != nil:
		return err
	case path == "":
		if f.read {
			follow(nil)
		}
		f.read, f.last = false, nil
		return nil
	case f.read && bytes.Equal(src, f.last):
		return nil
	}
	entries, problems, err := trust.ParseFile(src)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	for _, p := range problems {
		f.Logger.Warn("file of trust", "file", path, "error", p)
	}
	f.read, f.last = true, src
	follow(entries)
	return nil
}

// text returns the content of the file that counts; the path is empty if there is none.
func (f *File) text() (path string, src []byte, err error) {
	for _, path := range f.Paths {
		file, err := os.Open(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", nil, err
		}
		defer file.Close()
		src, err := io.ReadAll(io.LimitReader(file, maxFile+1))
		if err == nil && len(src) > maxFile {
			err = fmt.Errorf("is larger than %d MiB", maxFile>>20)
		}
		if err == nil {
			src, err = textfile.UTF8(src)
		}
		if err != nil {
			err = fmt.Errorf("%s: %w", path, err)
		}
		return path, src, err
	}
	return "", nil, nil
}

// Run passes the entries of the file to follow whenever it changes, until ctx ends.
func (f *File) Run(ctx context.Context, w *watch.Watcher, follow func([]trust.Entry)) {
	w.Follow(ctx, watch.File{Paths: f.Paths, Read: func(bool) error { return f.Load(follow) }})
}

// Write replaces the content of the file with entries.
func (f *File) Write(entries []trust.Entry) error {
	src, err := trust.FormatFile(entries)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	path, _, err := f.text()
	if err != nil {
		return err
	}
	if path == "" {
		path = f.Paths[len(f.Paths)-1]
	}
	if err := atomicfile.Replace(path, src, 0o600); err != nil {
		return err
	}
	f.read, f.last = true, src
	return nil
}
