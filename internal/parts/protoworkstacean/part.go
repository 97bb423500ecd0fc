// Package protoworkstacean is the part for agents of protoWorkstacean: its list of agents,
// agents.yaml, is a source of the directory. The skills of the list override those of the cards.
//
// Its clients and agents speak v0.3, which the hub itself speaks. Their tests are in the
// folder e2e.
package protoworkstacean

import (
	"cmp"

	"github.com/parley-a2a/parley/internal/config"
	"github.com/parley-a2a/parley/internal/directory"
	"github.com/parley-a2a/parley/internal/directory/agentfile"
	"github.com/parley-a2a/parley/internal/registry"
)

func init() {
	registry.Register("protoworkstacean",
		config.Keys{In: "directory", New: func() any { return new(keys) }, Schema: schema},
		config.Sources(func(c *config.Config, o agentfile.Options) []directory.Source {
			return []directory.Source{agents(o, keysOf(c).AgentsFile)}
		}),
		config.NamesAgentFiles(func(c *config.Config) bool { return keysOf(c).AgentsFile != "" }),
		config.NewFlags(func() config.Flags { return new(flags) }),
	)
}

// keys are the keys of the part in directory.
type keys struct {
	// AgentsFile is the list of agents. The default is an existing agents.yaml in the current folder,
	// in its folder workspace, or in the data folder.
	AgentsFile string `yaml:"agents_file" path:"yes"`
}

const schema = `"agents_file": {"$ref": "#/$defs/text", "description": "A list of agents in the form of protoWorkstacean. Default: agents.yaml in the current folder, in ./workspace or in the data folder, if it is there"}`

func keysOf(c *config.Config) *keys { return config.Get[keys](&c.Directory) }

// flags are the flags of the part.
type flags struct {
	AgentsFile string `name:"agents-file" help:"A list of remote agents (agents.yaml here, in ./workspace or in the data folder)." placeholder:"FILE"`
}

// Settings implements config.Flags.
func (f *flags) Settings(c *config.Config) {
	k := keysOf(c)
	k.AgentsFile = cmp.Or(f.AgentsFile, k.AgentsFile)
}

// agents returns the source for agents.yaml, or for the file at path.
func agents(o agentfile.Options, path string) *agentfile.File {
	o.Flag = path
	return agentfile.New(o, "agents.yaml", parse)
}
