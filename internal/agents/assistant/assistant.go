package assistant

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/inbox"
	"github.com/parley-a2a/parley/internal/memory"
	"github.com/parley-a2a/parley/task"
)

// The names of the agents, and the ids of their skills.
const (
	NotifyUser        task.Agent = "notify-user"
	QueryAvailability task.Agent = "query-availability"
	NegotiateMeeting  task.Agent = "negotiate-meeting"
)

// Notes stores small values by their names. The ledger of a directory implements it.
type Notes interface {
	// Note returns the last value stored under a name; nil if there is none.
	Note(ctx context.Context, name string) ([]byte, error)
	// PutNote stores a note, and replaces the one with the same name.
	PutNote(ctx context.Context, name string, note []byte) error
}

// Negotiations stores conversations. *memory.Turns implements it.
type History interface {
	// Continue returns all turns of the conversation in a context up to now, the oldest first.
	// It stores turns that are missing in the memory.
	Continue(ctx context.Context, owner task.Owner, contextID string) ([]memory.Turn, error)
}

// Assistant holds the dependencies and the state that the agents share.
type Assistant struct {
	// Inbox is the owner's inbox. It is required.
	Inbox *inbox.Inbox
	// Notes stores negotiations and meetings. It is required.
	Notes Notes
	// Negotiations provides the turns of negotiations that Notes no longer contains. If nil,
	// such a negotiation starts again.
	History History
	// Presence returns the presence of the owner. If nil, the owner is Away.
	Presence func(ctx context.Context) Presence
	// Hours are the hours for meetings. The zero Hours are from nine to five in UTC, Monday to
	// Friday.
	Hours Hours

	mu sync.Mutex // held while the calendar changes, including calls of Notes
}

// Agent is an agent of the desk, ready for registration at a hub.
type Agent struct {
	// Name is the agent's name and the id of its only skill.
	Name task.Agent
	// Card describes the agent. It has no interfaces: the hub knows its addresses.
	Card *a2a.AgentCard
	// Executor performs the agent's tasks.
	Executor a2asrv.AgentExecutor
}

// Agents returns the agents of the desk. The caller owns the cards.
func (a *Assistant) Agents() []Agent {
	traits := agent.Traits{AfterCrash: agent.Repeat, NoMessage: true}
	return []Agent{
		{NotifyUser, newCard(NotifyUser, "Notify the user", "Notifies the owner of this hub.", "The build is broken."), agent.With(agent.Func(a.notify), traits)},
		{QueryAvailability, newCard(QueryAvailability, "Query availability", "Says whether the person is available, busy, available with delays, or away.", "Are you there?"), agent.With(agent.Func(a.query), traits)},
		{NegotiateMeeting, newCard(NegotiateMeeting, "Negotiate a meeting", "Finds a time for a meeting, over several turns.", "Could we meet on 2026-01-05 14:00 for 45 minutes?"), agent.With(agent.Func(a.negotiate), traits)},
	}
}

func newCard(id task.Agent, name, description, example string) *a2a.AgentCard {
	modes := []string{"text/plain", "application/json"}
	return &a2a.AgentCard{
		Name: string(id), Description: description, Version: "1.0.0", Capabilities: a2a.AgentCapabilities{Streaming: true},
		DefaultInputModes: modes[:1:1], DefaultOutputModes: modes,
		Skills: []a2a.AgentSkill{{ID: string(id), Name: name, Description: description, Tags: []string{"front-desk"}, Examples: []string{example}}},
	}
}

// caller is the caller of an agent, with the message.
type caller struct {
	ec    *a2asrv.ExecutorContext
	id    string
	name  string
	owner task.Owner
	// key is the same for all executions of the message; version is that of the message.
	key     string
	version int64
	agent   task.Agent
}

func callerOf(ctx context.Context, ec *a2asrv.ExecutorContext) *caller {
	v := &caller{ec: ec, key: string(ec.TaskID)}
	if p := auth.PrincipalFrom(ctx); p != nil {
		v.id, v.name, v.owner = p.ID, p.DisplayName, p.Owner()
	}
	if v.name == "" {
		v.name = v.id
	}
	if c := agent.CallFrom(ctx); c != nil {
		v.key, v.agent = string(v.owner)+" "+c.Key, c.Agent
		v.version, _ = strconv.ParseInt(c.Key[strings.LastIndexByte(c.Key, '/')+1:], 10, 64)
	}
	return v
}

// putNotice puts a notice into the inbox, only once for each message.
func (a *Assistant) putNotice(ctx context.Context, v *caller, text string, keep time.Duration) error {
	_, err := a.Inbox.Put(ctx, &inbox.Item{
		ID: inbox.IDOf(v.owner, v.ec.TaskID, v.version) + "-desk", Kind: inbox.Notice, Owner: v.owner, Task: v.ec.TaskID, Version: v.version,
		Agent: v.agent, Caller: v.id, CallerName: v.name, Skill: string(v.agent), Text: text, Expires: time.Now().Add(keep),
	})
	return err
}

// messageTime is how long a message to the owner is kept.
const messageTime = 7 * 24 * time.Hour

func (a *Assistant) notify(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
	v, text := callerOf(ctx, ec), strings.TrimSpace(agent.Text(ec.Message))
	if text == "" {
		v.sendStatus(yield, a2a.TaskStateRejected, "The message has no text.")
		return
	}
	if err := a.putNotice(ctx, v, v.name+" says:\n\n"+text, messageTime); err != nil {
		yield(nil, err)
		return
	}
	v.sendStatus(yield, a2a.TaskStateCompleted, "It is in the inbox of the person.")
}

// query answers with the presence of the owner.
func (a *Assistant) query(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
	p := Away
	if a.Presence != nil {
		p = a.Presence(ctx)
	}
	callerOf(ctx, ec).conclude(yield, "The person is "+string(p)+".", map[string]any{"availability": string(p)})
}

// sendStatus yields a status with a text, and reports whether to continue.
func (c *caller) sendStatus(yield func(a2a.Event, error) bool, state a2a.TaskState, text string) bool {
	return yield(agent.Status(c.ec, state, a2a.NewTextPart(text)), nil)
}

func (c *caller) conclude(yield func(a2a.Event, error) bool, text string, data map[string]any) {
	part := a2a.NewDataPart(data)
	part.MediaType = "application/json"
	artifact := &a2a.Artifact{ID: "answer", Name: "answer", Parts: a2a.ContentParts{a2a.NewTextPart(text), part}}
	if yield(agent.Artifact(c.ec, artifact), nil) {
		c.sendStatus(yield, a2a.TaskStateCompleted, text)
	}
}
