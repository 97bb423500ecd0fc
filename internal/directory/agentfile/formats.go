package agentfile

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/directory"
	"github.com/parley-a2a/parley/internal/file/yamlfile"
	"github.com/parley-a2a/parley/task"
)

// Skill is a skill of known-agents.json, and of files with the same form of skills.
type Skill struct {
	ID          string   `yaml:"id"`
	Name        string   `yaml:"name"`
	Description string   `yaml:"description"`
	Tags        []string `yaml:"tags"`
	Examples    []string `yaml:"examples"`
	InputModes  []string `yaml:"inputModes"`
	OutputModes []string `yaml:"outputModes"`
	Trust       string   `yaml:"trust" enum:"open,gated"`
}

// Listed returns the skill in the form of the directory, without its trust.
func (k *Skill) Listed() directory.Skill {
	return directory.Skill{
		ID: k.ID, Name: k.Name, Description: k.Description, Tags: k.Tags, Examples: k.Examples,
		InputModes: k.InputModes, OutputModes: k.OutputModes,
	}
}

// DefaultVersion is the version of agents whose files give none.
const DefaultVersion a2a.ProtocolVersion = "0.3"

// Locate sets the queue, or the name on the exchange, of an agent without a URL.
func (p *Options) Locate(s *directory.Spec, name, queue string) {
	switch {
	case s.URL != "":
	case queue == "" && p.Exchange:
		s.Exchange = task.Agent(name)
	default:
		s.Queue = task.Agent(cmp.Or(queue, name))
	}
}

// Gate adds a skill to the gated skills if its trust is "gated".
func Gate(s *directory.Spec, skill, trust string) {
	if directory.Trust(trust) == directory.Gated {
		s.GatedSkills = append(s.GatedSkills, skill)
	}
}

// knownAgent is an agent of known-agents.json.
type knownAgent struct {
	AgentName   string  `yaml:"agentName"`
	URL         string  `yaml:"url"`
	Queue       string  `yaml:"queue"`
	Description string  `yaml:"description"`
	Version     string  `yaml:"version"`
	Skills      []Skill `yaml:"skills"`
	LastSeen    string  `yaml:"lastSeen"`
}

// parseKnown reads known-agents.json: agents that have announced themselves on a bus. Agents
// not seen within knownFor are skipped.
func (p *Options) parseKnown(d *yamlfile.Decoder, src []byte) []directory.Spec {
	var specs []directory.Spec
	for _, k := range p.knownAgents(d, src) {
		if time.Since(k.SeenAt) < knownFor {
			specs = append(specs, k.Spec)
		}
	}
	return specs
}

// knownFor is the time after which an announced agent is ignored.
const knownFor = 24 * time.Hour

func (p *Options) knownAgents(d *yamlfile.Decoder, src []byte) []directory.Known {
	var file []knownAgent
	d.Decode(src, &file)
	var specs []Entry
	seen := make(map[task.Agent]time.Time)
	for i := range file {
		f, key := &file[i], "["+strconv.Itoa(i)+"]"
		s := directory.Spec{
			Name: directory.NameOf(f.AgentName), Title: f.AgentName, URL: f.URL, Description: f.Description, Version: f.Version,
		}
		p.Locate(&s, f.AgentName, f.Queue)
		for _, k := range f.Skills {
			s.Skills = append(s.Skills, k.Listed())
		}
		at, err := time.Parse(time.RFC3339, f.LastSeen)
		if err != nil {
			d.Problem(nil, key+".lastSeen", "%q is not a time like 2026-01-02T03:04:05Z", yamlfile.Clip(f.LastSeen))
		}
		seen[s.Name] = at
		specs = append(specs, Entry{s, key})
	}
	var all []directory.Known
	for _, s := range Check(d, specs, map[string]string{"name": "agentName", "queue": "agentName", "exchange": "agentName"}) {
		all = append(all, directory.Known{Spec: s, SeenAt: seen[s.Name]})
	}
	return all
}

// Entry is an agent and its key in the file.
type Entry struct {
	directory.Spec
	Key string
}

// Check reports the problems of entries and returns the valid agents. names maps the names of
// fields to those of the file's format, where they differ.
func Check(d *yamlfile.Decoder, specs []Entry, names map[string]string) []directory.Spec {
	seen := make(map[task.Agent]string)
	var all []directory.Spec
	for i := range specs {
		s := &specs[i]
		s.Where = d.Where(s.Key)
		if Bad(d, s.Key) {
			continue
		}
		if err := s.Check(); err != nil {
			field, problem, ok := strings.Cut(err.Error(), ": ")
			if !ok {
				field, problem = "", err.Error()
			}
			d.Problem(nil, strings.Trim(s.Key+"."+cmp.Or(names[field], field), "."), "%s", problem)
			continue
		}
		if first, ok := seen[s.Name]; ok {
			d.Problem(nil, yamlfile.Join(s.Key, cmp.Or(names["name"], "name")), "%s also has the name %q", first, s.Name)
			continue
		}
		seen[s.Name] = s.Key
		all = append(all, s.Spec)
	}
	return all
}

// Bad reports whether a problem was found at or below a key.
func Bad(d *yamlfile.Decoder, key string) bool {
	for _, p := range d.Problems() {
		if key == "" || p.Key == "" || p.Key == key || strings.HasPrefix(p.Key, key+".") || strings.HasPrefix(p.Key, key+"[") {
			return true
		}
	}
	return false
}
