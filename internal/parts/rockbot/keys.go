package rockbot

import (
	"slices"
	"strconv"
	"strings"

	"github.com/parley-a2a/parley/internal/config"
	"github.com/parley-a2a/parley/internal/doctor"
	"github.com/parley-a2a/parley/internal/file/yamlfile"
)

// keys are the keys of the part in parley.yaml.
type keys struct {
	// RockBot configures the hub's connection to the exchange of RockBot's agents.
	RockBot settings `yaml:"rockbot"`
}

// settings configure the hub's connection to the exchange of RockBot's agents.
type settings struct {
	// URL is the address of RockBot's broker, amqp:// or amqps://. The default is the bus, if
	// that is RabbitMQ.
	URL string `yaml:"url"`
	// Name is the hub's name among RockBot's agents. The default is parley.
	Name string `yaml:"name"`
	// Serve are the hub's agents that RockBot's agents may call. Name itself stands for all of
	// them: a request goes to the agent with the requested skill.
	Serve []string `yaml:"serve"`
}

const schema = `"rockbot": {"$ref": "#/$defs/RockBot"}`

const definitions = `"RockBot": {
      "type": ["object", "null"],
      "additionalProperties": false,
      "description": "The hub's place on the exchange of RockBot's agents.",
      "properties": {
        "url": {"$ref": "#/$defs/text", "description": "The address of RockBot's broker: amqp:// or amqps://. Default: the bus's address, if it is RabbitMQ"},
        "name": {"$ref": "#/$defs/text", "description": "What RockBot's agents call the hub. Default: parley"},
        "serve": {"type": ["array", "null"], "items": {"$ref": "#/$defs/text"}, "description": "Agents of the hub that RockBot's agents may ask; the hub's own name stands for all of them, by their skills."}
      }
    }`

// agentKeys are the keys of the part in an agent.
type agentKeys struct {
	// RockBot is the agent's name on RockBot's exchange, if it is a RockBot agent.
	RockBot string `yaml:"rockbot"`
}

const agentSchema = `"rockbot": {"$ref": "#/$defs/text", "description": "The agent's name on RockBot's exchange, if it is one of RockBot's."}`

// OnExchange implements config.OnExchange.
func (k *agentKeys) OnExchange() string { return k.RockBot }

// Secrets implements config.Secrets.
func (k *keys) Secrets() []string { return []string{config.Password(k.RockBot.URL)} }

func settingsOf(c *config.Config) *settings { return &config.Get[keys](c).RockBot }

// used reports whether the hub calls or serves agents on RockBot's exchange.
func used(c *config.Config) bool {
	k := settingsOf(c)
	return len(k.Serve) > 0 || k.Name != "" || slices.ContainsFunc(c.Agents, func(a config.Agent) bool { return a.Exchange() != "" })
}

func overAMQP(at string) bool {
	return strings.HasPrefix(at, "amqp://") || strings.HasPrefix(at, "amqps://")
}

// maxName keeps queue names within AMQP's limit.
const maxName = 64

// check is a config.Check.
func check(d *yamlfile.Decoder, c *config.Config) {
	k := settingsOf(c)
	if u := k.URL; u != "" && (!overAMQP(u) || config.CheckBusURL(u) != "") {
		d.Problem(nil, "rockbot.url", "is not the address of a broker like amqp://user:password@host/vhost")
	}
	checkName(d, "rockbot.name", k.Name)
	for i := range c.Agents {
		a, key := &c.Agents[i], "agents["+strconv.Itoa(i)+"]"
		checkName(d, key+".rockbot", a.Exchange())
		if a.Exchange() != "" && a.Queue != "" {
			d.Problem(nil, key+".queue", "the queue of an agent of RockBot has the name that RockBot gives it")
		}
	}
	for i, name := range k.Serve {
		at := "rockbot.serve[" + strconv.Itoa(i) + "]"
		switch {
		case !config.IsAgentName(name) && name != k.Name:
			d.Problem(nil, at, "invalid agent name %q", yamlfile.Clip(name))
		case slices.Index(k.Serve, name) < i:
			d.Problem(nil, at, "appears twice")
		case slices.ContainsFunc(c.Agents, func(a config.Agent) bool { return a.Name == name && a.Exchange() != "" }):
			d.Problem(nil, at, "%q is RockBot's itself", yamlfile.Clip(name))
		}
	}
}

// checkName reports a name that topics and queues cannot contain.
func checkName(d *yamlfile.Decoder, key, name string) {
	bad := func(r rune) bool { return r <= ' ' || r == 0x7f || strings.ContainsRune(".*#", r) }
	switch {
	case len(name) > maxName:
		d.Problem(nil, key, "is longer than %d bytes", maxName)
	case strings.ContainsFunc(name, bad):
		d.Problem(nil, key, "%q is not a name on RockBot's exchange: it has a space, a dot, * or #", yamlfile.Clip(name))
	}
}

// openings is a config.Openings.
func openings(c *config.Config) []doctor.Opening {
	served := settingsOf(c).Serve
	if len(served) == 0 {
		return nil
	}
	return []doctor.Opening{{
		Key: "rockbot.serve", Access: "every client that may publish at RockBot's broker asks " + strings.Join(served, ", ") + " without a key",
	}}
}
