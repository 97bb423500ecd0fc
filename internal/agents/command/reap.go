package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// record is what is known of a run while its program may be alive. It is written
// before the program starts, then without Pid, and again when it has started.
type record struct {
	Task    a2a.TaskID `json:"task"`
	Key     string     `json:"key,omitempty"`
	Attempt int        `json:"attempt"`
	identity
}

// identity tells a process from all others, also from one that gets its number
// later.
type identity struct {
	// Pid is the number of the process, and of its group.
	Pid int `json:"pid,omitempty"`
	// Start is when the process was started, as the system counts.
	Start uint64 `json:"start,omitempty"`
	// Boot identifies the run of the system.
	Boot string `json:"boot,omitempty"`
}

// Reap ends the programs that an earlier hub with the same folder has left running,
// and removes their records. It returns how many processes or groups of them it has
// killed. It must be called before the first run of any agent that uses the folder,
// by the only hub that uses it. A folder that does not exist is no error.
func Reap(dir string) (int, error) {
	dir, err := realPath(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("reap: %w", err)
	}
	lost, err := lostRuns(dir)
	if err != nil {
		return 0, fmt.Errorf("reap: %w", err)
	}
	if len(lost) == 0 {
		return 0, nil
	}
	killed, err := killLost(lost)
	if err != nil {
		return killed, fmt.Errorf("reap: %w", err)
	}
	for path := range lost {
		err = errors.Join(err, os.RemoveAll(path))
	}
	if err != nil {
		return killed, fmt.Errorf("reap: %w", err)
	}
	return killed, nil
}

// lostRuns returns the folders of runs in dir with what is known of their programs.
func lostRuns(dir string) (map[string]identity, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	lost := make(map[string]identity, len(entries))
	for _, e := range entries {
		if e.IsDir() && strings.HasPrefix(e.Name(), folderPrefix) {
			path := filepath.Join(dir, e.Name())
			lost[path] = readIdentity(filepath.Join(path, recordFile))
		}
	}
	return lost, nil
}

// readIdentity reads a record. One that is missing or broken says nothing; the
// process is found by its mark then.
func readIdentity(path string) identity {
	b, err := os.ReadFile(path)
	if err != nil {
		return identity{}
	}
	var r record
	if err := json.Unmarshal(b, &r); err != nil {
		return identity{}
	}
	return r.identity
}
