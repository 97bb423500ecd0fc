// Package powercut simulates a power cut: of the files in a folder, only the synced ones remain.
//
// # Overview
//
// [Watch] begins to record the syncs of the files and folders below a folder. [Disk.Cut] then
// writes the data that a disk is certain to have after a power cut at that moment into a new folder.
//
// # Guarantees
//
// A file has the content of its last sync; it is empty if it was never synced. A folder has the
// entries of its last sync; it is empty if it was never synced. A renamed file that was synced
// under its old name has its new one only after a sync of the folder. The content at the time of
// Watch counts as synced. So code that passes the test with one sync less has a sync too many, or
// a test that is too weak.
//
// # Non-guarantees
//
// Only syncs through package atomicfile are seen. Real disks keep more than this one: most keep
// the order of changes, too. A file that changes during its sync may have the newer content.
// Modes of files are not kept.
//
// # Concurrency
//
// Tests may run concurrently, each with a folder of its own.
package powercut

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/parley-a2a/parley/internal/file/atomicfile"
)

// Disk records the synced content of a folder.
type Disk struct {
	root string

	mu    sync.Mutex // guards the fields below
	nodes []*node
	err   error
}

// node is a file or folder, independent of its names.
type node struct {
	// open keeps the system from giving the identity of a removed file to a new one.
	open *os.File
	info fs.FileInfo
	// text is the synced content of a file, entries are those of a folder.
	text    []byte
	entries map[string]*node
}

// disks are the watched folders of this process.
var disks struct {
	mu  sync.Mutex
	all []*Disk
}

func init() { atomicfile.OnSync = synced }

// synced notes a sync on the disk of the file or folder.
func synced(path string) {
	disks.mu.Lock()
	defer disks.mu.Unlock()
	for _, d := range disks.all {
		if path == d.root || strings.HasPrefix(path, d.root+string(filepath.Separator)) {
			d.sync(path)
		}
	}
}

// Watch records the syncs below a folder until the test ends. The folder is named by an absolute
// path without symbolic links.
func Watch(t testing.TB, root string) *Disk {
	t.Helper()
	d := &Disk{root: filepath.Clean(root)}
	err := filepath.WalkDir(d.root, func(path string, _ fs.DirEntry, err error) error {
		d.sync(path)
		return err
	})
	if err != nil || d.err != nil {
		t.Fatalf("watch %s: %v", root, errors.Join(err, d.err))
	}
	disks.mu.Lock()
	defer disks.mu.Unlock()
	disks.all = append(disks.all, d)
	t.Cleanup(d.stop)
	return d
}

func (d *Disk) stop() {
	disks.mu.Lock()
	defer disks.mu.Unlock()
	disks.all = slices.DeleteFunc(disks.all, func(other *Disk) bool { return other == d })
	for _, n := range d.nodes {
		_ = n.open.Close() // it was only read
	}
}

// sync records the content of a file or folder.
func (d *Disk) sync(path string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.syncLocked(path); err != nil {
		d.err = errors.Join(d.err, err)
	}
}

func (d *Disk) syncLocked(path string) error {
	n, err := d.nodeLocked(path)
	if err != nil {
		return err
	}
	if !n.info.IsDir() {
		n.text, err = os.ReadFile(path)
		return err
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return err
	}
	n.entries = make(map[string]*node)
	for _, e := range entries {
		child, err := d.nodeLocked(filepath.Join(path, e.Name()))
		if errors.Is(err, fs.ErrNotExist) {
			continue // it was removed meanwhile
		}
		if err != nil {
			return err
		}
		n.entries[e.Name()] = child
	}
	return nil
}

// nodeLocked returns the node of a file or folder, which may be known by another name.
func (d *Disk) nodeLocked(path string) (*node, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	for _, n := range d.nodes {
		if os.SameFile(n.info, info) {
			return n, f.Close()
		}
	}
	n := &node{open: f, info: info}
	d.nodes = append(d.nodes, n)
	return n, nil
}

// Cut returns a new folder with the content of the disk after a power cut. The watched folder is
// unchanged; the test ends if its content could not be recorded.
func (d *Disk) Cut(t testing.TB) string {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.err != nil {
		t.Fatalf("record the syncs in %s: %v", d.root, d.err)
	}
	root, err := d.nodeLocked(d.root)
	if err != nil {
		t.Fatal(err)
	}
	left := filepath.Join(t.TempDir(), "left")
	if err := root.write(left); err != nil {
		t.Fatal(err)
	}
	return left
}

// write writes the synced content of a file or folder.
func (n *node) write(path string) error {
	if !n.info.IsDir() {
		return os.WriteFile(path, n.text, 0o600)
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		return err
	}
	for name, child := range n.entries {
		if err := child.write(filepath.Join(path, name)); err != nil {
			return err
		}
	}
	return nil
}
