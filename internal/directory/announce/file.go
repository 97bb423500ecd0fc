package announce

import (
	"cmp"
	"encoding/json"
	"time"

	"github.com/parley-a2a/parley/internal/directory"
	"github.com/parley-a2a/parley/internal/file/atomicfile"
	"github.com/parley-a2a/parley/task"
)

// entry is an agent in the file.
type entry struct {
	AgentName   string            `json:"agentName"`
	URL         string            `json:"url,omitempty"`
	Queue       task.Agent        `json:"queue,omitempty"` // on Parley's bus
	Description string            `json:"description,omitempty"`
	Version     string            `json:"version,omitempty"`
	Skills      []directory.Skill `json:"skills"`
	LastSeen    time.Time         `json:"lastSeen"`
}

func write(path string, all []directory.Known) error {
	entries := make([]entry, 0, len(all))
	for i := range all {
		s := &all[i].Spec
		skills := s.Skills
		if skills == nil {
			skills = []directory.Skill{}
		}
		name := cmp.Or(string(s.Queue), string(s.Exchange), s.Title)
		entries = append(entries, entry{name, s.URL, s.Queue, s.Description, s.Version, skills, all[i].SeenAt.UTC()})
	}
	text, err := json.MarshalIndent(entries, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.Replace(path, append(text, '\n'), 0o644)
}
