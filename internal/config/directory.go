package config

import (
	"strconv"
	"strings"

	"github.com/parley-a2a/parley/internal/directory"
	"github.com/parley-a2a/parley/internal/file/yamlfile"
)

// Directory configures the sources of agents besides Agents. Zero fields mean the defaults.
type Directory struct {
	// Added are the keys of parts.
	Added Added `yaml:"-"`
	// Allow names the addresses, besides public ones, of agents that callers may register.
	// Agents listed in files may have any address.
	Allow []string `yaml:"allow"`
	// Trust is the trust setting of agents that only the directory knows, unless one is given.
	// The default is open.
	Trust string `yaml:"trust" enum:"open,gated"`
	// KnownAgents is the list of agents that have announced themselves on the bus. The default
	// is an existing known-agents.json in the current folder, in its folder workspace, or in the
	// data folder.
	KnownAgents string `yaml:"known_agents"`
	// WriteKnownAgents makes the hub update that list.
	WriteKnownAgents bool `yaml:"write_known_agents"`
	// Refresh is the interval for reading the card of an agent again. The default is 10m.
	Refresh Duration `yaml:"refresh" never:"true"`
	// Probe is the interval for testing whether an agent is reachable. The default is 1m.
	Probe Duration `yaml:"probe" never:"true"`
}

// Extensions implements yamlfile.Extended.
func (d *Directory) Extensions() []any { return d.Added.in("directory") }

// MCPService is an MCP server that is found by searches, like agents.
type MCPService struct {
	// ID is the name of the server. It is required.
	ID string `yaml:"id"`
	// Summary describes the purpose of the server.
	Summary string `yaml:"summary"`
	// Tools are the tools of the server.
	Tools []MCPTool `yaml:"tools"`
}

// MCPTool is a tool of an MCP server.
type MCPTool struct {
	// Name is the name of the tool. It is required.
	Name string `yaml:"name"`
	// Description describes the tool.
	Description string `yaml:"description"`
}

// Broker configures the handling of messages that request a skill.
type Broker struct {
	// Skills are the skills with rules of their own.
	Skills []BrokerSkill `yaml:"skills"`
}

// BrokerSkill is the rule of a skill.
type BrokerSkill struct {
	// ID is the id of the skill. It is required.
	ID string `yaml:"id"`
	// Among are the agents among which the hub draws one for a message that names only the skill;
	// "*" stands for all. By default the first one gets it: the hub's own agents, then configured
	// ones, then those that have announced themselves.
	Among []string `yaml:"among"`
	// Cooldown is the time after a request for the skill during which it is unavailable.
	Cooldown Duration `yaml:"cooldown"`
	// CooldownKey is the member of the metadata, such as repository, whose values have separate
	// cooldowns.
	CooldownKey string `yaml:"cooldown_key"`
	// Dedupe is the time during which a message with the same content counts as a repetition:
	// its caller gets the task of the first message.
	Dedupe Duration `yaml:"dedupe"`
}

// Services returns the MCP servers in the form of the directory.
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
			d.Problem(nil, key+".id", "duplicate rule for the skill %q", yamlfile.Clip(s.ID))
		case s.CooldownKey != "" && s.Cooldown == 0:
			d.Problem(nil, key+".cooldown_key", "has no effect without cooldown")
		}
		for j, name := range s.Among {
			if name != "*" && !agentName.MatchString(name) {
				d.Problem(nil, key+".among["+strconv.Itoa(j)+"]", "%q must be the name of an agent, or *", yamlfile.Clip(name))
			}
		}
		seen[id] = true
	}
}

func checkDirectory(d *yamlfile.Decoder, c *Config) {
	checkAllow(d, "directory.allow", c.Directory.Allow)
	checkBroker(d, &c.Broker)
	seen := make(map[string]bool)
	for i := range c.MCPServices {
		m, key := &c.MCPServices[i], "mcp_services["+strconv.Itoa(i)+"]"
		switch {
		case m.ID == "":
			d.Problem(nil, key+".id", "is missing")
		case seen[m.ID]:
			d.Problem(nil, key+".id", "duplicate service %q", yamlfile.Clip(m.ID))
		}
		seen[m.ID] = true
		for j := range m.Tools {
			if m.Tools[j].Name == "" {
				d.Problem(nil, key+".tools["+strconv.Itoa(j)+"].name", "is missing")
			}
		}
	}
}
