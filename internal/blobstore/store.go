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

// What a Store answers. Callers test with errors.Is.
var (
	// ErrNotFound: the task has no such part, or has it no more.
	ErrNotFound = errors.New("no such part")
	// ErrLost: the task has the part, but its file is missing.
	ErrLost = errors.New("the file of the part is missing")
)

// Grace is how old a part must be that no entry names before it is removed.
const Grace = 10 * time.Minute

// DefaultKeep is how long parts are kept after the end of their task, where Options do not
// say it.
const DefaultKeep = 7 * 24 * time.Hour

// Key names a task.
type Key struct {
	Owner task.Owner
	Task  a2a.TaskID
}

// Digest is the SHA-256 of a content.
type Digest [sha256.Size]byte

// String returns 64 hexadecimal digits in lower case.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// ParseDigest reads what String writes, and nothing else.
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

// Part is what is known of a part beside its bytes.
type Part struct {
	Digest Digest
	// Size is the number of bytes.
	Size int64
	// MediaType and Filename are those of the part that was stored first with this content
	// in the task; both may be empty, and both are what somebody else wrote.
	MediaType, Filename string
	// Keep is how long the part is kept after its task has ended.
	Keep time.Duration
	// Stored is when it was.
	Stored time.Time
}

// Content is an open part.
type Content struct {
	Part

	*os.File
}

// Options say how a Store works. The zero Options are ready to use.
type Options struct {
	// Keep is how long parts are kept after their tasks have ended. Zero means
	// DefaultKeep.
	Keep time.Duration
}

// Store is a folder of parts.
type Store struct {
	keep time.Duration
	path string

	mu    sync.Mutex // guards the fields below, and the names of files
	tasks map[Key]*shelf
	files map[file]int // how many references a content has
}

// shelf is what the Store has of one task.
type shelf struct {
	refs map[Digest]*ref
	// known is set once ended was asked for. ended is zero as long as the task is open.
	known bool
	ended time.Time
}

// ref is a reference of a task to a content.
type ref struct {
	Part

	// pending is set until an entry is known that names the part.
	pending bool
	// holders are those who have put it and not yet said what became of the entry.
	holders int
}

// file is a content of an owner.
type file struct {
	owner  string // as a name of a folder
	digest Digest
}

// Open opens the folder at path, or makes it; no other Store may have it. What is left there of
// parts that were never complete is removed.
func Open(path string, o Options) (*Store, error) {
	if o.Keep <= 0 {
		o.Keep = DefaultKeep
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("open parts: %w", err)
	}
	s := &Store{keep: o.Keep, path: path, tasks: make(map[Key]*shelf), files: make(map[file]int)}
	if err := s.load(); err != nil {
		return nil, fmt.Errorf("open parts in %s: %w", path, err)
	}
	return s, nil
}

// KeepAtMost makes s keep parts no longer than d after their tasks have ended. It is called
// before s is used.
func (s *Store) KeepAtMost(d time.Duration) { s.keep = min(s.keep, d) }

// Put stores the bytes of r as a part of the task k, whose MediaType and Filename p says.
// When it returns, they are on the disk. The caller then calls Keep, Drop or Leave once for
// the part. A part that the task has already is the same one, and is not written again.
func (s *Store) Put(k Key, p Part, r io.Reader) (Part, error) {
	temp, err := s.write(&p, r)
	if err != nil {
		return Part{}, fmt.Errorf("store part: %w", full(err))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	f := fileOf(k, p.Digest)
	if s.files[f] > 0 && s.thereLocked(f) {
		err = os.Remove(temp)
	} else {
		if err = s.moveLocked(temp, f); err != nil {
			err = errors.Join(err, s.tidyLocked(f))
		}
	}
	if err == nil {
		p, err = s.referLocked(k, p)
	}
	if err != nil {
		return Part{}, fmt.Errorf("store part: %w", full(err))
	}
	return p, nil
}

// Link makes a part of the task from one of the task k, too, which has the same owner. Like
// with Put, the caller then calls Keep, Drop or Leave. The error is ErrNotFound or ErrLost.
func (s *Store) Link(k Key, from a2a.TaskID, d Digest) (Part, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.findLocked(Key{k.Owner, from}, d)
	if r == nil {
		return Part{}, ErrNotFound
	}
	if !s.thereLocked(fileOf(k, d)) {
		return Part{}, ErrLost
	}
	p, err := s.referLocked(k, r.Part)
	if err != nil {
		return Part{}, fmt.Errorf("link part: %w", full(err))
	}
	return p, nil
}

// Keep says that an entry names the part that was put.
func (s *Store) Keep(k Key, d Digest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.findLocked(k, d); r != nil {
		r.holders--
		s.confirmLocked(k, r)
	}
}

// Drop says that no entry names the part that was put. It goes, unless somebody else has put
// it, too.
func (s *Store) Drop(k Key, d Digest) {
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

// Leave says that it is not known whether an entry names the part that was put. Sweep finds
// out.
func (s *Store) Leave(k Key, d Digest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.findLocked(k, d); r != nil {
		r.holders--
	}
}

// Find returns what is known of a part, or ErrNotFound.
func (s *Store) Find(k Key, d Digest) (Part, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.findLocked(k, d); r != nil {
		return r.Part, nil
	}
	return Part{}, ErrNotFound
}

// Open opens a part for reading. The caller closes it. The error is ErrNotFound or ErrLost.
func (s *Store) Open(k Key, d Digest) (*Content, error) {
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

// Len returns how many tasks have parts, and how many contents there are.
func (s *Store) Len() (tasks, contents int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.tasks), len(s.files)
}

func (s *Store) findLocked(k Key, d Digest) *ref {
	if shelf := s.tasks[k]; shelf != nil {
		return shelf.refs[d]
	}
	return nil
}

// referLocked makes a reference on the disk, unless there is one, and holds it.
func (s *Store) referLocked(k Key, p Part) (Part, error) {
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

func (s *Store) addLocked(k Key, r *ref) {
	sh := s.tasks[k]
	if sh == nil {
		sh = &shelf{refs: make(map[Digest]*ref)}
		s.tasks[k] = sh
	}
	sh.refs[r.Digest] = r
	s.files[fileOf(k, r.Digest)]++
}

// removeLocked removes a reference, and the content with the last one. What cannot be
// removed from the disk is found again when the folder is opened.
func (s *Store) removeLocked(k Key, d Digest) {
	sh, f := s.tasks[k], fileOf(k, d)
	for _, name := range []string{s.ref(f, k, true), s.ref(f, k, false)} {
		_ = os.Remove(name)
	}
	delete(sh.refs, d)
	if len(sh.refs) == 0 {
		delete(s.tasks, k)
	}
	if s.files[f]--; s.files[f] == 0 {
		delete(s.files, f)
		_ = s.tidyLocked(f)
	}
}

// confirmLocked notes that an entry names the part.
func (s *Store) confirmLocked(k Key, r *ref) {
	if !r.pending {
		return
	}
	f := fileOf(k, r.Digest)
	if err := os.Rename(s.ref(f, k, true), s.ref(f, k, false)); err == nil {
		r.pending = false // else Sweep tries again
	}
}

// tidyLocked removes the folder of a content that has no reference.
func (s *Store) tidyLocked(f file) error {
	if s.files[f] > 0 {
		return nil
	}
	return os.RemoveAll(filepath.Dir(s.content(f)))
}

func (s *Store) thereLocked(f file) bool {
	_, err := os.Stat(s.content(f))
	return err == nil
}
