package announced

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/parley-a2a/parley/directory"
)

// FileName is the name of the file with the agents that have announced themselves.
const FileName = "known-agents.json"

// entry is an agent in the file.
type entry struct {
	AgentName   string            `json:"agentName"`
	URL         string            `json:"url,omitempty"`
	Description string            `json:"description,omitempty"`
	Version     string            `json:"version,omitempty"`
	Skills      []directory.Skill `json:"skills"`
	LastSeen    time.Time         `json:"lastSeen"`
}

// write replaces the file at path.
func write(path string, all []directory.Known) error {
	entries := make([]entry, 0, len(all))
	for i := range all {
		s := &all[i].Spec
		skills := s.Skills
		if skills == nil {
			skills = []directory.Skill{}
		}
		name := string(s.Queue)
		if name == "" {
			name = s.Title
		}
		entries = append(entries, entry{name, s.URL, s.Description, s.Version, skills, all[i].SeenAt.UTC()})
	}
	text, err := json.MarshalIndent(entries, "", "  ")
	if err != nil {
		return err
	}
	return replace(path, append(text, '\n'))
}

// replace puts a file with text in the place of the one at path.
func replace(path string, text []byte) (err error) {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+FileName+"-*")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("write %s: %w", path, err), os.Remove(tmp.Name()))
		}
	}()
	_, err = tmp.Write(text)
	if err = errors.Join(err, tmp.Chmod(0o644), tmp.Sync(), tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}
