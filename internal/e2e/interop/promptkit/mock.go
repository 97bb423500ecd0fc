package main

import (
	"fmt"
	"io"
	"os"

	"github.com/AltairaLabs/PromptKit/runtime/a2a/mock"
	"gopkg.in/yaml.v3"
)

// serve serves an agent of a file with PromptKit's mock until in ends.
func serve(path, name string, in io.Reader, out io.Writer) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var file struct {
		Agents []mock.AgentConfig `yaml:"a2a_agents"`
	}
	if err := yaml.Unmarshal(b, &file); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	for _, a := range file.Agents {
		if a.Name != name {
			continue
		}
		s := mock.NewA2AServer(&a.Card, mock.OptionsFromConfig(&a)...)
		defer s.Close()
		url, err := s.Start()
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintln(out, url); err != nil {
			return err
		}
		return wait(in)
	}
	return fmt.Errorf("%s has no agent %q", path, name)
}
