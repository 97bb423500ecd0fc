package cli

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/google/uuid"

	"github.com/parley-a2a/parley/internal/agents/command"
	"github.com/parley-a2a/parley/internal/file/datadir"
)

// workerPrefix is the prefix of the folders in which workers record their programs.
const workerPrefix = "parley-worker-"

// workerRuns is the folder in which this worker records its running programs. Its lock shows
// other workers that this one is alive.
type workerRuns struct {
	dir *datadir.Dir
	// path is the folder of the records.
	path string
}

// openWorkerRuns creates a folder for this worker among those of others, and ends the programs
// of killed workers.
func openWorkerRuns(among string, log *slog.Logger) (*workerRuns, error) {
	reapWorkers(among, log)
	r := &workerRuns{path: filepath.Join(among, workerPrefix+uuid.NewString())}
	hidden := r.hidden()
	var err error
	if r.dir, err = datadir.Open(hidden); err != nil {
		return nil, err
	}
	// The folder gets its name only after it is locked, so that no other worker reaps it.
	if err := os.Rename(hidden, r.path); err != nil {
		return nil, errors.Join(err, r.dir.Close(), os.RemoveAll(hidden))
	}
	return r, nil
}

// hidden returns a path that other workers do not reap.
func (r *workerRuns) hidden() string {
	if !renamesHeld {
		return r.path
	}
	return filepath.Join(filepath.Dir(r.path), "."+filepath.Base(r.path))
}

// close ends the remaining programs, because the worker was to stop at once, and removes the
// folder. It renames the folder while it is locked: otherwise another worker would reap it, and
// write into it while it is removed.
func (r *workerRuns) close() error {
	_, err := command.Reap(r.path)
	hidden := r.hidden()
	return errors.Join(err, os.Rename(r.path, hidden), r.dir.Close(), os.RemoveAll(hidden))
}

// reapWorkers ends the programs of killed workers of this user, and removes their folders. A
// later worker retries after an error.
func reapWorkers(among string, log *slog.Logger) {
	entries, err := filepath.Glob(filepath.Join(among, workerPrefix+"*"))
	if err != nil {
		return // only a folder with special characters makes the pattern invalid
	}
	for _, path := range entries {
		// The records of other users could name processes of this user.
		if info, err := os.Lstat(path); err != nil || !info.IsDir() || !ownedByUser(info) {
			continue
		}
		killed, err := reapWorker(path)
		if err != nil {
			log.Warn("cannot remove the files of an earlier worker", "folder", path, "error", err)
		}
		if killed > 0 {
			log.Warn("ended programs that an earlier worker left running", "count", killed)
		}
	}
}

// reapWorker ends the programs of a worker and removes its folder, unless the worker is alive.
func reapWorker(path string) (killed int, err error) {
	dir, err := datadir.Open(path)
	if busy := new(datadir.InUseError); errors.As(err, &busy) || errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	killed, err = command.Reap(path)
	if err == nil {
		err = os.RemoveAll(path)
	}
	return killed, errors.Join(err, dir.Close())
}
