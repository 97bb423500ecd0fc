package approval

import (
	"context"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/agent/memory"
	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/auth/trust"
	"github.com/parley-a2a/parley/inbox"
	"github.com/parley-a2a/parley/task"
)

// Judge knows how far callers are trusted. A trust.Book is one.
type Judge interface {
	// Level returns what is known of somebody.
	Level(ctx context.Context, who trust.Who) trust.Entry
}

// Keeper keeps notes for a while.
type Keeper interface {
	// Keep stores a text under a key for some time.
	Keep(ctx context.Context, key, text string, ttl time.Duration) error
}

// Talks remember conversations. A memory.Turns does.
type Talks interface {
	// Continue returns what was said in a context until now, the oldest first, and
	// remembers it.
	Continue(ctx context.Context, owner task.Owner, contextID string) ([]memory.Turn, error)
}

// Gate says how agents are gated.
type Gate struct {
	// Judge is required.
	Judge Judge
	// Inbox is where the person looks. It is required.
	Inbox *inbox.Inbox
	// Notes keeps what was asked for and its summary below a2a-inbox/{task} for a day.
	// If nil, only the notice does.
	Notes Keeper
	// Talks remember what callers say to gated agents; the person is shown what was said
	// before a message. If nil, each message stands for itself.
	Talks Talks
	// Summarizer is the agent of the hub that summarises. It must not be gated. If empty,
	// or if it does not answer within a minute, the text is shortened.
	Summarizer task.Agent
	// Complete ends what is not done as COMPLETED with fulfilled: false, in place of
	// REJECTED, for callers who take anything else for a fault.
	Complete bool
	// ApprovalTime is how long an approval is waited for; 7 days if zero.
	ApprovalTime time.Duration
	// Closed gates callers without credentials, too. Without it they are the owner,
	// which is right where only this machine can call.
	Closed bool
	// KeepAlive is how often a run that waits tells the hub that it is there; a minute
	// if zero. It must be less than the hub's limit of silence.
	KeepAlive time.Duration
}

const (
	approvalDefault  = 7 * 24 * time.Hour
	keepAliveDefault = time.Minute
	noticeTime       = 24 * time.Hour
	summaryTime      = time.Minute
)

// Policy says what of an agent is gated.
type Policy struct {
	// Gated are the skills that are gated, Skills all that the agent has. If nothing is
	// gated by name, everything is.
	Gated, Skills []string
}

// gates reports whether a message for a skill is gated. One that names no skill may be
// meant for any.
func (p *Policy) gates(skill string) bool {
	return len(p.Gated) == 0 || skill == "" || has(p.Gated, skill) || !has(p.Skills, skill)
}

// only returns the skill that a message is for which names none, or the empty one.
func (p *Policy) only(skill string) string {
	if skill == "" && len(p.Skills) == 1 {
		return p.Skills[0]
	}
	return skill
}

func has(list []string, s string) bool {
	return slices.ContainsFunc(list, func(t string) bool { return strings.EqualFold(s, t) })
}

// Around returns x behind the gate.
func (g *Gate) Around(x a2asrv.AgentExecutor, p Policy) a2asrv.AgentExecutor {
	return &guarded{gate: g, inner: x, traits: agent.TraitsOf(x), policy: p}
}

// owner reports whether a caller is the owner of the hub, who may do anything.
func (g *Gate) owner(p *auth.Principal) bool {
	if p == nil || p.Anonymous() {
		return p != nil && !g.Closed
	}
	return p.Owner() == auth.Local || slices.Contains(p.Roles, auth.RoleAdmin)
}

// guarded is an executor behind a gate.
type guarded struct {
	gate   *Gate
	inner  a2asrv.AgentExecutor
	traits agent.Traits
	policy Policy
}

var (
	_ a2asrv.AgentExecutor = (*guarded)(nil)
	_ agent.Described      = (*guarded)(nil)
)

// Traits implements agent.Described: a gate goes on after a restart, whatever stands
// behind it.
func (w *guarded) Traits() agent.Traits {
	t := w.traits
	t.Resumable, t.NoMessage = true, true
	return t
}

// GatedSkills returns the skills that are gated; none if everything is.
func (w *guarded) GatedSkills() []string { return w.policy.Gated }

// Kind says how the agent behind the gate is reached.
func (w *guarded) Kind() string {
	if k, ok := w.inner.(interface{ Kind() string }); ok {
		return k.Kind()
	}
	return "local"
}

// Execute implements a2asrv.AgentExecutor.
func (w *guarded) Execute(ctx context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		c := agent.CallFrom(ctx)
		p := auth.PrincipalFrom(ctx)
		if c == nil || p == nil {
			yield(nil, errNoHub)
			return
		}
		v := &visit{guarded: w, ec: ec, call: c, caller: p, skill: w.policy.only(c.Skill), yield: yield}
		v.read(c.Saved)
		v.decide(ctx)
	}
}

// Cancel implements a2asrv.AgentExecutor. What waits in the inbox is withdrawn; an agent
// that may be at work is asked.
func (w *guarded) Cancel(ctx context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		waits, err := w.withdraw(ctx, ec)
		if err != nil {
			yield(nil, err)
			return
		}
		if waits {
			yield(a2a.NewStatusUpdateEvent(ec, a2a.TaskStateCanceled, nil), nil)
			return
		}
		for ev, err := range w.inner.Cancel(ctx, ec) {
			if !yield(ev, err) {
				return
			}
		}
	}
}

// canceled is why an approval is withdrawn whose task was canceled.
const canceled = "the task was canceled"

// withdraw makes the open approvals of a task expire; it reports whether there are any,
// or were until the task was canceled.
func (w *guarded) withdraw(ctx context.Context, ec *a2asrv.ExecutorContext) (bool, error) {
	p := auth.PrincipalFrom(ctx)
	if p == nil {
		return false, nil
	}
	items, err := w.gate.Inbox.List(ctx, &inbox.Query{Owner: p.Owner(), Kinds: []inbox.Kind{inbox.Approval}})
	waits := false
	for i := range items {
		it := &items[i]
		if it.Task != ec.TaskID || err != nil {
			continue
		}
		waits = waits || it.State == inbox.Open || it.State == inbox.Expired && it.Answer == canceled
		if it.State == inbox.Open {
			err = w.gate.Inbox.Withdraw(ctx, it.ID, canceled)
		}
	}
	return waits, err
}
