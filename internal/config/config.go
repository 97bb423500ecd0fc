package config

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/parley-a2a/parley/bus"
	"github.com/parley-a2a/parley/inbox/question"
	"github.com/parley-a2a/parley/internal/agents/assistant"
	"github.com/parley-a2a/parley/internal/file/yamlfile"
	"github.com/parley-a2a/parley/internal/llm/guard"
	"github.com/parley-a2a/parley/task"
)

// FileName is the name that a configuration file is looked for by.
const FileName = "parley.yaml"

// Duration is a time.Duration, written as text: a number with a unit, such as 30s,
// 1h30m or 7d. Some durations may also be "never", which is a negative one here.
type Duration time.Duration

// Size is a number of bytes, written as text: a number, with a unit such as KiB, MiB
// or GiB, or kB, MB or GB for powers of ten.
type Size int64

// Command is a program with its arguments, written as a list. A single text is run
// by /bin/sh.
type Command []string

// DecodeNode implements yamlfile.Node.
func (c *Command) DecodeNode(d *yamlfile.Decoder, node ast.Node, key string) {
	if _, ok := node.(*ast.SequenceNode); ok {
		d.List(node, reflect.ValueOf(c).Elem(), key)
		return
	}
	if text, ok := d.Text(node, key); ok && text != "" {
		*c = Command{"/bin/sh", "-c", text}
	}
}

// Config is a configuration file. Zero fields are not set: whoever uses them fills in
// the default that is named here.
type Config struct {
	// Listen is the address for HTTP: 127.0.0.1:4100.
	Listen string `yaml:"listen"`
	// GRPCListen is the address for gRPC. If empty, gRPC is not served.
	GRPCListen string `yaml:"grpc_listen"`
	// Data is the folder for everything that is kept: ./parley-data.
	Data string `yaml:"data" path:"yes"`
	// PublicURL is the address that cards name. If empty, it is made from each
	// request.
	PublicURL string `yaml:"public_url"`
	// TrustForwarded takes X-Forwarded-Proto and X-Forwarded-Host for it.
	TrustForwarded bool `yaml:"trust_forwarded"`
	// AllowAnonymous accepts callers without credentials from other machines.
	AllowAnonymous bool `yaml:"allow_anonymous"`
	// Profile makes the hub answer as the server of another system does, where the protocol
	// leaves it open: awaken. See docs/dialects.md.
	Profile string `yaml:"profile" enum:"awaken"`
	// UnionCard serves cards with the keys of both protocol versions.
	UnionCard bool `yaml:"union_card"`
	// NoStreaming switches the streaming operations off.
	NoStreaming bool `yaml:"no_streaming"`
	// LenientVersion takes a JSON-RPC call without A2A-Version for v1.0.
	LenientVersion bool `yaml:"lenient_version"`
	// NoClientIDs refuses task ids that callers choose, on every surface.
	NoClientIDs bool `yaml:"no_client_ids"`
	// SpecStatuses answers with the HTTP statuses of the specification where clients
	// of the surface are used to others.
	SpecStatuses bool `yaml:"spec_statuses"`
	// AgentsBuiltin says whether the built-in agents are served; nil means yes.
	AgentsBuiltin *bool `yaml:"agents_builtin"`
	// DefaultAgent is the agent for callers that name none: the one called default, or else
	// the first of Agents, or else the first built-in one.
	DefaultAgent string `yaml:"default_agent"`
	// Agents are served beside the built-in ones. One with the name of a built-in
	// agent takes its place.
	Agents []Agent `yaml:"agents"`
	// ModelProviders are where language models are asked, for agents with a Model.
	ModelProviders []ModelProvider `yaml:"model_providers"`
	// Bus says how agents are reached that need not be running when they are called.
	Bus Bus `yaml:"bus"`
	// RockBot is the hub's place on the exchange of RockBot's agents.
	RockBot RockBot `yaml:"rockbot"`
	// Directory says where further agents are known from.
	Directory Directory `yaml:"directory"`
	// MCPServices are MCP servers that can be searched for beside the agents.
	MCPServices []MCPService `yaml:"mcp_services"`
	// MCPServers are MCP servers that the hub keeps running.
	MCPServers []MCPServer `yaml:"mcp_servers"`
	// MCP says what hosts of MCP get.
	MCP MCP `yaml:"mcp"`
	// Broker says how messages are dealt with that ask for a skill.
	Broker Broker `yaml:"broker"`
	// TLS is what the listeners of callers show.
	TLS TLS `yaml:"tls"`
	// Auth says who may call.
	Auth Auth `yaml:"auth"`
	// APIKeys is the section of the gateway of RockBot with its keys: more callers like
	// those of Auth.APIKeys, which speak RockBot's dialect.
	APIKeys Callers `yaml:"ApiKeys"`
	// Policy says which caller may do what.
	Policy Policy `yaml:"policy"`
	// Cards says which cards are signed, and which signatures are trusted.
	Cards Cards `yaml:"cards"`
	// ExtendedCard says who may see the extended cards.
	ExtendedCard ExtendedCard `yaml:"extended_card"`
	// Limits bound what a request may take.
	Limits Limits `yaml:"limits"`
	// Engine says how tasks are run and kept.
	Engine Engine `yaml:"engine"`
	// Delegation bounds how far agents may ask each other.
	Delegation Delegation `yaml:"delegation"`
	// Safety says how models read what others say.
	Safety Safety `yaml:"safety"`
	// Questions says who answers when agents ask back.
	Questions Questions `yaml:"questions"`
	// Idempotency says which messages are taken at most once.
	Idempotency Idempotency `yaml:"idempotency"`
	// Push says how webhooks are told.
	Push Push `yaml:"push"`
	// Trust says how gated agents deal with callers.
	Trust Trust `yaml:"trust"`
	// Parts says how large parts of messages and artifacts are kept.
	Parts Parts `yaml:"parts"`
	// Memory says what the hub remembers beside its tasks.
	Memory Memory `yaml:"memory"`
	// FrontDesk says whether the agents that speak for the owner are served.
	FrontDesk FrontDesk `yaml:"front_desk"`
	// Audit says what the audit log holds, and where it is.
	Audit Audit `yaml:"audit"`
	// Log says what is logged.
	Log Log `yaml:"log"`
	// Telemetry says who may measure the hub.
	Telemetry Telemetry `yaml:"telemetry"`

	// File is where the configuration came from; empty if from nowhere.
	File string `yaml:"-"`
	// SecretFiles are the files whose texts were put in.
	SecretFiles []string `yaml:"-"`
	// OpenBus, if set, opens the bus in the place of Bus.URL, for tests. No file can ask
	// for it.
	OpenBus func(context.Context) (bus.Bus, error) `yaml:"-"`
	// Conformance serves the agent of the conformance kits and no other. No file can
	// ask for it.
	Conformance bool `yaml:"-"`
}

// Builtin reports whether the built-in agents are served.
func (c *Config) Builtin() bool { return c.AgentsBuiltin == nil || *c.AgentsBuiltin }

// Agent is an agent that is served: a program, an agent elsewhere, a language model, or one
// that the hub brings along, of which something is said.
type Agent struct {
	// Name is the agent's name in addresses: small letters and digits, with single
	// dashes between them. It is required.
	Name string `yaml:"name"`
	// Title is the name in the agent's card, as people write it: the name.
	Title string `yaml:"title"`
	// Description and Version are for the card.
	Description string `yaml:"description"`
	Version     string `yaml:"version"`
	// Command is the program.
	Command Command `yaml:"command"`
	// URL is the address of an agent that speaks A2A.
	URL string `yaml:"url"`
	// Endpoint is the same with all that can be said of it.
	Endpoint Endpoint `yaml:"endpoint"`
	// Model is the language model that thinks for the agent.
	Model Model `yaml:"model"`
	// Queue is the agent's name on the bus, if workers at a queue perform its tasks.
	Queue string `yaml:"queue"`
	// RockBot is the agent's name on RockBot's exchange, if it is one of RockBot's.
	RockBot string `yaml:"rockbot"`
	// Transport says how an agent with a URL and a queue is called. If empty, its card says
	// it, or else it is queue once a worker was seen.
	Transport string `yaml:"transport" enum:"http,queue"`
	// OmitContext leaves it to an agent with a URL or an endpoint to name contexts: the
	// first message of a context is sent without one.
	OmitContext bool `yaml:"omit_context"`
	// Identity says how an agent with a URL, an endpoint or a command is told whose work it
	// does.
	Identity Identity `yaml:"identity"`
	// Dir is the folder that the program runs in: that of the file.
	Dir string `yaml:"dir" path:"yes"`
	// Env is added to the hub's environment.
	Env map[string]string `yaml:"env"`
	// Timeout ends a run that takes longer; zero means no limit.
	Timeout Duration `yaml:"timeout"`
	// Grace is the time between SIGTERM and SIGKILL: 5s.
	Grace Duration `yaml:"grace"`
	// MaxOutput ends a run that writes more: 8MiB.
	MaxOutput Size `yaml:"max_output"`
	// Silence ends a run that writes nothing for so long; zero means the engine's
	// agent_silence.
	Silence Duration `yaml:"silence" never:"true"`
	// Idempotent and Serial are the agent's traits.
	Idempotent bool `yaml:"idempotent"`
	Serial     bool `yaml:"serial"`
	// Trust is "gated" for an agent that does what callers are trusted with: open.
	Trust string `yaml:"trust" enum:"open,gated"`
	// Questions says who answers when the agent asks back: the policy of Questions.
	Questions string `yaml:"questions" enum:"suspend,auto,ask,trust,fail"`
	// Skills are what the agent can do. If empty, it has one skill with its own name
	// and description.
	Skills []Skill `yaml:"skills"`
	// Dialect is how requests to the agent are read where neither they nor their
	// caller say it.
	Dialect string `yaml:"dialect" enum:"v1.0,v0.3,promptkit,rockbot"`
	// Extended is what some callers see beyond the card, see ExtendedCard.
	Extended Extended `yaml:"extended"`
	// InputModes and OutputModes are the media types that the agent takes and gives:
	// text/plain.
	InputModes  []string `yaml:"inputModes"`
	OutputModes []string `yaml:"outputModes"`
	// StrictModes refuses messages to an agent elsewhere whose media types its card does not
	// list. Otherwise they are passed on, and the log says so.
	StrictModes bool `yaml:"strict_modes"`
}

// Skill is a skill of an agent's card (specification §4.4.5).
type Skill struct {
	// ID identifies the skill within the agent. It is required.
	ID string `yaml:"id"`
	// Name is for people: the id.
	Name string `yaml:"name"`
	// Description says what the skill does: the description of the agent.
	Description string `yaml:"description"`
	// Tags are words to find the skill by.
	Tags []string `yaml:"tags"`
	// Examples are messages that the skill handles.
	Examples []string `yaml:"examples"`
	// InputModes and OutputModes are media types; if empty, the agent's count.
	InputModes  []string `yaml:"inputModes"`
	OutputModes []string `yaml:"outputModes"`
	// Trust is "gated" for a skill that is done for those who are trusted with it: open.
	Trust string `yaml:"trust" enum:"open,gated"`
	// Command is the program of this skill, for an agent that has one for each of them.
	Command Command `yaml:"command"`
}

// Limits bound what a request and a caller may take. Zero means the default that is
// named; the last four do not limit then, because a hub of one person is not to be
// slowed down by its own guard.
type Limits struct {
	// Body is the largest request body: 10MiB.
	Body Size `yaml:"body"`
	// BodyTime is how long a body may take to arrive: 30s.
	BodyTime Duration `yaml:"body_time"`
	// WriteTime is how long a reader may take to accept a write: 30s.
	WriteTime Duration `yaml:"write_time"`
	// KeepAlive is the silence after which a stream sends a comment: 15s.
	KeepAlive Duration `yaml:"keep_alive"`
	// StreamsPerCaller is how many streams one caller may have open: 1000.
	StreamsPerCaller int `yaml:"streams_per_caller"`
	// Streams is how many streams may be open in all: 20000.
	Streams int `yaml:"streams"`
	// RequestsPerSecond is how many requests one caller may make, on average. All
	// anonymous callers are one.
	RequestsPerSecond float64 `yaml:"requests_per_second"`
	// Burst is how many of them may come at once: twice RequestsPerSecond.
	Burst int `yaml:"burst"`
	// BytesPerSecond is how many bytes of requests one caller may send, on average, and of
	// large parts read. A request may be larger; its caller then waits until it is paid for.
	BytesPerSecond Size `yaml:"bytes_per_second"`
	// TasksPerCaller is how many tasks of one caller may run or wait in line. Those
	// that wait for the caller do not count.
	TasksPerCaller int `yaml:"tasks_per_caller"`
}

// Engine says how tasks are run and kept. Zero means the default that is named.
type Engine struct {
	// MaxWait is how long a blocking call waits: 300s.
	MaxWait Duration `yaml:"max_wait"`
	// FirstEvent is how long an agent may take to answer with a bare message, or to confirm
	// extensions: 1s.
	FirstEvent Duration `yaml:"first_event"`
	// AgentSilence ends a run that says nothing for so long: 15m.
	AgentSilence Duration `yaml:"agent_silence" never:"true"`
	// CancelWait is how long an agent may take to confirm a cancellation: 10s.
	CancelWait Duration `yaml:"cancel_wait"`
	// DrainTimeout is how long runs may go on when the hub stops: 10s; never means
	// that they are not waited for.
	DrainTimeout Duration `yaml:"drain_timeout" never:"true"`
	// Retention is how long a finished task is kept: 30d.
	Retention Duration `yaml:"retention"`
	// IdleRetention is how long a task waits for its caller: 30d.
	IdleRetention Duration `yaml:"idle_retention"`
	// MaxRuns is how many tasks run at one time: 10000.
	MaxRuns int `yaml:"max_runs"`
	// MaxQueued is how many tasks may wait in line: 100000.
	MaxQueued int `yaml:"max_queued"`
	// MaxWaiting is how many unread messages a task may have: 100.
	MaxWaiting int `yaml:"max_waiting"`
}

// Delegation bounds how far the work of one caller goes from agent to agent, through this
// hub and others. Zero means the default that is named.
type Delegation struct {
	// MaxHops is how many agents may ask each other one after the other: 8.
	MaxHops int `yaml:"max_hops"`
	// MaxTasks is how many tasks may be begun on behalf of one: 1000.
	MaxTasks int `yaml:"max_tasks"`
	// MaxTime is how long work may take that an agent has asked others for, unless its
	// caller has less time; zero means no limit.
	MaxTime Duration `yaml:"max_time"`
}

// Safety says how models read what others say: agents, cards, MCP servers.
type Safety struct {
	// WordsOfOthers is what happens to orders in them: mark leaves them and warns of them,
	// redact takes them out, refuse withholds the text; mark.
	WordsOfOthers string `yaml:"words_of_others" enum:"mark,redact,refuse"`
}

// Guard returns what labels and screens the words of others.
func (s *Safety) Guard() guard.Guard { return guard.Guard{Policy: guard.Policy(s.WordsOfOthers)} }

// Questions says who answers when agents ask back. If it is zero, their callers do.
type Questions struct {
	// Policy is that of agents without one of their own: trust if there is an answering
	// agent, which asks a person unless the agent is trusted to act; else suspend, which
	// leaves questions to the caller.
	Policy string `yaml:"policy" enum:"suspend,auto,ask,trust,fail"`
	// AnsweringAgent is the agent that answers for auto and trust, and drafts for ask.
	AnsweringAgent string `yaml:"answering_agent"`
	// Script is a file of patterns and answers, with which the hub serves the answering
	// agent itself.
	Script string `yaml:"script" path:"yes"`
	// AskTime is how long a question waits for a person: 7d.
	AskTime Duration `yaml:"ask_time"`
	// MaxRounds is how many questions of a task are answered in a row: 20.
	MaxRounds int `yaml:"max_input_required_rounds"`
	// Repetition is how often in a row the same question may get the same answer: 3.
	Repetition int `yaml:"input_required_repetition_threshold"`
}

// Desk returns who answers, without the hub's inbox and what it knows of trust.
func (c *Config) Desk() *question.Desk {
	q := &c.Questions
	d := &question.Desk{
		Answerer: task.Agent(q.AnsweringAgent), Default: question.Policy(q.Policy),
		AskTime: time.Duration(q.AskTime), MaxRounds: q.MaxRounds, Repetition: q.Repetition, Policies: make(map[task.Agent]question.Policy),
	}
	if c.FrontDesk.Serve {
		for _, a := range new(assistant.Desk).Agents() {
			d.Policies[a.Name] = question.Suspend // it speaks for the owner, and asks who calls
		}
	}
	for i := range c.Agents {
		if a := &c.Agents[i]; a.Questions != "" {
			d.Policies[task.Agent(a.Name)] = question.Policy(a.Questions)
		}
	}
	return d
}

// Idempotency says which messages are taken at most once. If it is zero, every message
// is a new one.
type Idempotency struct {
	// Header takes the key of a message from the header Idempotency-Key.
	Header bool `yaml:"header"`
	// TTL is how long a key is remembered: 24h.
	TTL Duration `yaml:"ttl"`
	// MessageID takes the id of a message without a key for its key.
	MessageID bool `yaml:"message_id"`
}

// Log says what is logged.
type Log struct {
	// Level is the least level that is logged: info.
	Level string `yaml:"level" enum:"debug,info,warn,error"`
	// Format is how records are written: text.
	Format string `yaml:"format" enum:"text,json"`
}

// Telemetry says who may measure the hub, and how. Where spans and metrics are sent is
// said by the variables of OpenTelemetry.
type Telemetry struct {
	// Metrics says who may read /metrics: local, which is everybody on this machine and
	// administrators; admin; anyone; or off.
	Metrics string `yaml:"metrics" enum:"local,admin,anyone,off"`
	// RockBotNames gives the metrics of calls the names rockbot.a2a.* as well, and spans the
	// names and ids that RockBot has for them.
	RockBotNames bool `yaml:"rockbot_names"`
}

//go:embed schema/parley.schema.json
var schema []byte

// Schema returns the JSON Schema (draft 2020-12) of the file.
func Schema() []byte { return slices.Clone(schema) }

// Find returns the path of the configuration file: the one that a flag names, which
// must exist, or else the first parley.yaml in the current folder, in its folder
// workspace, and in the data folder. It returns an empty path if there is none.
func Find(flag, data string) (string, error) {
	if flag != "" {
		if _, err := os.Stat(flag); err != nil {
			return "", fmt.Errorf("find configuration: %w", err)
		}
		return flag, nil
	}
	for _, dir := range []string{".", "workspace", data} {
		if dir == "" {
			continue
		}
		path := filepath.Join(dir, FileName)
		switch info, err := os.Stat(path); {
		case err == nil && !info.IsDir():
			return path, nil
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return "", fmt.Errorf("find configuration: %w", err)
		}
	}
	return "", nil
}

// Load reads the file at path with the variables of the process.
func Load(path string) (*Config, error) {
	src, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("load configuration: %w", err)
	}
	return Parse(path, src, os.LookupEnv)
}

// Parse reads src, which came from the file at path. Variables are looked up with
// lookup. The error is a [yamlfile.Errors] if the file is at fault.
func Parse(path string, src []byte, lookup func(string) (string, bool)) (*Config, error) {
	folder, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("load configuration: %w", err)
	}
	c := &Config{File: path}
	d := yamlfile.New(path, lookup)
	d.ReadFiles(c.readSecret)
	d.PathsFrom(folder)
	d.Decode(src, c)
	c.Auth.ofGateway(c.APIKeys)
	if len(d.Problems()) == 0 {
		check(d, c)
	}
	if len(d.Problems()) > 0 {
		return nil, d.Problems()
	}
	c.runIn(folder)
	return c, nil
}

// runIn lets programs without a folder of their own run in folder.
func (c *Config) runIn(folder string) {
	for i := range c.Agents {
		if a := &c.Agents[i]; a.Programs() {
			a.Dir = cmp.Or(a.Dir, folder)
		}
	}
	for i := range c.MCPServers {
		if s := &c.MCPServers[i]; len(s.Command) > 0 {
			s.Dir = cmp.Or(s.Dir, folder)
		}
	}
}
