package parley

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/parley-a2a/parley/internal/file/textfile"
)

// ReadAgents reads remote agents, for Directory.Agents, from a JSON file with an agent or a list
// of agents, or from the files of a folder whose names end in ".json", in the order of their
// names. The members are those of RemoteAgent. An error names the file; a member that is not
// known is an error.
func ReadAgents(path string) ([]RemoteAgent, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("read agents: %w", err)
	}
	paths := []string{path}
	if info.IsDir() {
		if paths, err = filepath.Glob(filepath.Join(path, "*.json")); err != nil {
			return nil, fmt.Errorf("read agents: %w", err)
		}
	}
	var all []RemoteAgent
	for _, p := range paths {
		found, err := readAgentFile(p)
		if err != nil {
			return nil, fmt.Errorf("read agents: %w", err)
		}
		all = append(all, found...)
	}
	return all, nil
}

func readAgentFile(path string) ([]RemoteAgent, error) {
	text, err := textfile.Read(path)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	var all []RemoteAgent
	if text = bytes.TrimSpace(text); len(text) > 0 && text[0] == '[' {
		err = d.Decode(&all)
	} else {
		all = make([]RemoteAgent, 1)
		err = d.Decode(&all[0])
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return all, nil
}
