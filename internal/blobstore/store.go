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
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/task"
)

// Errors of a Store. Callers test for them with errors.Is.
var (
	// ErrNotFound means that the task has no such part, or that it was removed.
	ErrNotFound = errors.New("no such part")
	// ErrLost means that the task has the part, but its file is missing.
	ErrLost = errors.New("the file of the part is missing")
)

// Grace is the minimum age of an unreferenced part before it is removed.
const Grace = 10 * time.Minute

// DefaultKeep is the default time for which parts are kept after the end of their task.
const DefaultKeep = 7 * 24 * time.Hour

// Key identifies a task.
type Key struct {
	Owner task.Owner
	Task  a2a.TaskID
}

// Digest is the SHA-256 of a content.
type Digest [sha256.Size]byte

// String returns 64 hexadecimal digits in lower case.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// ParseDigest parses the output of Digest.String and accepts no other form.
func ParseDigest(s string) (d Digest, ok bool) {
	if len(s) != hex.EncodedLen(len(d)) {
		return d, false
	}
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return d, false
		}
	}
	_, err := hex.Decode(d[:], []byte(s))
	return d, err == nil
}

// Part describes a part without its bytes.
type Part struct {
	Digest Digest
	// Size is the number of bytes.
	Size int64
	// MediaType and Filename are those of the first part with this content in the task. Both
	// may be empty, and both are untrusted.
	MediaType, Filename string
	// Keep is the time for which the part is kept after the end of its task.
	Keep time.Duration
	// Stored is the time at which the part was stored.
	Stored time.Time
}

// Options configure a Folder. The zero Options are ready to use.
type Options struct {
	// Keep is the time for which parts are kept after the end of their tasks. Zero means
	// DefaultKeep.
	Keep time.Duration
}

// Folder is a Store in a folder of files.
type Folder struct {
	keep time.Duration
	path string

	mu    sync.Mutex // guards the fields below, and the names of files
	tasks map[Key]*taskRefs
	files map[file]int // number of references to each content
}

// taskRefs holds the references of one task.
type taskRefs struct {
	refs map[Digest]*ref
	// looked is set after the end of the task was looked up. ended is zero for an open task.
	looked bool
	ended  time.Time
}

// ref is a reference of a task to a content.
type ref struct {
	Part

	// pending is set until an entry that names the part is known.
	pending bool
	// holders is the number of callers of Put or Link that have not yet called Keep, Drop or
	// Defer.
	holders int
}

// file identifies a content of an owner.
type file struct {
	owner  string // as the name of a folder
	digest Digest
}

// Open opens the folder at path and creates it if necessary. No other Folder may use it. Open
// removes the remains of incomplete parts.
func Open(path string, o Options) (*Folder, error) {
	if o.Keep <= 0 {
		o.Keep = DefaultKeep
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("open parts: %w", err)
	}
	s := &Folder{keep: o.Keep, path: path, tasks: make(map[Key]*taskRefs), files: make(map[file]int)}
	if err := s.load(); err != nil {
		return nil, fmt.Errorf("open parts in %s: %w", path, err)
	}
	return s, nil
}

// KeepAtMost limits the time for which parts are kept after the end of their tasks to d. It
// must be called before any other method.
func (s *Folder) KeepAtMost(d time.Duration) { s.keep = min(s.keep, d) }

// Put stores the bytes of r as a part of the task k, with MediaType and Filename from p. The
// bytes are on disk when it returns. The caller must then call Keep, Drop or Defer once for the
// part. A part that the task has already is not written again.
func (s *Folder) Put(k Key, p Part, r io.Reader) (Part, error) {
	temp, err := s.write(&p, r)
	if err != nil {
		return Part{}, fmt.Errorf("store part: %w", full(err))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	f := fileOf(k, p.Digest)
	if s.files[f] > 0 && s.existsLocked(f) {
		err = os.Remove(temp)
	} else {
		if err = s.moveLocked(temp, f); err != nil {
			err = errors.Join(err, s.tidyLocked(f))
		}
	}
	if err == nil {
		p, err = s.addRefLocked(k, p)
	}
	if err != nil {
		return Part{}, fmt.Errorf("store part: %w", full(err))
	}
	return p, nil
}

// Link adds a part of the task from to the task k, which has the same owner. As with Put, the
// caller must then call Keep, Drop or Defer. The error is ErrNotFound or ErrLost.
func (s *Folder) Link(k Key, from a2a.TaskID, d Digest) (Part, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.findLocked(Key{k.Owner, from}, d)
	if r == nil {
		return Part{}, ErrNotFound
	}
	if !s.existsLocked(fileOf(k, d)) {
		return Part{}, ErrLost
	}
	p, err := s.addRefLocked(k, r.Part)
	if err != nil {
		return Part{}, fmt.Errorf("link part: %w", full(err))
	}
	return p, nil
}

// Keep reports that an entry names the part that was put.
func (s *Folder) Keep(k Key, d Digest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.findLocked(k, d); r != nil {
		r.holders--
		s.confirmLocked(k, r)
	}
}

// Drop reports that no entry names the part that was put. The part is removed, unless another
// caller has put it too.
func (s *Folder) Drop(k Key, d Digest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.findLocked(k, d)
	if r == nil {
		return
	}
	if r.holders--; r.holders == 0 && r.pending {
		s.removeLocked(k, d)
	}
}

// Defer reports that it is unknown whether an entry names the part that was put. Sweep looks it
// up later.
func (s *Folder) Defer(k Key, d Digest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.findLocked(k, d); r != nil {
		r.holders--
	}
}

// Find returns the description of a part, or ErrNotFound.
func (s *Folder) Find(k Key, d Digest) (Part, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.findLocked(k, d); r != nil {
		return r.Part, nil
	}
	return Part{}, ErrNotFound
}

// Open opens a part for reading. The caller closes it. The error is ErrNotFound or ErrLost.
func (s *Folder) Open(k Key, d Digest) (*Content, error) {
	p, err := s.Find(k, d)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(s.content(fileOf(k, d)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrLost
	}
	if err != nil {
		return nil, fmt.Errorf("open part: %w", err)
	}
	return &Content{p, f}, nil
}

// Len returns the number of tasks with parts, and the number of contents.
func (s *Folder) Len() (tasks, contents int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.tasks), len(s.files)
}

func (s *Folder) findLocked(k Key, d Digest) *ref {
	if tr := s.tasks[k]; tr != nil {
		return tr.refs[d]
	}
	return nil
}

// addRefLocked creates a reference on disk, unless there is one, and holds it.
func (s *Folder) addRefLocked(k Key, p Part) (Part, error) {
	if r := s.findLocked(k, p.Digest); r != nil {
		r.holders++
		return r.Part, nil
	}
	p.Keep, p.Stored = s.keep, time.Now().Truncate(time.Second)
	if err := s.writeRef(k, &p); err != nil {
		return p, errors.Join(err, s.tidyLocked(fileOf(k, p.Digest)))
	}
	s.addLocked(k, &ref{Part: p, pending: true, holders: 1})
	return p, nil
}

func (s *Folder) addLocked(k Key, r *ref) {
	tr := s.tasks[k]
	if tr == nil {
		tr = &taskRefs{refs: make(map[Digest]*ref)}
		s.tasks[k] = tr
	}
	tr.refs[r.Digest] = r
	s.files[fileOf(k, r.Digest)]++
}

// removeLocked removes a reference, and the content with its last reference. Files that cannot
// be deleted are found again at the next Open.
func (s *Folder) removeLocked(k Key, d Digest) {
	tr, f := s.tasks[k], fileOf(k, d)
	for _, name := range []string{s.ref(f, k, true), s.ref(f, k, false)} {
		_ = os.Remove(name)
	}
	delete(tr.refs, d)
	if len(tr.refs) == 0 {
		delete(s.tasks, k)
	}
	if s.files[f]--; s.files[f] == 0 {
		delete(s.files, f)
		_ = s.tidyLocked(f)
	}
}

// confirmLocked records that an entry names the part.
func (s *Folder) confirmLocked(k Key, r *ref) {
	if !r.pending {
		return
	}
	f := fileOf(k, r.Digest)
	if err := os.Rename(s.ref(f, k, true), s.ref(f, k, false)); err == nil {
		r.pending = false // otherwise Sweep tries again
	}
}

// tidyLocked removes the folder of a content without references.
func (s *Folder) tidyLocked(f file) error {
	if s.files[f] > 0 {
		return nil
	}
	return os.RemoveAll(filepath.Dir(s.content(f)))
}

func (s *Folder) existsLocked(f file) bool {
	_, err := os.Stat(s.content(f))
	return err == nil
}
