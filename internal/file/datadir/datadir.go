// Package datadir holds the folder in which a hub keeps its data, so that only one
// process uses it.
//
// # Guarantees
//
// While a [Dir] is open, no other process gets one for the same folder, by
// whatever path: Open refuses with an [InUseError] that names the folder and the
// process that holds it. The lock belongs to the process and vanishes with it,
// however it dies; a lock file that is left behind means nothing. If the system takes a
// moment to let go of the lock of a process that was killed, Open waits, five seconds at
// the most.
//
// # What it does not promise
//
// The lock is advisory: it keeps other hubs out, not other programs. On systems
// without flock (all but Linux, macOS and the BSDs) the lock is a file that
// Close removes; after a crash it has to be removed by hand, and the error says so.
//
// # Concurrency
//
// Open and Close may be called from any goroutine. A second Open in the same
// process is refused like that of another.
//
// # Testing
//
// The tests start a second process, and kill it.
package datadir

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// lockName is the lock file in the folder.
const lockName = "parley.lock"

// Holder is the process that uses a folder.
type Holder struct {
	// PID is its process id; zero if it is not known.
	PID int `json:"pid"`
	// Host is the machine that it runs on.
	Host string `json:"host"`
	// Since is when it opened the folder.
	Since time.Time `json:"since"`
}

// InUseError says that another process uses the folder.
type InUseError struct {
	// Path is the folder.
	Path string
	// Holder is who uses it, as far as that can be read.
	Holder Holder
	hint   string
}

// Error names the folder and the process.
func (e *InUseError) Error() string {
	msg := fmt.Sprintf("data folder %s is in use by another parley", e.Path)
	if e.Holder.PID != 0 {
		msg = fmt.Sprintf("data folder %s is in use by parley (pid %d on %s, since %s)",
			e.Path, e.Holder.PID, e.Holder.Host, e.Holder.Since.Format(time.RFC3339))
	}
	return msg + e.hint
}

// Dir is a folder that this process holds.
type Dir struct {
	path string
	lock *os.File
}

// Open makes the folder path if there is none, open to its user alone (mode 0700),
// and holds it until Close. It returns an *InUseError if another process holds it.
func Open(path string) (*Dir, error) {
	d, err := open(path)
	if err != nil {
		if busy := new(InUseError); errors.As(err, &busy) {
			return nil, busy
		}
		return nil, fmt.Errorf("open data folder %s: %w", path, err)
	}
	return d, nil
}

func open(path string) (*Dir, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, err
	}
	file := filepath.Join(path, lockName)
	lock, err := acquireSoon(file)
	if errors.Is(err, errHeld) {
		return nil, &InUseError{Path: path, Holder: holder(file), hint: heldHint(file)}
	}
	if err != nil {
		return nil, err
	}
	if err := sign(lock); err != nil {
		return nil, errors.Join(err, release(lock))
	}
	return &Dir{path: path, lock: lock}, nil
}

var errHeld = errors.New("lock is held")

// A killed process may be gone for a moment before the system has let go of its lock.
const (
	goneWait  = 5 * time.Second
	goneEvery = 20 * time.Millisecond
)

// acquireSoon is acquire, but does not take the lock of a process that is gone for one
// that is held. Nothing tells when it goes, so it asks again.
func acquireSoon(file string) (*os.File, error) {
	for end := time.Now().Add(goneWait); ; time.Sleep(goneEvery) {
		lock, err := acquire(file)
		if !errors.Is(err, errHeld) || time.Now().After(end) {
			return lock, err
		}
		if host, _ := os.Hostname(); !gone(holder(file), host) {
			return nil, err
		}
	}
}

// sign writes who holds the lock into its file.
func sign(lock *os.File) error {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown host"
	}
	line, err := json.Marshal(Holder{PID: os.Getpid(), Host: host, Since: time.Now().UTC().Truncate(time.Second)})
	if err != nil {
		return err
	}
	if err := lock.Truncate(0); err != nil {
		return err
	}
	_, err = lock.WriteAt(append(line, '\n'), 0)
	return err
}

// holder reads who holds the lock; the zero Holder if that cannot be read.
func holder(file string) Holder {
	var h Holder
	line, err := os.ReadFile(file)
	if err != nil || json.Unmarshal(line, &h) != nil {
		return Holder{}
	}
	return h
}

// Path returns the absolute path of the folder.
func (d *Dir) Path() string { return d.path }

// Join returns the path of something in the folder.
func (d *Dir) Join(elem ...string) string {
	return filepath.Join(append([]string{d.path}, elem...)...)
}

// Close lets go of the folder.
func (d *Dir) Close() error {
	if err := release(d.lock); err != nil {
		return fmt.Errorf("close data folder %s: %w", d.path, err)
	}
	return nil
}
