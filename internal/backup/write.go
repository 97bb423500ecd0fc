package backup

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/parley-a2a/parley/internal/file/atomicfile"
	"github.com/parley-a2a/parley/store/sqlitestore"
)

// Names of files in a data folder and in a backup.
const (
	storeName    = "parley.db"
	auditName    = "audit"
	auditHead    = "head.json"
	lockName     = "parley.lock"
	headName     = "parley-backup.json"
	manifestName = "MANIFEST.json"
)

// Version is the version of the format that Write writes, and the newest that Restore reads.
const Version = 1

// head is the first entry of a backup.
type head struct {
	Format  string    `json:"format"`
	Version int       `json:"version"`
	Parley  string    `json:"parley"`
	Made    time.Time `json:"made"`
}

const formatName = "parley-backup"

// Manifest is the last entry of a backup: its files.
type Manifest struct {
	Tasks   int64  `json:"tasks"`
	Entries int64  `json:"entries"`
	Files   []File `json:"files"`
	// Losses describe the data that the folder was known to have had and had no more, although it
	// was backed up. The store in the backup has them as its note [sqlitestore.LossNote].
	Losses []string `json:"losses,omitempty"`
}

// File describes a file of a backup.
type File struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// Source describes the hub to back up. Dir is required.
type Source struct {
	// Dir is the data folder.
	Dir string
	// Outside maps names of subfolders, such as parts and audit, to folders elsewhere that are
	// configured in their place.
	Outside map[string]string
	// Parley is the version of the program, for information.
	Parley string
	// AcceptLoss backs up a folder also if it is known to have had more data; the backup says so.
	AcceptLoss bool
	// Lost describes known losses beside the store, such as that of the audit log.
	Lost []string
}

// Write writes a backup of src to a new file. It replaces no file. The error wraps
// [sqlitestore.ErrLost] for a folder that a hub would refuse because data is missing.
func Write(ctx context.Context, src Source, to string) (*Manifest, error) {
	m, err := write(ctx, &src, to)
	if err != nil {
		return nil, fmt.Errorf("back up %s: %w", src.Dir, err)
	}
	return m, nil
}

func write(ctx context.Context, src *Source, to string) (m *Manifest, err error) {
	if _, err := os.Lstat(to); !errors.Is(err, fs.ErrNotExist) {
		return nil, errors.Join(err, fmt.Errorf("%s: %w: choose another name", to, fs.ErrExist))
	}
	part := to + ".part"
	store := part + "-db"
	if err := removeAll(part, store, store+"-journal"); err != nil { // of a killed process
		return nil, err
	}
	defer func() { err = errors.Join(err, removeAll(part, store, store+"-journal")) }()
	n, err := sqlitestore.Copy(ctx, filepath.Join(src.Dir, storeName), store, sqlitestore.CopyOptions{AcceptLoss: src.AcceptLoss})
	if err != nil {
		return nil, err
	}
	losses := src.Lost
	if n.Loss != nil {
		losses = append([]string{n.Loss.Error()}, losses...)
	}
	if len(losses) > 0 {
		if !src.AcceptLoss {
			return nil, fmt.Errorf("%w: %s", sqlitestore.ErrLost, strings.Join(losses, "; "))
		}
		if err := sqlitestore.NoteLoss(store, losses); err != nil {
			return nil, err
		}
	}
	f, err := os.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	w := &writer{ctx: ctx, tar: tar.NewWriter(f), manifest: Manifest{Tasks: n.Tasks, Entries: n.Entries, Losses: losses}}
	err = w.all(src, store)
	if err == nil {
		err = atomicfile.Sync(f)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	return &w.manifest, atomicfile.Publish(part, to)
}

func removeAll(paths ...string) (err error) {
	for _, p := range paths {
		if gone := os.Remove(p); !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	}
	return err
}

// writer writes the entries of a backup.
type writer struct {
	ctx      context.Context
	tar      *tar.Writer
	manifest Manifest
}

func (w *writer) all(src *Source, store string) error {
	h := head{Format: formatName, Version: Version, Parley: src.Parley, Made: time.Now().UTC().Truncate(time.Second)}
	if err := w.json(headName, h); err != nil {
		return err
	}
	if err := w.file(storeName, store); err != nil {
		return err
	}
	if err := w.folder("", src.Dir, src.Outside); err != nil {
		return err
	}
	for name, dir := range src.Outside {
		if err := w.folder(name, dir, nil); err != nil {
			return err
		}
	}
	if err := w.json(manifestName, &w.manifest); err != nil {
		return err
	}
	return w.tar.Close()
}

func (w *writer) json(name string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	text = append(text, '\n')
	if err := w.header(name, int64(len(text))); err != nil {
		return err
	}
	_, err = w.tar.Write(text)
	return err
}

func (w *writer) header(name string, size int64) error {
	return w.tar.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o600, Format: tar.FormatPAX})
}

// skipped reports whether a file of a data folder is copied in another way, or made anew by a
// start.
func skipped(name string) bool {
	switch name {
	case lockName, "bus.json", "runs", "incoming", markerName:
		return true
	}
	return strings.HasPrefix(name, storeName)
}

// folder writes the files of a folder. The head of the audit log comes before its segments, which
// only grow. A file that was removed meanwhile is not part of the backup.
func (w *writer) folder(name, dir string, outside map[string]string) error {
	names, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if path.Base(name) == auditName {
		if err := w.file(path.Join(name, auditHead), filepath.Join(dir, auditHead)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	for _, n := range names {
		in := path.Join(name, n.Name())
		if name == "" && (skipped(in) || outside[in] != "") || path.Base(name) == auditName && n.Name() == auditHead {
			continue
		}
		if err := w.entry(in, filepath.Join(dir, n.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// entry writes a file or folder. Links are followed in the data folder only, so that they form no
// circle.
func (w *writer) entry(name, from string) error {
	stat := os.Lstat
	if !strings.Contains(name, "/") {
		stat = os.Stat
	}
	info, err := stat(from)
	switch {
	case err != nil:
		return err
	case info.IsDir():
		return w.folder(name, from, nil)
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is not a regular file: move it out of the data folder", from)
	}
	return w.file(name, from)
}

// file writes a file with the size that it has now.
func (w *writer) file(name, from string) error {
	if err := context.Cause(w.ctx); err != nil {
		return err
	}
	f, err := os.Open(from)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if err := w.header(name, info.Size()); err != nil {
		return err
	}
	sum := sha256.New()
	if _, err := io.CopyN(io.MultiWriter(w.tar, sum), f, info.Size()); err != nil {
		return fmt.Errorf("copy %s: %w", from, err)
	}
	w.manifest.Files = append(w.manifest.Files, File{name, info.Size(), digest(sum)})
	return nil
}

func digest(h hash.Hash) string { return hex.EncodeToString(h.Sum(nil)) }
