package config

import (
	"slices"
	"strconv"
	"strings"

	"github.com/parley-a2a/parley/internal/file/yamlfile"
)

// RockBot configures the hub's connection to the exchange of RockBot's agents.
type RockBot struct {
	// URL is the address of RockBot's broker, amqp:// or amqps://. The default is the bus, if
	// that is RabbitMQ.
	URL string `yaml:"url"`
	// Name is the hub's name among RockBot's agents. The default is parley.
	Name string `yaml:"name"`
	// Serve are the hub's agents that RockBot's agents may call. Name itself stands for all of
	// them: a request goes to the agent with the requested skill.
	Serve []string `yaml:"serve"`
}

// RockBotURL returns the address of RockBot's broker; empty if the hub does not connect to it.
func (c *Config) RockBotURL() string {
	switch {
	case c.RockBot.URL != "":
		return c.RockBot.URL
	case c.UsesRockBot() && overAMQP(c.Bus.URL):
		return c.Bus.URL
	}
	return ""
}

// UsesRockBot reports whether the hub calls or serves agents on RockBot's exchange.
func (c *Config) UsesRockBot() bool {
	return len(c.RockBot.Serve) > 0 || c.RockBot.Name != "" || slices.ContainsFunc(c.Agents, func(a Agent) bool { return a.RockBot != "" })
}

func overAMQP(at string) bool {
	return strings.HasPrefix(at, "amqp://") || strings.HasPrefix(at, "amqps://")
}

// maxRockBotName keeps queue names within AMQP's limit.
const maxRockBotName = 64

func checkRockBot(d *yamlfile.Decoder, c *Config) {
	if u := c.RockBot.URL; u != "" && (!overAMQP(u) || CheckBusURL(u) != "") {
		d.Problem(nil, "rockbot.url", "is not the address of a broker like amqp://user:password@host/vhost")
	}
	checkRockBotName(d, "rockbot.name", c.RockBot.Name)
	for i := range c.Agents {
		checkRockBotName(d, "agents["+strconv.Itoa(i)+"].rockbot", c.Agents[i].RockBot)
	}
	for i, name := range c.RockBot.Serve {
		at := "rockbot.serve[" + strconv.Itoa(i) + "]"
		switch {
		case !agentName.MatchString(name) && name != c.RockBot.Name:
			d.Problem(nil, at, "%q is not the name of an agent", yamlfile.Clip(name))
		case slices.Index(c.RockBot.Serve, name) < i:
			d.Problem(nil, at, "is there twice")
		case slices.ContainsFunc(c.Agents, func(a Agent) bool { return a.Name == name && a.RockBot != "" }):
			d.Problem(nil, at, "%q is RockBot's itself", yamlfile.Clip(name))
		}
	}
}

// checkRockBotName reports a name that topics and queues cannot contain.
func checkRockBotName(d *yamlfile.Decoder, key, name string) {
	bad := func(r rune) bool { return r <= ' ' || r == 0x7f || strings.ContainsRune(".*#", r) }
	switch {
	case len(name) > maxRockBotName:
		d.Problem(nil, key, "is longer than %d bytes", maxRockBotName)
	case strings.ContainsFunc(name, bad):
		d.Problem(nil, key, "%q is not a name on RockBot's exchange: it has a space, a dot, * or #", yamlfile.Clip(name))
	}
}
