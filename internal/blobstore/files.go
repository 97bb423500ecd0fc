package blobstore

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/file/atomicfile"
	"github.com/parley-a2a/parley/internal/task"
)

// The folder has two subfolders: files being written, and owners. A content has a folder in
// that of its owner, together with its references, one per task.
const (
	tempFolder  = "new"
	ownerFolder = "owners"
	contentName = "content"
	// refSuffix ends the name of a confirmed reference, newSuffix that of a pending one.
	refSuffix = ".json"
	newSuffix = ".new"
)

// refFile is the file form of a reference.
type refFile struct {
	Owner     task.Owner `json:"owner"`
	Task      a2a.TaskID `json:"task"`
	Size      int64      `json:"size"`
	MediaType string     `json:"mediaType,omitempty"`
	Filename  string     `json:"filename,omitempty"`
	Keep      int64      `json:"keepSeconds"`
	Stored    time.Time  `json:"stored"`
}

// nameOf returns a valid file name for an arbitrary text.
func nameOf(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:16])
}

func fileOf(k Key, d Digest) file { return file{nameOf(string(k.Owner)), d} }

func (s *Folder) folder(f file) string {
	return filepath.Join(s.path, ownerFolder, f.owner, f.digest.String())
}

func (s *Folder) content(f file) string { return filepath.Join(s.folder(f), contentName) }

func (s *Folder) ref(f file, k Key, pending bool) string {
	return filepath.Join(s.folder(f), RefName(k, f.digest, pending).base())
}

// write writes the bytes of r to a temporary file, and sets their size and digest in p.
func (s *Folder) write(p *Part, r io.Reader) (path string, err error) {
	f, err := os.CreateTemp(filepath.Join(s.path, tempFolder), "part-*")
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	p.Size, err = io.Copy(io.MultiWriter(f, sum), r)
	if err == nil {
		err = atomicfile.Sync(f)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	sum.Sum(p.Digest[:0])
	return f.Name(), nil
}

// moveLocked renames a temporary file to its content.
func (s *Folder) moveLocked(temp string, f file) error {
	folder := s.folder(f)
	err := os.MkdirAll(folder, 0o700)
	if err == nil {
		err = os.Rename(temp, s.content(f))
	}
	if err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	for dir := folder; dir != s.path; dir = filepath.Dir(dir) {
		if err := atomicfile.SyncFolder(dir); err != nil {
			return err
		}
	}
	return nil
}

func (s *Folder) writeRef(k Key, p *Part) error {
	b, err := MarshalRef(k, p)
	if err != nil {
		return err
	}
	return atomicfile.Replace(s.ref(fileOf(k, p.Digest), k, true), b, 0o600)
}

// load reads the folder.
func (s *Folder) load() error {
	temp := filepath.Join(s.path, tempFolder)
	if err := os.RemoveAll(temp); err != nil { // its files are always incomplete
		return err
	}
	if err := atomicfile.MkdirAll(s.path, 0o700); err != nil {
		return err
	}
	for _, dir := range []string{temp, filepath.Join(s.path, ownerFolder)} {
		if err := atomicfile.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	owners, err := os.ReadDir(filepath.Join(s.path, ownerFolder))
	if err != nil {
		return err
	}
	for _, owner := range owners {
		contents, err := os.ReadDir(filepath.Join(s.path, ownerFolder, owner.Name()))
		if err != nil {
			return err
		}
		for _, c := range contents {
			if d, ok := ParseDigest(c.Name()); ok {
				if err := s.loadContent(file{owner.Name(), d}); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// loadContent reads the references to a content. A content without references is removed.
func (s *Folder) loadContent(f file) error {
	names, err := os.ReadDir(s.folder(f))
	if err != nil {
		return err
	}
	for _, n := range names {
		pending := strings.HasSuffix(n.Name(), newSuffix)
		if !pending && !strings.HasSuffix(n.Name(), refSuffix) || strings.HasPrefix(n.Name(), ".") {
			continue
		}
		if err := s.loadRef(f, n.Name(), pending); err != nil {
			return err
		}
	}
	return s.tidyLocked(f)
}

func (s *Folder) loadRef(f file, name string, pending bool) error {
	path := filepath.Join(s.folder(f), name)
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	k, p, err := ParseRef(b)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if fileOf(k, f.digest) != f || s.findLocked(k, f.digest) != nil {
		return fmt.Errorf("%s: does not match this content, or is a duplicate", path)
	}
	p.Digest = f.digest
	s.addLocked(k, &ref{pending: pending, Part: p})
	return nil
}

// full classifies disk errors.
func full(err error) error {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("%w: %w", task.ErrFull, err)
	case errors.Is(err, syscall.EROFS):
		return fmt.Errorf("%w: %w", task.ErrReadOnly, err)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.EIO),
		errors.Is(err, syscall.EFBIG), errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return fmt.Errorf("%w: %w", task.ErrUnavailable, err)
	}
	return err
}
