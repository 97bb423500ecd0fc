// Package tools gives language models tools to work with agents.
//
//	hub := &tools.Hub{URL: "http://127.0.0.1:4100", Key: os.Getenv("PARLEY_API_KEY")}
//	list, err := hub.Toolbox(tools.Options{Session: "my-conversation"}).Tools(ctx)
//
// # Overview
//
// A program offers the tools to its model and calls them with the arguments that the model has
// written. Hub.Toolbox has tools to find agents, send them messages, follow tasks, save notes and
// ask people. Hub.Skills has one tool for each skill of each agent; Dial has the same for a single
// A2A agent without a hub. Endpoint serves the tools of a hub to hosts of the Model Context
// Protocol. docs/tools.md lists the tools with their arguments and results.
//
// # Guarantees
//
// An invalid call sends nothing, and its result states each mistake. A call that is repeated with
// the same ID in the same Session joins the first one, also after a crash of the program or the
// hub. Text of agents and cards is labelled and screened (Notice, Screening).
//
// # Non-guarantees
//
// The screen recognizes known phrases only, so the permissions of a model must not depend on it.
//
// # Concurrency
//
// All types are safe for concurrent use once their fields are set. Run is called once.
//
// # Testing
//
// The tests run against a hub in the process and against scripted agents.
package tools

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/parley-a2a/parley/internal/llm"
	"github.com/parley-a2a/parley/internal/llm/guard"
	"github.com/parley-a2a/parley/internal/llm/hubclient"
	"github.com/parley-a2a/parley/internal/llm/hubtools"
)

// Notice explains the labels of texts of others to a model. It belongs in the instructions of
// every model that has tools of this package.
const Notice = guard.Notice

// Screening selects the treatment of texts of agents that look like orders to a model.
type Screening string

// The ways of screening. Mark is the default.
const (
	// Mark keeps the text and adds a warning.
	Mark Screening = "mark"
	// Redact replaces the suspicious parts by a note.
	Redact Screening = "redact"
	// Refuse withholds the whole text and states the reason.
	Refuse Screening = "refuse"
	// Off passes texts on unchanged: without a label, and without a screen. It is for tools whose
	// agents are all your own.
	Off Screening = "off"
)

// What tools are to a model.
type (
	// Tool is a function that a model may call.
	Tool = llm.Tool
	// Call is a call of a Tool with the arguments of the model.
	Call = llm.Call
	// Result is the result of a Tool for the model.
	Result = llm.Result
	// Source provides tools: a Toolbox, Skills, or an Agent.
	Source = llm.Source
	// Choice selects tools by their names, for Endpoint.Choice.
	Choice = llm.Filter
)

func (s Screening) guard() guard.Guard { return guard.Guard{Policy: guard.Policy(s)} }

// Hub is a running hub. The zero Hub is one on this machine at the default port.
type Hub struct {
	// URL is the address of the hub. If empty, it is http://127.0.0.1:4100. The default scheme
	// is https, but http on this machine.
	URL string
	// Key is the caller's API key, or empty.
	Key string
	// HTTP sends the requests. Its Timeout also ends streams, so it is best left zero. If nil,
	// a client with a connect timeout of ten seconds is used, which follows no redirects to
	// other hosts.
	HTTP *http.Client
	// Patience is the time to wait for an unreachable hub. Zero means a minute, negative no
	// wait.
	Patience time.Duration
	// Logger receives operational records. If nil, nothing is logged.
	Logger *slog.Logger
}

// Options select the tools of a hub for one model, or for one conversation of it.
type Options struct {
	// Session is the conversation of the model. Its notes are below session/{Session}/, and
	// calls with the same id within it are the same call. If empty, a new session is created,
	// and calls cannot be joined after a crash.
	Session string
	// NoRegistry leaves out the tools that change the agents of the hub.
	NoRegistry bool
	// Screening is applied to the texts of agents before a model reads them; Mark if it is
	// empty.
	Screening Screening
	// Allow lists the skills that get a tool of Skills: "skill", "agent/skill" or "agent/*". If
	// it is empty, all skills but those in Block do.
	Allow, Block []string
	// Timeout is the longest wait of a tool of Skills; the agent continues afterwards. Zero
	// means five minutes.
	Timeout time.Duration
}

func (h *Hub) toolbox(o *Options) *hubtools.Toolbox {
	c := &hubclient.Hub{URL: h.URL, Key: h.Key, HTTP: h.HTTP, Patience: h.Patience, Logger: h.Logger}
	return &hubtools.Toolbox{Hub: c, Session: o.Session, NoRegistry: o.NoRegistry, Guard: o.Screening.guard()}
}

// Toolbox returns the tools to find agents, send them messages, follow tasks, save notes and ask
// people. It makes no requests.
func (h *Hub) Toolbox(o Options) *Toolbox { return &Toolbox{box: h.toolbox(&o)} }

// Skills returns the tools of the skills of the agents of the hub. It makes no requests.
func (h *Hub) Skills(o Options) *Skills {
	b := hubtools.Of(h.toolbox(&o))
	b.Allow, b.Block, b.Timeout = o.Allow, o.Block, o.Timeout
	return &Skills{bridge: b}
}

// Toolbox has the tools of a hub. Hub.Toolbox returns one.
type Toolbox struct{ box *hubtools.Toolbox }

// Tools implements Source.
func (t *Toolbox) Tools(ctx context.Context) ([]Tool, error) { return t.box.Tools(ctx) }

// Changed implements Source. It returns nil, because the tools never change.
func (t *Toolbox) Changed() <-chan struct{} { return t.box.Changed() }

// SessionID returns the session of the tools: Options.Session, or the new one.
func (t *Toolbox) SessionID() string { return t.box.SessionID() }

// Skills has a tool for each skill of each agent. Hub.Skills and Dial return one.
type Skills struct{ bridge *hubtools.Bridge }

// Tools implements Source. The error is that of the hub or the agent.
func (s *Skills) Tools(ctx context.Context) ([]Tool, error) { return s.bridge.Tools(ctx) }

// Changed implements Source. The channel is closed if Run finds skills that differ from the
// last result of Tools.
func (s *Skills) Changed() <-chan struct{} { return s.bridge.Changed() }

// Run looks for changed skills, every minute at a hub, until ctx ends.
func (s *Skills) Run(ctx context.Context) { s.bridge.Run(ctx) }

var (
	_ Source = (*Toolbox)(nil)
	_ Source = (*Skills)(nil)
)
