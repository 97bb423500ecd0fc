// Package awaken is the part for clients and agents of Awaken. With the profile awaken, the hub answers
// like Awaken's server where the protocol leaves the answer open. Agent specs in Awaken's format are
// sources of the directory: a spec with an endpoint is a remote agent, one with a model is an agent of
// the hub. All else that its clients need is the protocol.
package awaken

import (
	"github.com/parley-a2a/parley/internal/config"
	"github.com/parley-a2a/parley/internal/directory"
	"github.com/parley-a2a/parley/internal/directory/agentfile"
	"github.com/parley-a2a/parley/internal/file/yamlfile"
	"github.com/parley-a2a/parley/internal/registry"
)

const name = "awaken"

func init() {
	registry.Register(name,
		config.Keys{In: "directory", New: func() any { return new(keys) }, Schema: schema},
		config.Sources(sources),
		config.NamesAgentFiles(func(c *config.Config) bool { return len(keysOf(c).Specs) > 0 }),
		config.NewFlags(func() config.Flags { return new(flags) }),
		config.Profile{Name: name, Interfaces: []string{"HTTP+JSON", "JSONRPC", "GRPC"}},
		profile,
	)
}

// keys are the keys of the part in directory.
type keys struct {
	// Specs are files of agent specs, or folders of them.
	Specs []string `yaml:"specs" path:"yes"`
}

const schema = `"specs": {"$ref": "#/$defs/texts", "description": "Files of agent specs, or folders of them. A relative path counts from the folder of this file."}`

func keysOf(c *config.Config) *keys { return config.Get[keys](&c.Directory) }

// flags are the flags of the part.
type flags struct {
	AgentSpecs []string `name:"agent-specs" help:"A file of agent specs, or a folder of them. May be repeated." placeholder:"PATH"`
}

// Settings implements config.Flags.
func (f *flags) Settings(c *config.Config) {
	k := keysOf(c)
	k.Specs = append(k.Specs, f.AgentSpecs...)
}

// sources returns the files and folders of agent specs.
func sources(c *config.Config, o agentfile.Options) []directory.Source {
	var all []directory.Source
	for _, path := range keysOf(c).Specs {
		o.Flag = path
		all = append(all, file(o))
	}
	return all
}

// file returns the source for the file or folder of agent specs at o.Flag.
func file(o agentfile.Options) *agentfile.File {
	return agentfile.NewFolder(o, func(d *yamlfile.Decoder, src []byte) []directory.Spec { return parse(&o, d, src) })
}
