package blobstore_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/blobstore"
	"github.com/parley-a2a/parley/internal/task"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func openStore(t testing.TB, dir string) *blobstore.Folder {
	t.Helper()
	s, err := blobstore.Open(dir, blobstore.Options{Keep: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func put(t testing.TB, s blobstore.Store, k blobstore.Key, text string) blobstore.Part {
	t.Helper()
	p, err := s.Put(k, blobstore.Part{MediaType: "text/plain", Filename: "a.txt"}, strings.NewReader(text))
	if err != nil {
		t.Fatalf("Put(%v) = %v", k, err)
	}
	return p
}

func read(t testing.TB, s *blobstore.Folder, k blobstore.Key, d blobstore.Digest) (string, error) {
	t.Helper()
	c, err := s.Open(k, d)
	if err != nil {
		return "", err
	}
	defer c.Close()
	b, err := io.ReadAll(c)
	if err != nil {
		t.Fatal(err)
	}
	return string(b), nil
}

// files returns the names of all files below dir.
func files(t testing.TB, dir string) (names []string) {
	t.Helper()
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() {
			names = append(names, info.Name())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

var (
	one   = blobstore.Key{Owner: "alice", Task: "t1"}
	two   = blobstore.Key{Owner: "alice", Task: "t2"}
	other = blobstore.Key{Owner: "bob", Task: "t1"}
)

func TestPutAndOpen(t *testing.T) {
	t.Parallel()
	s := openStore(t, t.TempDir())
	p := put(t, s, one, "hello")
	if want := blobstore.Digest(sha256.Sum256([]byte("hello"))); p.Digest != want || p.Size != 5 || p.Keep != time.Hour {
		t.Errorf("Put() = %+v", p)
	}
	if got, err := read(t, s, one, p.Digest); got != "hello" || err != nil {
		t.Errorf("Open() = %q, %v", got, err)
	}
	for _, k := range []blobstore.Key{two, other, {Owner: "", Task: "t1"}, {Owner: "alice"}} {
		if _, err := read(t, s, k, p.Digest); !errors.Is(err, blobstore.ErrNotFound) {
			t.Errorf("Open(%v) = %v, want ErrNotFound", k, err)
		}
	}
}

// Contents are shared within an owner only, so that no owner can detect the contents of others.
func TestSharing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openStore(t, dir)
	count := func() (n int) {
		for _, name := range files(t, dir) {
			if name == "content" {
				n++
			}
		}
		return n
	}
	p := put(t, s, one, "same")
	put(t, s, two, "same")
	if n := count(); n != 1 {
		t.Errorf("two tasks of an owner have %d files, want 1", n)
	}
	put(t, s, other, "same")
	if n := count(); n != 2 {
		t.Errorf("two owners have %d files, want 2", n)
	}
	s.Drop(one, p.Digest)
	if _, err := read(t, s, one, p.Digest); !errors.Is(err, blobstore.ErrNotFound) {
		t.Errorf("a part that was dropped: %v", err)
	}
	for _, k := range []blobstore.Key{two, other} {
		if got, err := read(t, s, k, p.Digest); got != "same" || err != nil {
			t.Errorf("Open(%v) after another task has let go = %q, %v", k, got, err)
		}
	}
	s.Drop(two, p.Digest)
	s.Drop(other, p.Digest)
	if names := files(t, dir); len(names) > 0 {
		t.Errorf("left behind: %q", names)
	}
}

// If two callers put the same part into a task, a Drop by one does not affect the other.
func TestDropIsOnesOwn(t *testing.T) {
	t.Parallel()
	s := openStore(t, t.TempDir())
	p := put(t, s, one, "x")
	put(t, s, one, "x")
	s.Drop(one, p.Digest)
	if _, err := read(t, s, one, p.Digest); err != nil {
		t.Errorf("after the first Drop: %v", err)
	}
	s.Keep(one, p.Digest)
	put(t, s, one, "x")
	s.Drop(one, p.Digest)
	if _, err := read(t, s, one, p.Digest); err != nil {
		t.Errorf("a part that an entry names was dropped: %v", err)
	}
}

func TestLink(t *testing.T) {
	t.Parallel()
	s := openStore(t, t.TempDir())
	p := put(t, s, one, "x")
	if _, err := s.Link(other, one.Task, p.Digest); !errors.Is(err, blobstore.ErrNotFound) {
		t.Errorf("Link() to a task of another owner = %v, want ErrNotFound", err)
	}
	if _, err := s.Link(two, one.Task, p.Digest); err != nil {
		t.Errorf("Link() = %v", err)
	}
	s.Drop(one, p.Digest)
	if got, err := read(t, s, two, p.Digest); got != "x" || err != nil {
		t.Errorf("the link alone = %q, %v", got, err)
	}
}

func TestReopen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openStore(t, dir)
	kept, pending := put(t, s, one, "kept"), put(t, s, one, "pending")
	s.Keep(one, kept.Digest)
	// An incomplete file, and a content without references.
	for name, text := range map[string]string{
		"new/part-1": "half", "owners/" + strings.Repeat("a", 32) + "/" + kept.Digest.String() + "/content": "kept",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s = openStore(t, dir)
	for _, p := range []blobstore.Part{kept, pending} {
		got, err := s.Find(one, p.Digest)
		if err != nil || got.MediaType != "text/plain" || got.Filename != "a.txt" || !got.Stored.Equal(p.Stored) || got.Keep != p.Keep || got.Size != p.Size {
			t.Errorf("Find() after opening again = %+v, %v, want %+v", got, err, p)
		}
	}
	if n := len(files(t, dir)); n != 4 {
		t.Errorf("there are %d files, want 4: %q", n, files(t, dir))
	}
}

func TestLost(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openStore(t, dir)
	p := put(t, s, one, "x")
	matches, err := filepath.Glob(filepath.Join(dir, "owners", "*", "*", "content"))
	if err != nil || len(matches) != 1 {
		t.Fatal(matches, err)
	}
	if err := os.Remove(matches[0]); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Open(one, p.Digest); !errors.Is(err, blobstore.ErrLost) {
		t.Errorf("Open() of a missing file = %v, want ErrLost", err)
	}
	if _, err := s.Link(two, one.Task, p.Digest); !errors.Is(err, blobstore.ErrLost) {
		t.Errorf("Link() to a missing file = %v, want ErrLost", err)
	}
	put(t, s, two, "x") // restores it
	if got, err := read(t, s, one, p.Digest); got != "x" || err != nil {
		t.Errorf("after it was put again: %q, %v", got, err)
	}
}

// tasks are the tasks of a hub.
type tasks struct {
	mu    sync.Mutex
	ended map[blobstore.Key]time.Time
	names map[blobstore.Key][]blobstore.Digest
	asked int
	err   error
}

func (s *tasks) Ended(_ context.Context, k blobstore.Key) (time.Time, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	at, ok := s.ended[k]
	if !ok && s.err == nil {
		return at, task.ErrNotFound
	}
	return at, s.err
}

func (s *tasks) Names(_ context.Context, k blobstore.Key, d blobstore.Digest) (bool, error) {
	for _, n := range s.names[k] {
		if n == d {
			return true, nil
		}
	}
	return false, s.err
}

func TestSweep(t *testing.T) {
	t.Parallel()
	start := time.Now()
	hub := &tasks{ended: map[blobstore.Key]time.Time{one: {}}, names: map[blobstore.Key][]blobstore.Digest{}}
	dir := t.TempDir()
	s := openStore(t, dir)
	there := func(want bool, why string, k blobstore.Key, d blobstore.Digest) {
		t.Helper()
		if _, err := s.Find(k, d); (err == nil) != want {
			t.Errorf("%s: Find() = %v, want there: %t", why, err, want)
		}
	}
	sweep := func(at time.Duration) {
		t.Helper()
		if _, err := s.Sweep(t.Context(), hub, start.Add(at)); err != nil {
			t.Errorf("Sweep(%v) = %v", at, err)
		}
	}
	kept, unnamed, named, held := put(t, s, one, "kept"), put(t, s, one, "unnamed"), put(t, s, one, "named"), put(t, s, one, "held")
	s.Keep(one, kept.Digest)
	s.Defer(one, unnamed.Digest)
	s.Defer(one, named.Digest)
	hub.names[one] = []blobstore.Digest{named.Digest}
	orphan := put(t, s, two, "orphan")
	s.Defer(two, orphan.Digest)

	sweep(blobstore.Grace / 2)
	there(true, "within the grace", one, unnamed.Digest)
	there(true, "a task that is not there yet", two, orphan.Digest)
	sweep(blobstore.Grace + time.Minute)
	there(false, "no entry names it", one, unnamed.Digest)
	there(true, "an entry names it", one, named.Digest)
	there(true, "its change is in progress", one, held.Digest)
	there(false, "its task is not there", two, orphan.Digest)
	s.Keep(one, held.Digest)

	sweep(100 * time.Hour)
	there(true, "the task is open", one, kept.Digest)
	s.End(one, start.Add(100*time.Hour))
	sweep(101*time.Hour - time.Second)
	there(true, "before its time", one, kept.Digest)
	sweep(101 * time.Hour)
	for _, d := range []blobstore.Digest{kept.Digest, named.Digest, held.Digest} {
		there(false, "after its time", one, d)
	}
	if names := files(t, dir); len(names) > 0 {
		t.Errorf("left behind: %q", names)
	}
	if tasks, contents := s.Len(); tasks != 0 || contents != 0 {
		t.Errorf("Len() = %d, %d, want nothing", tasks, contents)
	}
}

// A restarted hub looks up the end of each task once.
func TestSweepAfterStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openStore(t, dir)
	p := put(t, s, one, "x")
	s.Keep(one, p.Digest)
	s = openStore(t, dir)
	now := time.Now()
	hub := &tasks{err: task.ErrUnavailable}
	if _, err := s.Sweep(t.Context(), hub, now.Add(time.Hour*999)); !errors.Is(err, task.ErrUnavailable) {
		t.Errorf("Sweep() = %v, want ErrUnavailable", err)
	}
	if _, err := s.Find(one, p.Digest); err != nil {
		t.Errorf("a part of which nothing is known was removed: %v", err)
	}
	hub = &tasks{ended: map[blobstore.Key]time.Time{one: now}}
	for range 3 {
		if _, err := s.Sweep(t.Context(), hub, now.Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
	}
	if hub.asked != 1 {
		t.Errorf("the hub was asked %d times, want once", hub.asked)
	}
	if n, err := s.Sweep(t.Context(), hub, now.Add(time.Hour)); n != 1 || err != nil {
		t.Errorf("Sweep() = %d, %v, want 1", n, err)
	}
}

func TestPutErrors(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Log("root may write everywhere: the folder is removed instead")
	}
	dir := t.TempDir()
	s := openStore(t, dir)
	broken := errors.New("broken")
	if _, err := s.Put(one, blobstore.Part{}, io.MultiReader(strings.NewReader("x"), errReader{broken})); !errors.Is(err, broken) {
		t.Errorf("Put() of what cannot be read = %v", err)
	}
	if names := files(t, dir); len(names) > 0 {
		t.Errorf("half a part was left behind: %q", names)
	}
	if err := os.RemoveAll(filepath.Join(dir, "new")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Put(one, blobstore.Part{}, strings.NewReader("x")); !errors.Is(err, task.ErrUnavailable) {
		t.Errorf("Put() without a folder = %v, want ErrUnavailable", err)
	}
	if tasks, contents := s.Len(); tasks != 0 || contents != 0 {
		t.Errorf("Len() = %d, %d, want nothing", tasks, contents)
	}
}

type errReader struct{ err error }

func (r errReader) Read([]byte) (int, error) { return 0, r.err }

func TestParseDigest(t *testing.T) {
	t.Parallel()
	good := strings.Repeat("0a", 32)
	if d, ok := blobstore.ParseDigest(good); !ok || d.String() != good {
		t.Errorf("ParseDigest(%s) = %s, %t", good, d, ok)
	}
	for _, s := range []string{"", good[1:], good + "0", strings.ToUpper(good), strings.Repeat("0g", 32), strings.Repeat("\x00", 64)} {
		if _, ok := blobstore.ParseDigest(s); ok {
			t.Errorf("ParseDigest(%q) = true", s)
		}
	}
}

func TestStrangeNames(t *testing.T) {
	t.Parallel()
	s := openStore(t, t.TempDir())
	for _, name := range []string{"", "../../etc", "a/b", "\x00", strings.Repeat("x", 5000), ".new", "content"} {
		k := blobstore.Key{Owner: task.Owner(name), Task: a2a.TaskID(name)}
		p := put(t, s, k, "x"+name)
		if got, err := read(t, s, k, p.Digest); got != "x"+name || err != nil {
			t.Errorf("task %.20q: %.20q, %v", name, got, err)
		}
	}
}

// Concurrent puts and drops of the same content lose nothing.
func TestAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openStore(t, dir)
	content := bytes.Repeat([]byte("x"), 100)
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			for range 5 {
				p, err := s.Put(one, blobstore.Part{}, bytes.NewReader(content))
				if err != nil {
					t.Error(err)
					return
				}
				if got, err := read(t, s, one, p.Digest); got != string(content) || err != nil {
					t.Errorf("the stored part: %v", err)
				}
				if i%2 == 0 {
					s.Drop(one, p.Digest)
				} else {
					s.Defer(one, p.Digest)
				}
			}
		})
	}
	wg.Wait()
	if tasks, contents := s.Len(); tasks > 1 || contents > 1 {
		t.Errorf("Len() = %d, %d", tasks, contents)
	}
	if diff := cmp.Diff(0, len(files(t, filepath.Join(dir, "new")))); diff != "" {
		t.Errorf("temporary files (-want +got):\n%s", diff)
	}
}

// A content that could not be renamed leaves nothing that obstructs the next one.
func TestPutAfterAFailure(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openStore(t, dir)
	k := blobstore.Key{Owner: "ann", Task: "t"}
	p := put(t, s, k, "text")
	s.Drop(k, p.Digest)
	owners, err := filepath.Glob(filepath.Join(dir, "owners", "*"))
	if err != nil || len(owners) != 1 {
		t.Fatal(owners, err)
	}
	if err := os.MkdirAll(filepath.Join(owners[0], p.Digest.String(), "content", "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Put(k, blobstore.Part{}, strings.NewReader("text")); err == nil {
		t.Error("Put over a folder succeeds")
	}
	put(t, s, k, "text")
	if got, err := read(t, s, k, p.Digest); err != nil || got != "text" {
		t.Errorf("the part is %q, %v", got, err)
	}
}
