package rockbot

import (
	"slices"

	"github.com/parley-a2a/parley/internal/config"
	"github.com/parley-a2a/parley/internal/parts/rockbot/gateway"
)

// callers are the keys of RockBot's gateway, in the section that its own configuration has: further
// callers like those of auth.api_keys, which use its dialect.
type callers struct {
	APIKeys config.Callers `yaml:"ApiKeys"`
}

const callersSchema = `"ApiKeys": {"$ref": "#/$defs/callers", "description": "The section of RockBot's gateway with its keys: more callers, as in auth.api_keys, which speak RockBot's dialect."}`

// CallerSection implements config.HasCallers.
func (c *callers) CallerSection() config.CallerSection {
	all := slices.Clone(c.APIKeys)
	for i := range all {
		if all[i].Dialect == "" {
			all[i].Dialect = gateway.Name
		}
	}
	return config.CallerSection{Key: "ApiKeys", Callers: all}
}
