package config

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/parley-a2a/parley/internal/agents/assistant"
	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/file/yamlfile"
	"github.com/parley-a2a/parley/internal/inbox/question"
	"github.com/parley-a2a/parley/internal/llm/guard"
	"github.com/parley-a2a/parley/task"
)

// FileName is the default name of a configuration file.
const FileName = "parley.yaml"

// Duration is a time.Duration, written as text: a number with a unit, such as 30s, 1h30m or 7d.
// Some durations may also be "never", which is stored as a negative value.
type Duration time.Duration

// Size is a number of bytes, written as text: a number with an optional unit, KiB, MiB or GiB,
// or kB, MB or GB for powers of ten.
type Size int64

// Command is a program with its arguments, written as a list. /bin/sh executes a single text.
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

// Config is a configuration file. Zero fields are not set: the code that uses a field applies
// the documented default.
type Config struct {
	// Listen is the address for HTTP. The default is 127.0.0.1:4100.
	Listen string `yaml:"listen"`
	// GRPCListen is a second address, for gRPC alone, which cards then name. gRPC is also served at
	// listen.
	GRPCListen string `yaml:"grpc_listen"`
	// Data is the folder for all stored data. The default is ./parley-data.
	Data  string `yaml:"data" path:"yes"`
	Store Store  `yaml:"store"`
	// StoreDirect is an address of the same database with a session for each connection, if that of Store is a
	// pooler. The default is Store.
	StoreDirect string `yaml:"store_direct"`
	// MasterKey is the key with which secrets are sealed: 32 bytes in hexadecimal or base64. The
	// default is the file secret.key in the data folder.
	MasterKey string `yaml:"master_key"`
	// HubID names this hub among several that use the same PostgreSQL database; each has another
	// one. If empty, the hub uses the database alone.
	HubID string `yaml:"hub_id"`
	// PublicURL is the address in cards. If empty, it is derived from each request.
	PublicURL string `yaml:"public_url"`
	// AllowedHosts are further hosts, with or without a port, under which callers and browsers reach
	// a hub with keys that listens on a loopback address. The host of PublicURL needs no entry.
	AllowedHosts []string `yaml:"allowed_hosts"`
	// TrustForwarded derives it from X-Forwarded-Proto and X-Forwarded-Host.
	TrustForwarded bool `yaml:"trust_forwarded"`
	// AllowAnonymous accepts callers without credentials from other machines.
	AllowAnonymous bool `yaml:"allow_anonymous"`
	// Profile emulates the server of another system where the protocol allows several
	// behaviours. See docs/dialects.md.
	Profile ProfileName `yaml:"profile"`
	// UnionCard gives agent-card.json the keys of both protocol versions. The default is true; false
	// leaves those of v1.0, for clients that refuse unknown keys.
	UnionCard *bool `yaml:"union_card"`
	// NoStreaming switches the streaming operations off.
	NoStreaming bool `yaml:"no_streaming"`
	// NoConsole switches the console at /console/ off.
	NoConsole bool `yaml:"no_console"`
	// LenientVersion treats a JSON-RPC call without A2A-Version as v1.0.
	LenientVersion bool `yaml:"lenient_version"`
	// NoClientIDs refuses task ids that callers choose, on every surface.
	NoClientIDs bool `yaml:"no_client_ids"`
	// ShareTrees names the agents whose callers may read the tasks below their tasks.
	ShareTrees []string `yaml:"share_trees"`
	// SpecStatuses answers with the HTTP statuses of the specification where clients of the
	// surface expect others.
	SpecStatuses bool `yaml:"spec_statuses"`
	// AgentsBuiltin enables the built-in agents; nil means yes.
	AgentsBuiltin *bool `yaml:"agents_builtin"`
	// DefaultAgent is the agent for calls that name none. The default is the agent called
	// default, or else the first of Agents, or else the first built-in one.
	DefaultAgent string `yaml:"default_agent"`
	// Agents are served in addition to the built-in agents. An agent with the name of a
	// built-in one replaces it.
	Agents []Agent `yaml:"agents"`
	// ModelProviders are the providers of language models for agents with a Model.
	ModelProviders []ModelProvider `yaml:"model_providers"`
	// Bus configures the message bus.
	Bus Bus `yaml:"bus"`
	// Directory configures the sources of further agents.
	Directory Directory `yaml:"directory"`
	// MCPServices are MCP servers that are found by searches, like agents.
	MCPServices []MCPService `yaml:"mcp_services"`
	// MCPServers are MCP servers that the hub runs or connects to.
	MCPServers []MCPServer `yaml:"mcp_servers"`
	// MCP configures the hub's own MCP server.
	MCP MCP `yaml:"mcp"`
	// Broker configures the handling of messages that request a skill.
	Broker Broker `yaml:"broker"`
	// TLS configures the certificates of the HTTP and gRPC listeners.
	TLS TLS `yaml:"tls"`
	// Auth configures the accepted credentials.
	Auth Auth `yaml:"auth"`
	// Policy configures the permissions of callers.
	Policy Policy `yaml:"policy"`
	// Cards configures the signatures and the content of cards.
	Cards Cards `yaml:"cards"`
	// ExtendedCard configures access to the extended cards.
	ExtendedCard ExtendedCard `yaml:"extended_card"`
	// Limits bound requests and callers.
	Limits Limits `yaml:"limits"`
	// Engine configures the execution and retention of tasks.
	Engine Engine `yaml:"engine"`
	// Delegation bounds chains of delegated work.
	Delegation Delegation `yaml:"delegation"`
	// Safety configures the screening of external text before models read it.
	Safety Safety `yaml:"safety"`
	// Questions configures the answering of agents' questions.
	Questions Questions `yaml:"questions"`
	// Idempotency configures the detection of repeated messages.
	Idempotency Idempotency `yaml:"idempotency"`
	// Push configures notifications to webhooks.
	Push Push `yaml:"push"`
	// Trust configures gated agents.
	Trust Trust `yaml:"trust"`
	// Parts configures the storage of large parts of messages and artifacts.
	Parts Parts `yaml:"parts"`
	// Memory configures the storage of notes, results and conversations.
	Memory Memory `yaml:"memory"`
	// FrontDesk configures the owner's assistant agents.
	FrontDesk FrontDesk `yaml:"front_desk"`
	// Audit configures the audit log.
	Audit Audit `yaml:"audit"`
	// Events configures the stream of all events.
	Events Events `yaml:"events"`
	// Log configures the log.
	Log Log `yaml:"log"`
	// Telemetry configures metrics and traces.
	Telemetry Telemetry `yaml:"telemetry"`

	// Added are the keys of parts.
	Added Added `yaml:"-"`
	// File is the path of the configuration file; empty if there is none.
	File string `yaml:"-"`
	// SecretFiles are the files that ${file:…} references have read.
	SecretFiles []string `yaml:"-"`
	// OpenBus, if set, opens the bus instead of Bus.URL, for tests. A file cannot set it.
	OpenBus func(context.Context) (bus.Bus, error) `yaml:"-"`
	// Conformance serves the agent of the conformance kits and no other. A file cannot set it.
	Conformance bool `yaml:"-"`
}

// Extensions implements yamlfile.Extended.
func (c *Config) Extensions() []any { return c.Added.in("") }

// Builtin reports whether the built-in agents are served.
func (c *Config) Builtin() bool { return c.AgentsBuiltin == nil || *c.AgentsBuiltin }

// Agent returns the agent of the configuration with a name, or nil.
func (c *Config) Agent(name task.Agent) *Agent {
	for i := range c.Agents {
		if a := &c.Agents[i]; task.Agent(a.Name) == name {
			return a
		}
	}
	return nil
}

// Agent is a served agent: a program, a remote agent, a language model, or a built-in agent
// whose settings are changed.
type Agent struct {
	// Name is the agent's name in addresses: lower-case letters and digits, with single dashes
	// between them. It is required.
	Name string `yaml:"name"`
	// Title is the display name in the agent's card. The default is the name.
	Title string `yaml:"title"`
	// Description and Version are copied to the card.
	Description string `yaml:"description"`
	Version     string `yaml:"version"`
	// Command is the program.
	Command Command `yaml:"command"`
	// URL is the address of a remote A2A agent.
	URL string `yaml:"url"`
	// Endpoint is an alternative to URL with all options of a remote agent.
	Endpoint Endpoint `yaml:"endpoint"`
	// Model is the language model of the agent.
	Model Model `yaml:"model"`
	// Queue is the agent's name on the bus, if workers on a queue execute its tasks.
	Queue string `yaml:"queue"`
	// Added are the keys of parts.
	Added Added `yaml:"-"`
	// Transport selects the transport of an agent with a URL and a queue. If empty, its card
	// selects it; if the card does not, it is queue once the hub has seen a worker.
	Transport string `yaml:"transport" enum:"http,queue"`
	// OmitContext lets an agent with a URL or an endpoint choose context ids: the first message
	// of a context is sent without one.
	OmitContext bool `yaml:"omit_context"`
	// Identity configures how an agent with a URL, an endpoint or a command learns the identity
	// of the caller.
	Identity Identity `yaml:"identity"`
	// Dir is the working directory of the program. The default is the folder of the file.
	Dir string `yaml:"dir" path:"yes"`
	// Env has the variables that the program gets beside PATH, HOME and the like.
	Env map[string]string `yaml:"env"`
	// Timeout aborts a run that takes longer; zero means no limit.
	Timeout Duration `yaml:"timeout"`
	// Grace is the time between SIGTERM and SIGKILL. The default is 5s.
	Grace Duration `yaml:"grace"`
	// MaxOutput aborts a run that writes more. The default is 8MiB.
	MaxOutput Size `yaml:"max_output"`
	// Silence aborts a run that writes nothing for this time; zero means the engine's
	// agent_silence.
	Silence Duration `yaml:"silence" never:"true"`
	// Idempotent and Serial are traits of the agent.
	Idempotent bool `yaml:"idempotent"`
	Serial     bool `yaml:"serial"`
	// OnCrash is "again" if a run may begin again after its caller has received output. The default is
	// fail.
	OnCrash string `yaml:"on_crash" enum:"fail,again"`
	// Trust is "gated" for an agent that requires approval unless the caller is trusted. The
	// default is open.
	Trust string `yaml:"trust" enum:"open,gated"`
	// Questions is the policy for questions of the agent. The default is the policy of
	// Config.Questions.
	Questions string `yaml:"questions" enum:"suspend,auto,ask,trust,fail"`
	// Skills are the agent's skills. If empty, it has one skill with its own name and
	// description.
	Skills []Skill `yaml:"skills"`
	// Dialect is the dialect of requests to the agent if neither the request nor the caller
	// determines one.
	Dialect DialectName `yaml:"dialect"`
	// Extended is the additional content of the extended card; see ExtendedCard.
	Extended Extended `yaml:"extended"`
	// InputModes and OutputModes are the media types that the agent accepts and produces. The
	// default is text/plain.
	InputModes  []string `yaml:"inputModes"`
	OutputModes []string `yaml:"outputModes"`
	// StrictModes refuses messages to a remote agent whose media types its card does not list.
	// Otherwise the hub forwards them and logs a warning.
	StrictModes bool `yaml:"strict_modes"`
}

// Skill is a skill of an agent's card (specification §4.4.5).
type Skill struct {
	// ID identifies the skill within the agent. It is required.
	ID string `yaml:"id"`
	// Name is the display name. The default is the id.
	Name string `yaml:"name"`
	// Description describes the skill. The default is the description of the agent.
	Description string `yaml:"description"`
	// Tags are search terms for the skill.
	Tags []string `yaml:"tags"`
	// Examples are messages that the skill handles.
	Examples []string `yaml:"examples"`
	// InputModes and OutputModes are media types; if empty, those of the agent apply.
	InputModes  []string `yaml:"inputModes"`
	OutputModes []string `yaml:"outputModes"`
	// Trust is "gated" for a skill that requires approval unless the caller is trusted. The
	// default is open.
	Trust string `yaml:"trust" enum:"open,gated"`
	// Command is the program of this skill, for an agent with one program for each skill.
	Command Command `yaml:"command"`
}

// Limits bound requests and callers. Zero means the documented default. The last four are
// unlimited by default, so that the limits do not slow down the hub of a single user.
type Limits struct {
	// Body is the largest request body. The default is 10MiB.
	Body Size `yaml:"body"`
	// Memory is the memory that large requests and the runs of large messages may occupy at one
	// time. A request above it waits for up to 10s and is then refused with the time after which
	// to retry. The default is a sixteenth of the memory of the machine or its control group,
	// from 32MiB to 192MiB.
	Memory Size `yaml:"memory"`
	// Spool is the space of the files in the data folder that hold large requests while they
	// arrive. The default is 1GiB.
	Spool Size `yaml:"spool"`
	// BodyTime is the time within which a body must arrive. The default is 30s.
	BodyTime Duration `yaml:"body_time"`
	// WriteTime is the time within which a client must accept a write. The default is 30s.
	WriteTime Duration `yaml:"write_time"`
	// KeepAlive is the silence after which a stream sends a comment. The default is 15s.
	KeepAlive Duration `yaml:"keep_alive"`
	// Connections is the largest number of open connections. If there are more, those without a
	// request are closed; callers on this machine may have eight more. The default is two
	// thirds of the file descriptors that the process has left, at most 65536.
	Connections int `yaml:"connections"`
	// HalfOpen has no effect, see [Config.Notices].
	HalfOpen int `yaml:"half_open"`
	// StreamsPerCaller is the largest number of open streams of one caller. The default is
	// 1000.
	StreamsPerCaller int `yaml:"streams_per_caller"`
	// Streams is the largest number of open streams in total. The default is 20000.
	Streams int `yaml:"streams"`
	// RequestsPerSecond is the average number of requests of one caller. All anonymous callers
	// count as one.
	RequestsPerSecond float64 `yaml:"requests_per_second"`
	// Burst is the number of requests at once. The default is twice RequestsPerSecond.
	Burst int `yaml:"burst"`
	// BytesPerSecond is the average number of bytes of one caller: requests, and downloads of
	// large parts. A single request may be larger; its caller then waits until the average is
	// kept again.
	BytesPerSecond Size `yaml:"bytes_per_second"`
	// TasksPerCaller is the largest number of running or queued tasks of one caller, at all hubs
	// on one database. Tasks that wait for the caller do not count.
	TasksPerCaller int `yaml:"tasks_per_caller"`
}

// Engine configures the execution and retention of tasks. Zero fields mean the defaults.
type Engine struct {
	// MaxWait is the longest duration of a blocking call. The default is 300s.
	MaxWait Duration `yaml:"max_wait"`
	// FirstEvent is the time for an agent to answer with a bare message, or to confirm
	// extensions. The default is 1s.
	FirstEvent Duration `yaml:"first_event"`
	// AgentSilence aborts a run without output for this time. The default is 15m.
	AgentSilence Duration `yaml:"agent_silence" never:"true"`
	// CancelWait is the time for an agent to confirm a cancellation. The default is 10s.
	CancelWait Duration `yaml:"cancel_wait"`
	// DrainTimeout is the time that runs may continue when the hub stops; with other hubs on its
	// database only those that must not be repeated. The default is 10s; with never, the hub does not
	// wait for them.
	DrainTimeout Duration `yaml:"drain_timeout" never:"true"`
	// Retention is the retention time of finished tasks. The default is 30d.
	Retention Duration `yaml:"retention"`
	// IdleRetention is the time that a task waits for its caller. The default is 30d.
	IdleRetention Duration `yaml:"idle_retention"`
	// MaxRuns is the largest number of tasks running at one time. The default is 10000.
	MaxRuns int `yaml:"max_runs"`
	// MaxAway is the largest number of running tasks whose agents wait for work elsewhere. They do
	// not count for MaxRuns. The default is 50000.
	MaxAway int `yaml:"max_away"`
	// MaxQueued is the largest number of queued tasks. The default is 100000.
	MaxQueued int `yaml:"max_queued"`
	// MaxWaiting is the largest number of unread messages of a task. The default is 100.
	MaxWaiting int `yaml:"max_waiting"`
	// MaxOutput is the largest number of bytes that an agent may add to a task in one run. The
	// default is 1GiB.
	MaxOutput Size `yaml:"max_output"`
}

// Delegation bounds the delegation of one caller's work from agent to agent, across this hub
// and others. Zero fields mean the defaults.
type Delegation struct {
	// MaxHops is the largest length of a chain of agents. The default is 8.
	MaxHops int `yaml:"max_hops"`
	// MaxTasks is the largest number of tasks created on behalf of one. The default is 1000.
	MaxTasks int `yaml:"max_tasks"`
	// MaxTime is the time limit of work that an agent has delegated, unless its caller has less
	// time; zero means no limit.
	MaxTime Duration `yaml:"max_time"`
}

// Safety configures the screening of text from agents, cards and MCP servers before models read
// it.
type Safety struct {
	// UntrustedText selects the treatment of instructions in such text: mark keeps them and
	// warns of them, redact removes them, refuse withholds the text. The default is mark.
	UntrustedText string `yaml:"untrusted_text" enum:"mark,redact,refuse"`
	// WordsOfOthers is the former name of UntrustedText, see [Config.Notices].
	WordsOfOthers string `yaml:"words_of_others" enum:"mark,redact,refuse"`
}

// Guard returns the guard that labels and screens external text.
func (s *Safety) Guard() guard.Guard {
	return guard.Guard{Policy: guard.Policy(cmp.Or(s.UntrustedText, s.WordsOfOthers))}
}

// Questions configures the answering of agents' questions. The zero value leaves them to the
// callers.
type Questions struct {
	// Policy is the policy of agents without one of their own. The default is trust if there is
	// an answering agent: it asks a person unless the agent is trusted to act. Without an
	// answering agent the default is suspend, which leaves questions to the caller.
	Policy string `yaml:"policy" enum:"suspend,auto,ask,trust,fail"`
	// AnsweringAgent is the agent that answers with auto and trust, and drafts answers with
	// ask.
	AnsweringAgent string `yaml:"answering_agent"`
	// Script is a file of patterns and answers, from which the hub itself serves an answering
	// agent.
	Script string `yaml:"script" path:"yes"`
	// AskTime is the time that a question waits for a person. The default is 7d.
	AskTime Duration `yaml:"ask_time"`
	// MaxRounds is the largest number of consecutive questions of a task to answer. The default
	// is 20.
	MaxRounds int `yaml:"max_input_required_rounds"`
	// Repetition is the number of times in a row that the same question may get the same
	// answer. The default is 3.
	Repetition int `yaml:"input_required_repetition_threshold"`
}

// Responder returns the policy for questions of agents, without the hub's inbox and trust registry.
func (c *Config) Responder() *question.PolicyResponder {
	q := &c.Questions
	d := &question.PolicyResponder{
		Answerer: task.Agent(q.AnsweringAgent), Default: question.Policy(q.Policy),
		AskTime: time.Duration(q.AskTime), MaxRounds: q.MaxRounds, Repetition: q.Repetition, Policies: make(map[task.Agent]question.Policy),
	}
	if c.FrontDesk.Serve {
		for _, a := range new(assistant.Assistant).Agents() {
			d.Policies[a.Name] = question.Suspend // it acts for the owner and asks the caller
		}
	}
	for i := range c.Agents {
		if a := &c.Agents[i]; a.Questions != "" {
			d.Policies[task.Agent(a.Name)] = question.Policy(a.Questions)
		}
	}
	return d
}

// Idempotency configures the detection of repeated messages. The zero value treats every
// message as new.
type Idempotency struct {
	// Header reads the key of a message from the header Idempotency-Key.
	Header bool `yaml:"header"`
	// TTL is the retention time of a key. The default is 24h.
	TTL Duration `yaml:"ttl"`
	// MessageID uses the id of a message without a key as its key.
	MessageID bool `yaml:"message_id"`
}

// Events configures the stream of all events (GET /api/v1/events).
type Events struct {
	// Keep is the number of changes of tasks and notices that are kept for readers. The default
	// is 100000.
	Keep int `yaml:"keep"`
}

// Log configures the log.
type Log struct {
	// Level is the lowest level to log. The default is info.
	Level string `yaml:"level" enum:"debug,info,warn,error"`
	// Format is the format of log records. The default is text.
	Format string `yaml:"format" enum:"text,json"`
	// Requests logs a line for each request at the level info. The default is true while callers
	// need no key and the hub listens on loopback addresses only, otherwise false.
	Requests *bool `yaml:"requests"`
}

// Telemetry configures metrics and traces. The environment variables of OpenTelemetry select
// the destination of spans and metrics.
type Telemetry struct {
	// Metrics selects the readers of /metrics: local (callers on this machine and
	// administrators), admin, anyone, or off.
	Metrics string `yaml:"metrics" enum:"local,admin,anyone,off"`
	// TraceURL is the address of a trace in the tracing system of the operator, with {trace_id} for its id.
	// If empty, nothing links to traces.
	TraceURL string `yaml:"trace_url"`
	// Added are the keys of parts.
	Added Added `yaml:"-"`
}

// Find returns the path of the configuration file: the one in flag, which must exist, or else
// the first parley.yaml in the current folder, in its folder workspace, and in the data folder.
// It returns an empty path if there is none.
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

// Parse reads src, the content of the file at path. lookup returns the values of variables. The
// error is a [yamlfile.Errors] if the file is invalid.
func Parse(path string, src []byte, lookup func(string) (string, bool)) (*Config, error) {
	folder, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("load configuration: %w", err)
	}
	c := &Config{File: path}
	c.Extensions()
	c.Directory.Extensions()
	c.Telemetry.Extensions()
	d := yamlfile.New(path, lookup)
	d.ReadFiles(c.readSecret)
	d.PathsFrom(folder)
	d.ExplainAbsent(absent)
	d.Decode(src, c)
	var all []CallerSection
	for _, added := range c.Extensions() {
		if h, ok := added.(HasCallers); ok {
			all = append(all, h.CallerSection())
		}
	}
	c.Auth.Sections = all
	if len(d.Problems()) == 0 {
		check(d, c)
	}
	if len(d.Problems()) > 0 {
		return nil, d.Problems()
	}
	c.runIn(folder)
	return c, nil
}

// runIn sets folder as the working directory of programs without one of their own.
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
