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

// workerPrefix begins the name of the folder in which a worker records its programs.
const workerPrefix = "parley-worker-"

// workerRuns is the folder in which this worker records the programs that it runs. Its lock
// tells others that the worker lives.
type workerRuns struct {
	dir *datadir.Dir
	// path is where the records go.
	path string
}

// openWorkerRuns makes a folder for this worker among those of others, and ends what workers
// have left that were killed.
func openWorkerRuns(among string, log *slog.Logger) (*workerRuns, error) {
	reapWorkers(among, log)
	r := &workerRuns{path: filepath.Join(among, workerPrefix+uuid.NewString())}
	hidden := r.hidden()
	var err error
	if r.dir, err = datadir.Open(hidden); err != nil {
		return nil, err
	}
	// It has its name once it is held, so that nobody takes it for one that was left.
	if err := os.Rename(hidden, r.path); err != nil {
		return nil, errors.Join(err, r.dir.Close(), os.RemoveAll(hidden))
	}
	return r, nil
}

// hidden is a path that no worker takes for what another one has left.
func (r *workerRuns) hidden() string {
	if !renamesHeld {
		return r.path
	}
	return filepath.Join(filepath.Dir(r.path), "."+filepath.Base(r.path))
}

// close ends what still runs, because the worker was to stop at once, and removes the folder.
// It loses its name while it is held: else another worker would take it for one that was
// left, and write into it while it is removed.
func (r *workerRuns) close() error {
	_, err := command.Reap(r.path)
	hidden := r.hidden()
	return errors.Join(err, os.Rename(r.path, hidden), r.dir.Close(), os.RemoveAll(hidden))
}

// reapWorkers ends the programs that workers of this user have left running, and removes
// their folders. What does not work now may work for the next worker.
func reapWorkers(among string, log *slog.Logger) {
	entries, err := filepath.Glob(filepath.Join(among, workerPrefix+"*"))
	if err != nil {
		return // the pattern is right unless the folder's name is odd
	}
	for _, path := range entries {
		// The records of others could name our processes.
		if info, err := os.Lstat(path); err != nil || !info.IsDir() || !isOurs(info) {
			continue
		}
		killed, err := reapWorker(path)
		if err != nil {
			log.Warn("what an earlier worker has left is not removed", "folder", path, "error", err)
		}
		if killed > 0 {
			log.Warn("ended programs that an earlier worker left running", "count", killed)
		}
	}
}

// reapWorker ends what a worker has left, unless it lives.
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
