package protoworkstacean

import (
	"reflect"
	"strconv"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/goccy/go-yaml/ast"

	"github.com/parley-a2a/parley/internal/directory"
	"github.com/parley-a2a/parley/internal/directory/agentfile"
	"github.com/parley-a2a/parley/internal/file/yamlfile"
)

// agentsFile is the shape of agents.yaml.
type agentsFile struct {
	Agents []listed `yaml:"agents"`
}

// listed is an agent of agents.yaml.
type listed struct {
	Name        string            `yaml:"name"`
	URL         string            `yaml:"url"`
	Description string            `yaml:"description"`
	APIKeyEnv   string            `yaml:"apiKeyEnv"`
	Auth        listedAuth        `yaml:"auth"`
	Headers     map[string]string `yaml:"headers"`
	Streaming   *bool             `yaml:"streaming"`
	Push        *bool             `yaml:"pushNotifications"`
	OmitContext *bool             `yaml:"omitContext"`
	External    bool              `yaml:"external"`
	TimeoutMs   int               `yaml:"timeoutMs"`
	PollInitial int               `yaml:"pollInitialMs"`
	PollMax     int               `yaml:"pollMaxMs"`
	Skills      []listedSkill     `yaml:"skills"`
	// Trust is an extension of Parley, here and below.
	Trust string `yaml:"trust" enum:"open,gated"`

	// These keys configure agents and channels that Parley does not run. They are accepted so
	// that one file serves both programs.
	SubscribesTo          []string `yaml:"subscribesTo"`
	DiscordBotTokenEnvKey string   `yaml:"discordBotTokenEnvKey"`
}

// listedAuth is the auth of an agent of agents.yaml.
type listedAuth struct {
	Scheme         string `yaml:"scheme" enum:"apiKey,bearer,hmac"`
	CredentialsEnv string `yaml:"credentialsEnv"`
}

// listedSkill is a skill of agents.yaml: a string or a mapping.
type listedSkill struct {
	Name        string   `yaml:"name"`
	Description string   `yaml:"description"`
	Tags        []string `yaml:"tags"`
	Examples    []string `yaml:"examples"`
	Trust       string   `yaml:"trust" enum:"open,gated"`
}

// DecodeNode implements yamlfile.Node.
func (s *listedSkill) DecodeNode(d *yamlfile.Decoder, node ast.Node, key string) {
	if _, ok := node.(ast.MapNode); !ok {
		if text, ok := d.Text(node, key); ok {
			s.Name = text
		}
		return
	}
	type plain listedSkill // without this method
	d.Value(node, reflect.ValueOf((*plain)(s)).Elem(), key, "")
}

// parse reads agents.yaml.
func parse(d *yamlfile.Decoder, src []byte) []directory.Spec {
	var file agentsFile
	d.Decode(src, &file)
	var specs []agentfile.Entry
	for i := range file.Agents {
		key := "agents[" + strconv.Itoa(i) + "]"
		specs = append(specs, agentfile.Entry{Spec: file.Agents[i].spec(d, key), Key: key})
	}
	return agentfile.Check(d, specs, nil)
}

func (l *listed) spec(d *yamlfile.Decoder, key string) directory.Spec {
	s := directory.Spec{
		Name: directory.NameOf(l.Name), Title: l.Name, URL: l.URL, Description: l.Description, Streaming: l.Streaming,
		Trust: directory.Trust(l.Trust),
		Call: directory.Call{
			Push: l.Push, External: l.External, Header: l.Headers,
			Timeout:     yamlfile.Millis(l.TimeoutMs),
			PollInitial: yamlfile.Millis(l.PollInitial), PollMax: yamlfile.Millis(l.PollMax),
			Credentials: directory.Credentials{APIKeyEnv: l.APIKeyEnv},
			Binding:     a2a.TransportProtocolJSONRPC, Version: agentfile.DefaultVersion, Fixed: true,
			OmitContext: l.OmitContext == nil || *l.OmitContext, ParamsContext: true,
		},
	}
	c := &s.Call.Credentials
	switch env := l.Auth.CredentialsEnv; {
	case l.Auth.Scheme == "hmac":
		d.Problem(nil, key+".auth.scheme", "hmac is not supported; use apiKey or bearer")
	case l.Auth.Scheme != "" && env == "":
		d.Problem(nil, key+".auth.credentialsEnv", "is missing")
	case l.Auth.Scheme == "bearer":
		c.BearerEnv = env
	case env != "":
		c.APIKeyEnv = env
	}
	for _, k := range l.Skills {
		s.Skills = append(s.Skills, directory.Skill{ID: k.Name, Description: k.Description, Tags: k.Tags, Examples: k.Examples})
		agentfile.Gate(&s, k.Name, k.Trust)
	}
	return s
}
