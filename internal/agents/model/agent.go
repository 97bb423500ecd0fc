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
	"github.com/parley-a2a/parley/internal/llm"
	"github.com/parley-a2a/parley/internal/llm/guard"
	"github.com/parley-a2a/parley/internal/memory"
	"github.com/parley-a2a/parley/task"
)

// Choice is a model at a provider.
type Choice struct {
	Provider llm.Provider
	// Model is the provider's name of the model; empty means the provider's default.
	Model string
	// Name is the display name of the choice; empty means Model.
	Name string
}

// Delegate is an agent of the hub that the model may call.
type Delegate struct {
	// ID is the name of the agent: the tool is called agent_run_{ID}.
	ID task.Agent
	// Description explains to the model the abilities of the agent. If empty, Agent.Describe
	// provides the text.
	Description string
}

// Scope identifies the task that tools are for.
type Scope struct {
	// Agent is the agent whose model calls them.
	Agent     task.Agent
	ContextID string
}

// History stores the earlier turns of a conversation, and the hub's notices about results.
// *memory.Turns implements it.
type History interface {
	// Continue returns the turns of an owner's conversation in a context, the oldest first.
	Continue(ctx context.Context, owner task.Owner, contextID string) ([]memory.Turn, error)
	// Append adds turns to a session. It ignores turns whose ID exists already.
	Append(ctx context.Context, s memory.Session, turns ...memory.Turn) error
}

// Agent is an agent that uses a language model. Choices is required. The fields must not change
// once it is in use.
type Agent struct {
	// Choices are the models, in order of preference: each one is asked if those before it do
	// not answer.
	Choices []Choice
	// SystemPrompt is the first instruction of the model; it may be empty.
	SystemPrompt string

	// Tools provides the tools of the model, in addition to those of Own. Both may be nil.
	Tools llm.Source
	// Own returns the tools that only one task has.
	Own func(*Scope) llm.Source
	// Awaiter waits for tasks that tools have dispatched, before the model writes its answer.
	// If it is nil, or if the model cannot read notes, only tools wait.
	Awaiter Awaiter
	// Inline is the largest number of characters of an agent's result that a tool returns
	// directly, if the result arrives within five seconds. The model reads all others from
	// working memory. Zero means that no result is returned directly.
	Inline int
	// Gate decides which questions of agents the model may answer alone. The caller is asked
	// the others, with an answer proposed by the model. If nil, the model may answer all
	// questions.
	Gate Gate
	// Limit is called before the model answers a question alone, with the text of the answer. If
	// the agent and the model have come into a loop, Limit ends the task of the agent and returns
	// the loop. If nil, only Budget ends loops.
	Limit func(ctx context.Context, q *Question, answer string) (Loop, error)
	// Allowed lists patterns of the names of tools that the model may call, with * for any
	// characters; if nil, it may call all. Excluded lists patterns of tools that it may not
	// call, even if Allowed matches. Both also apply to delegates.
	Allowed, Excluded []string
	// Delegates are agents that the model may call.
	Delegates []Delegate
	// Describe returns the description of an agent from its card. It may be nil.
	Describe func(task.Agent) string

	// History provides earlier tasks of the conversation to the model. If nil, the model has no
	// access to them.
	History History
	// Screening decides the treatment of foreign text that looks like instructions to the
	// model. Such text is labelled as data in any case. Empty means ScreenMark.
	Screening Screening

	// Budget limits a task.
	Budget Budget
	// MaxTokens limits each message of the model, Temperature is its sampling temperature; zero
	// and nil mean the provider's defaults.
	MaxTokens   int
	Temperature *float64
	// Logger receives operational records. If nil, nothing is logged.
	Logger *slog.Logger
}

// Budget limits the resources of a task. Zero fields mean the named default.
type Budget struct {
	// Rounds is the largest number of messages that the model may write for one of its caller,
	// and for each of the first 20 questions of agents that it answers alone. The default is 16.
	Rounds int
	// Calls is the largest number of tool calls for one message of the caller. The default is
	// 100.
	Calls int
	// Tokens is the largest total number of tokens of a task, read and written. The default is
	// no limit.
	Tokens int64
	// Time is the longest time for one message of the caller, not counting waits for the
	// caller. The default is no limit.
	Time time.Duration
	// Context is the largest size of a request, in estimated tokens. The default is 100,000.
	Context int
	// Stall is the time without output after which a request to a provider is aborted. The
	// default is 90 seconds.
	Stall time.Duration
	// ToolTime is the longest time for a tool call. The default is 10 minutes. It does not
	// apply to calls of agents.
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
	return agent.Traits{AfterCrash: agent.Resume, NoMessage: true, Silence: -1}
}

// Kind returns "model", the kind of the agent for people.
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

// Cancel implements a2asrv.AgentExecutor. The hub ends the run, and cancels the tasks of its
// delegations.
func (a *Agent) Cancel(_ context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return agent.ConfirmCancel(ec)
}

// Screening is a model agent's treatment of foreign text that looks like instructions to the
// model: text of agents, tools and cards.
type Screening string

// Kinds of screening.
const (
	// ScreenMark adds a warning with the findings to the label of the text.
	ScreenMark Screening = "mark"
	// ScreenRedact removes the findings.
	ScreenRedact Screening = "redact"
	// ScreenRefuse withholds the text, and rejects a message of the caller.
	ScreenRefuse Screening = "refuse"
	// ScreenOff passes the text on without a label and without a screen.
	ScreenOff Screening = "off"
)

// guard returns the guard that labels and screens texts for the agent.
func (a *Agent) guard() guard.Guard { return guard.Guard{Policy: guard.Policy(a.Screening)} }
