// Package rockbot is the part for RockBot. It connects a hub to the exchange of RockBot's agents, by
// the key rockbot: agents there perform tasks of the hub (agents[].rockbot), and call those of its
// agents that rockbot.serve names. Its list of agents, well-known-agents.json, is a source of the
// directory.
//
// Package gateway has its dialects over HTTP, package exchange the messages of its exchange.
package rockbot

import (
	"github.com/parley-a2a/parley/internal/config"
	"github.com/parley-a2a/parley/internal/parts/rockbot/gateway"
	"github.com/parley-a2a/parley/internal/registry"
	"github.com/parley-a2a/parley/internal/server"
)

func init() {
	registry.Register(gateway.Name,
		config.Keys{New: func() any { return new(keys) }, Schema: schema, Definitions: definitions},
		config.Keys{New: func() any { return new(callers) }, Schema: callersSchema},
		config.Keys{In: "agents[]", New: func() any { return new(agentKeys) }, Schema: agentSchema, Kind: "rockbot"},
		config.Keys{In: "telemetry", New: func() any { return new(telemetryKeys) }, Schema: telemetrySchema},
		config.Keys{In: "directory", New: func() any { return new(directoryKeys) }, Schema: directorySchema},
		config.Sources(sources),
		config.NamesAgentFiles(namesAgentFiles),
		config.NewFlags(func() config.Flags { return new(flags) }),
		config.Check(check),
		config.Openings(openings),
		config.CallerFamily("rockbot/"),
		server.NewExchange(connect),
		server.TelemetryNames(names),
	)
}
