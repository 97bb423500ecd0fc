package sqlitestore

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// TestPowerCut cuts the power before and after each sync of SQLite, and after each acknowledgement,
// while tasks are stored and the log is moved into the file. Each cut leaves the synced content of the files, and some sectors of
// later writes. All tasks that had been acknowledged before the cut must be there.
func TestPowerCut(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "db")
	db := openTest(t, path, Options{})
	disk := watchSyncs(t, path)
	for i := range 60 {
		putTasks(t, db, i, i+1)
		disk.acknowledged(i + 1)
		if i%20 == 19 {
			checkpoint(t, db)
		}
	}
	if n := len(disk.cuts); n < 3*60 {
		t.Errorf("%d cuts of 60 commits, want one before and one after each sync", n)
	}
	for i, cut := range disk.cuts {
		left := openTest(t, filepath.Join(cut.dir, "db"), Options{})
		if got := found(t, left); got < cut.acked {
			t.Errorf("cut %d: %d tasks are left of %d that were acknowledged", i, got, cut.acked)
		}
		c, err := openConn(connOptions{path: left.Path(), cache: 1 << 20, readOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.script("PRAGMA quick_check(1)"); err != nil {
			t.Errorf("cut %d: the file is damaged: %v", i, err)
		}
		if err := errors.Join(c.close(), left.Close()); err != nil {
			t.Error(err)
		}
	}
}

// sector is the number of bytes that a disk writes as a whole.
const sector = 512

// syncs are the synced contents of a database and its log.
type syncs struct {
	t    *testing.T
	path string

	mu     sync.Mutex // guards the fields below
	acked  int        // tasks that the store has acknowledged
	random *rand.Rand
	synced map[string][]byte // by the file's suffix
	cuts   []powerCut
}

// powerCut is a folder with the files that a power cut has left.
type powerCut struct {
	dir   string
	acked int
}

// watched are the databases whose syncs are observed, by path.
var watched sync.Map

// watchSyncs observes the files of the database at path from now on; their content counts as synced.
func watchSyncs(t *testing.T, path string) *syncs {
	t.Helper()
	s := &syncs{t: t, path: path, random: rand.New(rand.NewPCG(1, 2)), synced: map[string][]byte{}}
	for _, suffix := range []string{"", "-wal"} {
		s.synced[suffix] = []byte(read(t, path+suffix))
	}
	watched.Store(path, s)
	t.Cleanup(func() { watched.Delete(path) })
	return s
}

// acknowledged cuts the power after the store has acknowledged a task.
func (s *syncs) acknowledged(tasks int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.acked = tasks
	s.cut()
}

// syncing performs the sync of a file, between two power cuts.
func (s *syncs) syncing(suffix string, sync func() int32) int32 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cut()
	rc := sync()
	text, err := os.ReadFile(s.path + suffix)
	if rc != sqlite3.SQLITE_OK || err != nil {
		s.t.Errorf("sync of %q: code %d, %v", suffix, rc, err)
	}
	s.synced[suffix] = text
	s.cut()
	return rc
}

// cut writes the files as a power cut leaves them.
func (s *syncs) cut() {
	dir := s.t.TempDir()
	for suffix, text := range maps.All(s.synced) {
		now, err := os.ReadFile(s.path + suffix)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			s.t.Error(err)
		}
		left := append([]byte(nil), text...)
		for at := 0; at < len(now); at += sector {
			end := min(at+sector, len(now))
			if end <= len(left) && s.random.IntN(4) == 0 {
				copy(left[at:end], now[at:end])
			}
		}
		if err := os.WriteFile(filepath.Join(dir, "db"+suffix), left, 0o600); err != nil {
			s.t.Error(err)
		}
	}
	s.cuts = append(s.cuts, powerCut{dir, s.acked})
}

// The file system of SQLite for the tests of this package: its own, which notifies syncs of the
// watched databases. The functions return a result code.
type (
	openFile  = func(tls *libc.TLS, vfs, name, file uintptr, flags int32, out uintptr) int32
	closeFile = func(tls *libc.TLS, file uintptr) int32
	syncFile  = func(tls *libc.TLS, file uintptr, flags int32) int32
)

var (
	openObserved  openFile  = openFileObserved
	closeObserved closeFile = closeFileObserved
	syncObserved  syncFile  = syncFileObserved
	ownFiles      uintptr
	// observed are the paths of open files and the methods of SQLite for them, by the address of
	// their methods.
	observed sync.Map
)

type observedFile struct {
	path    string
	methods uintptr
}

// pointee returns the value at p, an address outside of Go's heap.
func pointee[T any](p uintptr) *T { return *(**T)(unsafe.Pointer(&p)) }

// addressOf returns the address by which SQLite calls *f, which is a function without a closure.
func addressOf[F any](f *F) uintptr { return *(*uintptr)(unsafe.Pointer(f)) }

// function is the inverse of addressOf.
func function[F any](p uintptr) F { return *(*F)(unsafe.Pointer(&p)) }

func init() {
	tls := libc.NewTLS()
	defer tls.Close()
	ownFiles = sqlite3.Xsqlite3_vfs_find(tls, 0)
	name, err := libc.CString("observed")
	if err != nil {
		panic(err)
	}
	p := sqlite3.Xsqlite3_malloc(tls, int32(unsafe.Sizeof(sqlite3.Tsqlite3_vfs{})))
	vfs := pointee[sqlite3.Tsqlite3_vfs](p)
	*vfs = *pointee[sqlite3.Tsqlite3_vfs](ownFiles)
	vfs.FpNext, vfs.FzName, vfs.FxOpen = 0, name, addressOf(&openObserved)
	if rc := sqlite3.Xsqlite3_vfs_register(tls, p, 1); rc != sqlite3.SQLITE_OK {
		panic(fmt.Sprintf("register a file system of SQLite: code %d", rc))
	}
}

func openFileObserved(tls *libc.TLS, _, name, file uintptr, flags int32, out uintptr) int32 {
	rc := function[openFile](pointee[sqlite3.Tsqlite3_vfs](ownFiles).FxOpen)(tls, ownFiles, name, file, flags, out)
	if rc != sqlite3.SQLITE_OK || flags&(sqlite3.SQLITE_OPEN_WAL|sqlite3.SQLITE_OPEN_MAIN_DB) == 0 {
		return rc
	}
	f := pointee[sqlite3.Tsqlite3_file](file)
	p := sqlite3.Xsqlite3_malloc(tls, int32(unsafe.Sizeof(sqlite3.Tsqlite3_io_methods{})))
	methods := pointee[sqlite3.Tsqlite3_io_methods](p)
	*methods = *pointee[sqlite3.Tsqlite3_io_methods](f.FpMethods)
	methods.FxSync, methods.FxClose = addressOf(&syncObserved), addressOf(&closeObserved)
	observed.Store(p, observedFile{libc.GoString(name), f.FpMethods})
	f.FpMethods = p
	return rc
}

func closeFileObserved(tls *libc.TLS, file uintptr) int32 {
	p := pointee[sqlite3.Tsqlite3_file](file).FpMethods
	known, _ := observed.LoadAndDelete(p)
	rc := function[closeFile](pointee[sqlite3.Tsqlite3_io_methods](known.(observedFile).methods).FxClose)(tls, file)
	sqlite3.Xsqlite3_free(tls, p)
	return rc
}

func syncFileObserved(tls *libc.TLS, file uintptr, flags int32) int32 {
	known, _ := observed.Load(pointee[sqlite3.Tsqlite3_file](file).FpMethods)
	of := known.(observedFile)
	sync := func() int32 {
		return function[syncFile](pointee[sqlite3.Tsqlite3_io_methods](of.methods).FxSync)(tls, file, flags)
	}
	path, suffix := of.path, ""
	if strings.HasSuffix(path, "-wal") {
		path, suffix = strings.TrimSuffix(path, "-wal"), "-wal"
	}
	if s, ok := watched.Load(path); ok {
		return s.(*syncs).syncing(suffix, sync)
	}
	return sync()
}
