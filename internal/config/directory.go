package config

import (
	"strconv"
	"strings"

	"github.com/parley-a2a/parley/internal/directory"
	"github.com/parley-a2a/parley/internal/file/yamlfile"
	"github.com/parley-a2a/parley/internal/outbound/safedial"
)

// Directory says where agents are known from, beside Agents. Zero means the default that
// is named.
type Directory struct {
	// AgentsFile is the list of agents in the form of protoWorkstacean: agents.yaml in the
	// current folder, in its folder workspace, or in the data folder, if it is there.
	AgentsFile string `yaml:"agents_file" path:"yes"`
	// WellKnown is the list of agents in the form of RockBot: well-known-agents.json in the
	// same places.
	WellKnown string `yaml:"well_known" path:"yes"`
	// Specs are files of agent specs, or folders of them.
	Specs []string `yaml:"specs" path:"yes"`
	// Allow names the addresses beside public ones that agents may have which callers have
	// registered. Agents that stand in files may be anywhere.
	Allow []string `yaml:"allow"`
	// Trust is what counts for an agent that only the directory knows, and of which nothing
	// is said: open.
	Trust string `yaml:"trust" enum:"open,gated"`
	// KnownAgents is the list of agents that have announced themselves on the bus:
	// known-agents.json in the places where well-known-agents.json is looked for.
	KnownAgents string `yaml:"known_agents"`
	// WriteKnownAgents keeps that list up to date.
	WriteKnownAgents bool `yaml:"write_known_agents"`
	// Refresh is the time after which the card of an agent is read again: 10m.
	Refresh Duration `yaml:"refresh" never:"true"`
	// Probe is the time after which an agent is asked again whether it answers: 1m.
	Probe Duration `yaml:"probe" never:"true"`
}

// MCPService is an MCP server that can be searched for beside the agents.
type MCPService struct {
	// ID is the name of the server. It is required.
	ID string `yaml:"id"`
	// Summary says what it is for.
	Summary string `yaml:"summary"`
	// Tools are what it can do.
	Tools []MCPTool `yaml:"tools"`
}

// MCPTool is a tool of an MCP server.
type MCPTool struct {
	// Name is the name of the tool. It is required.
	Name string `yaml:"name"`
	// Description says what the tool does.
	Description string `yaml:"description"`
}

// Broker says how messages are dealt with that ask for a skill.
type Broker struct {
	// Skills are those with rules of their own.
	Skills []BrokerSkill `yaml:"skills"`
}

// BrokerSkill is the rule of a skill.
type BrokerSkill struct {
	// ID is the id of the skill. It is required.
	ID string `yaml:"id"`
	// Cooldown is how long the skill is not to be had again after it was asked for.
	Cooldown Duration `yaml:"cooldown"`
	// CooldownKey is the member of the metadata, such as repository, whose values cool
	// down on their own.
	CooldownKey string `yaml:"cooldown_key"`
	// Dedupe is how long a message with the same content is taken for the same message:
	// its caller gets the first one's task.
	Dedupe Duration `yaml:"dedupe"`
}

// Services returns the MCP servers as the directory has them.
func (c *Config) Services() []directory.Service {
	var all []directory.Service
	for _, m := range c.MCPServices {
		s := directory.Service{ID: m.ID, Summary: m.Summary}
		for _, t := range m.Tools {
			s.Tools = append(s.Tools, directory.Tool(t))
		}
		all = append(all, s)
	}
	return all
}

func checkBroker(d *yamlfile.Decoder, b *Broker) {
	seen := make(map[string]bool)
	for i := range b.Skills {
		s, key := &b.Skills[i], "broker.skills["+strconv.Itoa(i)+"]"
		id := strings.ToLower(s.ID)
		switch {
		case s.ID == "":
			d.Problem(nil, key+".id", "is missing")
		case seen[id]:
			d.Problem(nil, key+".id", "there is another rule for the skill %q", yamlfile.Clip(s.ID))
		case s.CooldownKey != "" && s.Cooldown == 0:
			d.Problem(nil, key+".cooldown_key", "says nothing without cooldown")
		}
		seen[id] = true
	}
}

func checkDirectory(d *yamlfile.Decoder, c *Config) {
	for i, rule := range c.Directory.Allow {
		if _, err := safedial.ParsePolicy([]string{rule}); err != nil {
			d.Problem(nil, "directory.allow["+strconv.Itoa(i)+"]", "%s", err.Error())
		}
	}
	checkBroker(d, &c.Broker)
	seen := make(map[string]bool)
	for i := range c.MCPServices {
		m, key := &c.MCPServices[i], "mcp_services["+strconv.Itoa(i)+"]"
		switch {
		case m.ID == "":
			d.Problem(nil, key+".id", "is missing")
		case seen[m.ID]:
			d.Problem(nil, key+".id", "there is another service %q", yamlfile.Clip(m.ID))
		}
		seen[m.ID] = true
		for j := range m.Tools {
			if m.Tools[j].Name == "" {
				d.Problem(nil, key+".tools["+strconv.Itoa(j)+"].name", "is missing")
			}
		}
	}
}
