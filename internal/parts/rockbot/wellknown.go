package rockbot

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/goccy/go-yaml/ast"

	"github.com/parley-a2a/parley/internal/config"
	"github.com/parley-a2a/parley/internal/directory"
	"github.com/parley-a2a/parley/internal/directory/agentfile"
	"github.com/parley-a2a/parley/internal/file/yamlfile"
)

// directoryKeys are the keys of the part in directory.
type directoryKeys struct {
	// WellKnown is the list of agents in RockBot's format. The default is an existing
	// well-known-agents.json in the current folder, in its folder workspace, or in the data folder.
	WellKnown string `yaml:"well_known" path:"yes"`
}

const directorySchema = `"well_known": {"$ref": "#/$defs/text", "description": "A list of agents in the form of RockBot. Default: well-known-agents.json in the current folder, in ./workspace or in the data folder, if it is there"}`

func directoryOf(c *config.Config) *directoryKeys { return config.Get[directoryKeys](&c.Directory) }

// flags are the flags of the part.
type flags struct {
	WellKnown string `name:"well-known" help:"A list of agents that are always there (well-known-agents.json here, in ./workspace or in the data folder)." placeholder:"FILE"`
}

// Settings implements config.Flags.
func (f *flags) Settings(c *config.Config) {
	k := directoryOf(c)
	k.WellKnown = cmp.Or(f.WellKnown, k.WellKnown)
}

// namesAgentFiles is a config.NamesAgentFiles.
func namesAgentFiles(c *config.Config) bool { return directoryOf(c).WellKnown != "" }

// sources is a config.Sources: well-known-agents.json, the list of permanent agents. If a list of
// skills is given, it is complete.
func sources(c *config.Config, o agentfile.Options) []directory.Source {
	o.Flag = directoryOf(c).WellKnown
	parse := func(d *yamlfile.Decoder, src []byte) []directory.Spec { return parseWellKnown(&o, d, src) }
	return []directory.Source{agentfile.New(o, "well-known-agents.json", parse)}
}

// wellKnown is an agent of well-known-agents.json.
type wellKnown struct {
	AgentName       string            `yaml:"agentName"`
	URL             string            `yaml:"url"`
	Description     string            `yaml:"description"`
	Version         string            `yaml:"version"`
	HeaderName      string            `yaml:"authHeaderName"`
	HeaderValue     string            `yaml:"authHeaderValueBase64"`
	Skills          []agentfile.Skill `yaml:"skills"`
	ProtocolVersion string            `yaml:"protocolVersion"`
	Streaming       *bool             `yaml:"supportsStreaming"`
	PollInitial     delay             `yaml:"pollingInitialDelay"`
	PollMax         delay             `yaml:"pollingMaxDelay"`
	Trust           string            `yaml:"trust" enum:"open,gated"`
}

// delay is a duration, written with a unit (2s) or in the form of .NET (00:00:02).
type delay time.Duration

// DecodeNode implements yamlfile.Node.
func (v *delay) DecodeNode(d *yamlfile.Decoder, node ast.Node, key string) {
	text, ok := d.Text(node, key)
	if !ok || text == "" {
		return
	}
	written := text
	if clock := strings.Split(text, ":"); len(clock) == 3 {
		written = clock[0] + "h" + clock[1] + "m" + clock[2] + "s"
	}
	after, err := time.ParseDuration(written)
	if err != nil || after <= 0 {
		d.Problem(node, key, "%q is not a time like 2s or 00:00:02", yamlfile.Clip(text))
		return
	}
	*v = delay(after)
}

// parseWellKnown reads well-known-agents.json.
func parseWellKnown(o *agentfile.Options, d *yamlfile.Decoder, src []byte) []directory.Spec {
	var file []wellKnown
	d.Decode(src, &file)
	var specs []agentfile.Entry
	for i := range file {
		key := "[" + strconv.Itoa(i) + "]"
		s := file[i].spec(d, key)
		o.Locate(&s, file[i].AgentName, "")
		specs = append(specs, agentfile.Entry{Spec: s, Key: key})
	}
	return agentfile.Check(d, specs, map[string]string{"name": "agentName", "exchange": "agentName"})
}

func (w *wellKnown) spec(d *yamlfile.Decoder, key string) directory.Spec {
	s := directory.Spec{
		Name: directory.NameOf(w.AgentName), Title: w.AgentName, URL: w.URL, Description: w.Description, Version: w.Version,
		Streaming: w.Streaming, Pinned: w.Skills != nil, WellKnown: true, Trust: directory.Trust(w.Trust),
		Call: directory.Call{
			PollInitial: time.Duration(w.PollInitial), PollMax: time.Duration(w.PollMax),
			Credentials: directory.Credentials{HeaderName: w.HeaderName},
		},
	}
	if w.URL != "" {
		s.Call.Binding, s.Call.Version = a2a.TransportProtocolJSONRPC, w.version()
	}
	if w.HeaderValue != "" {
		value, err := directory.DecodeHeaderValue(w.HeaderValue)
		if err != nil {
			d.Problem(nil, key+".authHeaderValueBase64", "%s", err.Error())
		}
		s.Call.Credentials.HeaderValue = value
	}
	for _, k := range w.Skills {
		s.Skills = append(s.Skills, k.Listed())
		agentfile.Gate(&s, k.ID, k.Trust)
	}
	return s
}

// version returns the protocol version for calls of an agent whose card gives none.
func (w *wellKnown) version() a2a.ProtocolVersion {
	if major, _, _ := strings.Cut(w.ProtocolVersion, "."); major == "1" {
		return a2a.Version
	}
	return agentfile.DefaultVersion
}
