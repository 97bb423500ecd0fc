// Package datadir locks the folder in which a hub keeps its data, so that only one process uses
// it.
//
// # Guarantees
//
// While a [Dir] is open, no other process can open the same folder by any path: Open returns an
// [InUseError] that names the folder and the process that holds it. The system releases the
// lock when the process ends for any reason; a leftover lock file has no meaning. If the system
// delays releasing the lock of a killed process, Open waits up to five seconds.
//
// # Non-guarantees
//
// The lock is advisory: it keeps other hubs out, not other programs. On systems without flock
// (all but Linux, macOS and the BSDs) the lock is a file that Close removes. After a crash the
// operator must remove it, and the error explains that.
//
// # Concurrency
//
// Open and Close may be called from any goroutine. A second Open in the same process is refused
// like that of another.
package datadir

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/parley-a2a/parley/internal/file/atomicfile"
)

// lockName is the name of the lock file in the folder.
const lockName = "parley.lock"

// Holder is the process that uses a folder.
type Holder struct {
	// PID is its process id; zero if unknown.
	PID int `json:"pid"`
	// Host is the machine that it runs on.
	Host string `json:"host"`
	// Since is the time when it opened the folder.
	Since time.Time `json:"since"`
}

// InUseError is returned if another process uses the folder.
type InUseError struct {
	// Path is the folder.
	Path string
	// Holder is the process; fields that could not be read are zero.
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

// Open creates the folder path if it does not exist, accessible to its user alone (mode 0700),
// and locks it until Close. It returns an *InUseError if another process holds it.
func Open(path string) (*Dir, error) {
	d, err := open(path)
	if err != nil {
		if busy := new(InUseError); errors.As(err, &busy) {
			return nil, busy
		}
		return nil, fmt.Errorf("open data folder %s: %w%s", path, err, rightsHint(path, err))
	}
	return d, nil
}

// rightsHint returns the remedy for a folder that belongs to another user.
func rightsHint(path string, err error) string {
	if !errors.Is(err, fs.ErrPermission) {
		return ""
	}
	return fmt.Sprintf("; this process runs as the user %d: give the folder to that user (chown -R %[1]d %s), or choose another one with --data", os.Geteuid(), path)
}

func open(path string) (*Dir, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if err := atomicfile.MkdirAll(path, 0o700); err != nil {
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

// Hold locks the existing folder path until Close, without changing it. It returns an *InUseError
// if another process holds it.
func Hold(path string) (*Dir, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("hold data folder: %w", err)
	}
	if _, err := os.ReadDir(path); err != nil {
		return nil, fmt.Errorf("hold data folder: %w", err)
	}
	file := filepath.Join(path, lockName)
	lock, err := acquireExisting(file)
	if errors.Is(err, errHeld) {
		return nil, &InUseError{Path: path, Holder: holder(file), hint: heldHint(file)}
	}
	if err != nil {
		return nil, fmt.Errorf("hold data folder %s: %w", path, err)
	}
	return &Dir{path: path, lock: lock}, nil
}

var errHeld = errors.New("lock is held")

// The system may release the lock of a killed process a moment after the process has gone.
const (
	goneWait  = 5 * time.Second
	goneEvery = 20 * time.Millisecond
)

// acquireSoon is acquire, but waits for the lock of a process that has gone. The system gives
// no notification of the release, so it polls.
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

// sign writes the holder of the lock to the lock file. On a full disk the holder stays unknown.
func sign(lock *os.File) error {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown host"
	}
	line, err := json.Marshal(Holder{PID: os.Getpid(), Host: host, Since: time.Now().UTC().Truncate(time.Second)})
	if err != nil {
		return err
	}
	line = append(line, '\n')
	if _, err = lock.WriteAt(line, 0); err == nil {
		err = lock.Truncate(int64(len(line)))
	}
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return nil
	}
	return err
}

// holder reads the holder of the lock; it returns the zero Holder if it cannot be read.
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

// Join returns the path of a file or folder below the folder.
func (d *Dir) Join(elem ...string) string {
	return filepath.Join(append([]string{d.path}, elem...)...)
}

// Close unlocks the folder.
func (d *Dir) Close() error {
	if d.lock == nil {
		return nil // Hold has found no lock
	}
	if err := release(d.lock); err != nil {
		return fmt.Errorf("close data folder %s: %w", d.path, err)
	}
	return nil
}
