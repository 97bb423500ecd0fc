package backup

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/parley-a2a/parley/internal/file/atomicfile"
	"github.com/parley-a2a/parley/internal/file/datadir"
	"github.com/parley-a2a/parley/store/sqlitestore"
)

// Errors of Restore. Callers test for them with errors.Is.
var (
	// ErrNotEmpty is returned for a folder that has data.
	ErrNotEmpty = errors.New("the folder has data")
	// ErrFormat is returned for a file that is not a backup, or one of a newer version.
	ErrFormat = errors.New("the file is not a backup that this version can read")
	// ErrDamaged is returned for a backup that was cut off or changed.
	ErrDamaged = errors.New("the backup is damaged")
)

// markerName is the folder in a data folder into which Restore writes.
const markerName = ".restoring"

// maxJSON limits the entries of a backup that Restore keeps in memory.
const maxJSON = 256 << 20

// Unfinished reports whether a Restore of the data folder has not finished.
func Unfinished(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, markerName))
	return err == nil
}

// Restore restores a backup into the data folder dir, which must not exist or have no data.
func Restore(ctx context.Context, from, dir string) (*Manifest, error) {
	m, err := restore(ctx, from, dir)
	if err != nil {
		return nil, fmt.Errorf("restore %s into %s: %w", from, dir, err)
	}
	return m, nil
}

func restore(ctx context.Context, from, dir string) (_ *Manifest, err error) {
	f, err := os.Open(from)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := vacant(dir); err != nil {
		return nil, err
	}
	held, err := datadir.Open(dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, held.Close()) }()
	return fill(ctx, f, dir)
}

// fill restores a backup into a folder that this process holds. Another one may have filled it before.
func fill(ctx context.Context, from io.Reader, dir string) (m *Manifest, err error) {
	if err := vacant(dir); err != nil {
		return nil, err
	}
	if err := clearRemains(dir); err != nil {
		return nil, err
	}
	marker := filepath.Join(dir, markerName)
	if err := atomicfile.MkdirAll(marker, 0o700); err != nil {
		return nil, err
	}
	r := &reader{ctx: ctx, in: &position{r: from}, dir: marker}
	if m, err = r.all(); err == nil {
		err = examined(ctx, filepath.Join(marker, storeName), m)
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(marker))
	}
	if err := atomicfile.SyncFolders(marker); err != nil {
		return nil, err
	}
	return m, moveIn(marker, dir)
}

// vacant returns ErrNotEmpty for a folder with files that are not remains of a Restore.
func vacant(dir string) error {
	names, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	has := func(name string) bool {
		return slices.ContainsFunc(names, func(n fs.DirEntry) bool { return n.Name() == name })
	}
	if has(markerName) && !has(storeName) {
		return nil
	}
	for _, n := range names {
		if n.Name() != lockName {
			return fmt.Errorf("%w (%s): choose a new folder, or move the old one", ErrNotEmpty, n.Name())
		}
	}
	return nil
}

// clearRemains removes the files of a Restore that did not finish. The marker is the last.
func clearRemains(dir string) error {
	names, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, n := range names {
		if n.Name() != lockName && n.Name() != markerName {
			err = errors.Join(err, os.RemoveAll(filepath.Join(dir, n.Name())))
		}
	}
	if err != nil {
		return err
	}
	return os.RemoveAll(filepath.Join(dir, markerName))
}

// moveIn moves the files into the folder, the store last: without it, another Restore begins
// again.
func moveIn(marker, dir string) error {
	names, err := os.ReadDir(marker)
	if err != nil {
		return err
	}
	for _, n := range names {
		if n.Name() == storeName {
			continue
		}
		if err := os.Rename(filepath.Join(marker, n.Name()), filepath.Join(dir, n.Name())); err != nil {
			return err
		}
	}
	if err := atomicfile.SyncFolder(dir); err != nil {
		return err
	}
	if err := os.Rename(filepath.Join(marker, storeName), filepath.Join(dir, storeName)); err != nil {
		return err
	}
	if err := atomicfile.SyncFolder(dir); err != nil {
		return err
	}
	if err := os.Remove(marker); err != nil {
		return err
	}
	return atomicfile.SyncFolder(dir)
}

// position counts the bytes that were read.
type position struct {
	r io.Reader
	n int64
}

func (p *position) Read(b []byte) (int, error) {
	n, err := p.r.Read(b)
	p.n += int64(n)
	return n, err
}

// reader reads the entries of a backup into a folder.
type reader struct {
	ctx   context.Context
	in    *position
	dir   string
	found []File
}

func (r *reader) all() (*Manifest, error) {
	t := tar.NewReader(r.in)
	if err := r.head(t); err != nil {
		return nil, err
	}
	for {
		h, err := t.Next()
		if err != nil {
			return nil, r.damaged("an entry", err)
		}
		if h.Name == manifestName {
			return r.manifest(t)
		}
		if err := r.file(h.Name, t); err != nil {
			return nil, err
		}
	}
}

// damaged describes an error of the file at its position.
func (r *reader) damaged(subject string, err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: it is cut off after %d bytes, in %s: use another backup", ErrDamaged, r.in.n, subject)
	}
	return fmt.Errorf("%w at byte %d, in %s: %w: use another backup", ErrDamaged, r.in.n, subject, err)
}

func (r *reader) head(t *tar.Reader) error {
	e, err := t.Next()
	if err != nil || e.Name != headName {
		return ErrFormat
	}
	var h head
	if err := json.NewDecoder(io.LimitReader(t, maxJSON)).Decode(&h); err != nil {
		return r.damaged(headName, err)
	}
	if h.Format != formatName || h.Version > Version || h.Version < 1 {
		return fmt.Errorf("%w: its format has version %d, and this parley reads %d: use parley %s", ErrFormat, h.Version, Version, h.Parley)
	}
	return nil
}

// file writes an entry to the folder.
func (r *reader) file(name string, from io.Reader) error {
	if err := context.Cause(r.ctx); err != nil {
		return err
	}
	// Local names have no "..", and no backup has a name of the folder's own.
	first, _, _ := strings.Cut(name, "/")
	if !filepath.IsLocal(name) || path.Clean(name) != name || first == markerName || first == lockName {
		return fmt.Errorf("%w at byte %d: invalid file name %q: use another backup", ErrDamaged, r.in.n, name)
	}
	to := filepath.Join(r.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return r.damaged(name, err)
	}
	if err != nil {
		return err
	}
	defer f.Close()
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(f, sum), from)
	if err != nil {
		if failed := new(fs.PathError); errors.As(err, &failed) {
			return err // of the folder
		}
		return r.damaged(name, err)
	}
	r.found = append(r.found, File{name, n, digest(sum)})
	return atomicfile.Sync(f)
}

// manifest compares the files with the manifest.
func (r *reader) manifest(from io.Reader) (*Manifest, error) {
	text, err := io.ReadAll(io.LimitReader(from, maxJSON))
	var m Manifest
	if err == nil {
		err = json.Unmarshal(text, &m)
	}
	if err != nil {
		return nil, r.damaged(manifestName, err)
	}
	for i, f := range r.found {
		if i >= len(m.Files) || m.Files[i] != f {
			return nil, fmt.Errorf("%w: %s is not the file of the manifest: use another backup", ErrDamaged, f.Name)
		}
	}
	if len(m.Files) != len(r.found) || len(m.Files) == 0 || m.Files[0].Name != storeName {
		return nil, fmt.Errorf("%w: the manifest names %d files, and %d are there: use another backup", ErrDamaged, len(m.Files), len(r.found))
	}
	return &m, nil
}

// examined examines a restored store like parley doctor, and compares it with the manifest.
func examined(ctx context.Context, path string, m *Manifest) error {
	var errs []error
	n, err := sqlitestore.Examine(ctx, path, func(p sqlitestore.Problem) {
		if len(errs) == 0 {
			errs = append(errs, fmt.Errorf("%w: %s", ErrDamaged, p.Text))
		}
	})
	if err == nil && len(errs) == 0 && (n.Tasks != m.Tasks || n.Entries != m.Entries) {
		err = fmt.Errorf("%w: the store has %d tasks with %d entries, and the manifest %d with %d: use another backup",
			ErrDamaged, n.Tasks, n.Entries, m.Tasks, m.Entries)
	}
	return errors.Join(append(errs, err)...)
}
