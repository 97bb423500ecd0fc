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

// record describes a run while its program may be alive. It is written without Pid before the
// program starts, and again after the start.
type record struct {
	Task    a2a.TaskID `json:"task"`
	Key     string     `json:"key,omitempty"`
	Attempt int        `json:"attempt"`
	identity
}

// identity identifies a process, and distinguishes it from a later one with the same process
// id.
type identity struct {
	// Pid is the id of the process and of its group.
	Pid int `json:"pid,omitempty"`
	// Start is the start time of the process, in the system's units.
	Start uint64 `json:"start,omitempty"`
	// Boot identifies the boot of the system.
	Boot string `json:"boot,omitempty"`
}

// Reap ends the programs that an earlier hub with the same folder has left running, and removes
// their records. It returns the number of killed processes and groups. The only hub that uses
// the folder must call it before the first run of any agent with that folder. A folder that
// does not exist is no error.
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

// lostRuns returns the folders of runs in dir with the identities of their programs.
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

// readIdentity reads a record. It returns the zero identity if the record is missing or broken;
// the process is found by its mark then.
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
