package model

import (
	"cmp"
	"context"
	"iter"
	"log/slog"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/agent/memory"
	"github.com/parley-a2a/parley/internal/llm/guard"
	"github.com/parley-a2a/parley/llm"
	"github.com/parley-a2a/parley/task"
)

// Choice is a model at a provider.
type Choice struct {
	Provider llm.Provider
	// Model is the provider's name for it; empty leaves it to the provider.
	Model string
	// Name is what people call the two; empty means Model.
	Name string
}

// Delegate is an agent of the hub that the model may ask.
type Delegate struct {
	// ID is the name of the agent: the tool is called agent_run_{ID}.
	ID task.Agent
	// Description tells the model what the agent is good for. If empty, Describe of the
	// Agent says it.
	Description string
}

// Scope says for which task tools are.
type Scope struct {
	// Agent is the agent whose model calls them.
	Agent     task.Agent
	TaskID    a2a.TaskID
	ContextID string
}

// History is what was said before in a conversation, and where the notices of the hub about
// results are kept. *memory.Turns is one.
type History interface {
	// Continue returns the turns of the conversation of an owner in a context, the oldest
	// first.
	Continue(ctx context.Context, owner task.Owner, contextID string) ([]memory.Turn, error)
	// Append adds turns to a session. One whose ID is there already stays as it is.
	Append(ctx context.Context, s memory.Session, turns ...memory.Turn) error
}

// Agent is an agent that a language model thinks for. Choices is required. The fields must
// not change once it is in use.
type Agent struct {
	// Choices are the models that are asked: the first one, and each further one if those
	// before it do not answer.
	Choices []Choice
	// SystemPrompt is the first instruction of the model; it may be empty.
	SystemPrompt string

	// Tools are what the model may call, beside those of Own. Both may be nil.
	Tools llm.Source
	// Own returns the tools that a task alone has.
	Own func(*Scope) llm.Source
	// Awaiter waits for what tools have dispatched before the model writes its answer. If
	// nil, or if the model cannot read notes, nothing is awaited that tools do not wait for.
	Awaiter Awaiter
	// Inline is the number of characters of the longest result of an agent that a tool returns
	// itself, if it comes within five seconds. The model reads all others from working memory.
	// Zero means all.
	Inline int
	// Gate knows which questions of agents the model may answer alone: the others are asked the
	// caller, with the answer that the model proposes. If nil, the model may answer all.
	Gate Gate
	// Allowed are patterns of the names of tools that are offered to the model, with * for
	// any letters; if empty, all are. Excluded are not, whatever Allowed says. They count
	// for delegates too.
	Allowed, Excluded []string
	// Delegates are agents that the model may ask.
	Delegates []Delegate
	// Describe returns what the card of an agent says of it. It may be nil.
	Describe func(task.Agent) string

	// History is what the model gets to know of earlier tasks of the conversation. If nil,
	// it knows nothing of them.
	History History
	// Screening is how texts of others are treated that look like instructions to the model.
	// They are labelled as data in any case. Empty means ScreenMark.
	Screening Screening

	// Budget bounds a task.
	Budget Budget
	// MaxTokens bounds each message of the model, Temperature is its temperature; zero and
	// nil leave it to the provider.
	MaxTokens   int
	Temperature *float64
	// Logger receives operational records. If nil, nothing is logged.
	Logger *slog.Logger
}

// Budget bounds what a task may take. Zero fields mean the default that is named.
type Budget struct {
	// Rounds is how many messages the model may write for one of its caller: 16.
	Rounds int
	// Calls is how many tools it may call for one: 100.
	Calls int
	// Tokens is how many it may read and write in all for a task; no limit.
	Tokens int64
	// Time is how long it may take for one message of its caller; no limit. The time in
	// which the task waits for its caller does not count.
	Time time.Duration
	// Context is how many tokens a request may have, by estimate: 100,000.
	Context int
	// Stall is the silence after which a provider is given up: 90 seconds.
	Stall time.Duration
	// ToolTime is how long a tool may take: 10 minutes. Agents that are asked take the
	// time that they need.
	ToolTime time.Duration
}

// Defaults of Budget.
const (
	DefaultRounds   = 16
	DefaultCalls    = 100
	DefaultContext  = 100_000
	DefaultStall    = 90 * time.Second
	DefaultToolTime = 10 * time.Minute
)

func (b Budget) withDefaults() Budget {
	b.Rounds = cmp.Or(b.Rounds, DefaultRounds)
	b.Calls = cmp.Or(b.Calls, DefaultCalls)
	b.Context = cmp.Or(b.Context, DefaultContext)
	b.Stall = cmp.Or(b.Stall, DefaultStall)
	b.ToolTime = cmp.Or(b.ToolTime, DefaultToolTime)
	return b
}

var (
	_ a2asrv.AgentExecutor = (*Agent)(nil)
	_ agent.Described      = (*Agent)(nil)
)

// Traits implements agent.Described.
func (a *Agent) Traits() agent.Traits {
	return agent.Traits{Resumable: true, NoMessage: true, Silence: -1}
}

// Kind returns "model": how the agent is reached, for people.
func (a *Agent) Kind() string { return "model" }

func (a *Agent) logger() *slog.Logger {
	if a.Logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return a.Logger
}

// Execute implements a2asrv.AgentExecutor.
func (a *Agent) Execute(ctx context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		s := &session{agent: a, budget: a.Budget.withDefaults(), ec: ec, call: agent.CallFrom(ctx), yield: yield, fresh: make(map[string]bool)}
		s.run(ctx)
	}
}

// Cancel implements a2asrv.AgentExecutor. The hub ends the run, and cancels the tasks of
// those that it has asked.
func (a *Agent) Cancel(_ context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return agent.ConfirmCancel(ec)
}

// Screening is how a model agent treats texts of agents, tools and cards that look like
// instructions to the model.
type Screening string

// The ways of screening.
const (
	// ScreenMark names what was found in the label of the text.
	ScreenMark Screening = "mark"
	// ScreenRedact removes what was found.
	ScreenRedact Screening = "redact"
	// ScreenRefuse withholds the text.
	ScreenRefuse Screening = "refuse"
)

// guard returns the guard that labels and screens texts for the agent.
func (a *Agent) guard() guard.Guard { return guard.Guard{Policy: guard.Policy(a.Screening)} }
