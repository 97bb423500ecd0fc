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
	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/execution"
	"github.com/parley-a2a/parley/internal/inbox"
	"github.com/parley-a2a/parley/internal/memory"
	"github.com/parley-a2a/parley/internal/trust"
	"github.com/parley-a2a/parley/task"
)

// TrustSource returns the trust in callers. A *trust.Registry implements it.
type TrustSource interface {
	// Level returns the trust entry of a caller.
	Level(ctx context.Context, who trust.Subject) trust.Entry
}

// NoteStore stores notes for a limited time.
type NoteStore interface {
	// Keep stores a text under a key for the time ttl.
	Keep(ctx context.Context, key, text string, ttl time.Duration) error
}

// History stores conversations. *memory.Turns implements it.
type History interface {
	// Continue returns all turns of the conversation in a context up to now, the oldest first.
	// It stores turns that are missing in the memory.
	Continue(ctx context.Context, owner task.Owner, contextID string) ([]memory.Turn, error)
}

// Wrapper wraps agents, and holds the dependencies of the wrappers.
type Wrapper struct {
	// TrustSource is required.
	Trust TrustSource
	// Inbox is the owner's inbox. It is required.
	Inbox *inbox.Inbox
	// Notes stores the request and its summary below a2a-inbox/{task} for a day. If nil, only
	// the notice has them.
	Notes NoteStore
	// History stores the messages of callers to gated agents. The owner sees the turns before a
	// message. If nil, each message is shown alone.
	History History
	// Summarizer is the agent of the hub that writes summaries. It must not be gated. If empty,
	// or if it does not answer within a minute, the text is shortened instead.
	Summarizer task.Agent
	// Complete ends refused tasks as COMPLETED with fulfilled: false instead of REJECTED, for
	// callers that treat any other state as a failure.
	Complete bool
	// NoApprovals refuses each message that the trust in its caller does not permit at once, as
	// at Observe. Without it such messages wait for an approval from Propose on.
	NoApprovals bool
	// ApprovalTime is the time after which an approval expires; 7 days if zero.
	ApprovalTime time.Duration
	// Closed applies the gate to callers without credentials as well. Without it they count as
	// the owner, which is correct only if all callers are on this machine.
	Closed bool
	// KeepAlive is the interval in which a waiting run sends an event to the hub; a minute if
	// zero. It must be less than the hub's limit of silence.
	KeepAlive time.Duration
}

const (
	approvalDefault  = 7 * 24 * time.Hour
	keepAliveDefault = time.Minute
	noticeTime       = 24 * time.Hour
	summaryTime      = time.Minute
)

// Policy selects the gated skills of an agent.
type Policy struct {
	// Gated are the gated skills, Skills all skills of the agent. If Gated is empty, all skills
	// are gated.
	Gated, Skills []string
}

// gates reports whether a message for a skill is gated. A message that names no skill may be
// for any.
func (p *Policy) gates(skill string) bool {
	return len(p.Gated) == 0 || skill == "" || has(p.Gated, skill) || !has(p.Skills, skill)
}

// only returns skill, or the agent's only skill if the message names none.
func (p *Policy) only(skill string) string {
	if skill == "" && len(p.Skills) == 1 {
		return p.Skills[0]
	}
	return skill
}

func has(list []string, s string) bool {
	return slices.ContainsFunc(list, func(t string) bool { return strings.EqualFold(s, t) })
}

// Wrap returns x wrapped by the gate.
func (w *Wrapper) Wrap(x a2asrv.AgentExecutor, p Policy) a2asrv.AgentExecutor {
	return &wrapped{wrapper: w, inner: x, traits: agent.TraitsOf(x), policy: p}
}

// Observer returns an agent that refuses every message and notifies the owner of it. It stands for
// skills that no agent has.
func (w *Wrapper) Observer() a2asrv.AgentExecutor { return &wrapped{wrapper: w, observes: true} }

// owner reports whether a caller is the owner of the hub, who may do anything.
func (w *Wrapper) owner(p *auth.Principal) bool {
	if p == nil || p.Anonymous() {
		return p != nil && !w.Closed
	}
	return p.Owner() == auth.Local || slices.Contains(p.Roles, auth.RoleAdmin)
}

// wrapped is a wrapped executor.
type wrapped struct {
	wrapper *Wrapper
	inner   a2asrv.AgentExecutor
	traits  agent.Traits
	policy  Policy
	// observes is set if there is no wrapped agent: see Wrapper.Observer.
	observes bool
}

var (
	_ a2asrv.AgentExecutor = (*wrapped)(nil)
	_ agent.Described      = (*wrapped)(nil)
	_ agent.Confirming     = (*wrapped)(nil)
)

// Traits implements agent.Described. A wrapper always resumes, whatever the traits of its agent.
func (w *wrapped) Traits() agent.Traits {
	t := w.traits
	t.AfterCrash, t.Pure, t.NoMessage = agent.Resume, false, true
	return t
}

// ConfirmsExtensions implements agent.Confirming.
func (w *wrapped) ConfirmsExtensions() bool {
	c, ok := execution.As[agent.Confirming](w.inner)
	return ok && c.ConfirmsExtensions()
}

// GatedSkills returns the gated skills; none if all are gated.
func (w *wrapped) GatedSkills() []string { return w.policy.Gated }

// Kind returns the kind of the wrapped agent.
func (w *wrapped) Kind() string {
	if k, ok := w.inner.(interface{ Kind() string }); ok {
		return k.Kind()
	}
	return "local"
}

// ReadTree reads the tasks below a remote task, if the wrapped agent can; see remote.Agent.
func (w *wrapped) ReadTree(ctx context.Context, checkpoint []byte) ([]byte, error) {
	if r, ok := w.inner.(interface {
		ReadTree(ctx context.Context, checkpoint []byte) ([]byte, error)
	}); ok {
		var saved request
		saved.read(checkpoint)
		return r.ReadTree(ctx, saved.inner)
	}
	return nil, nil
}

// Execute implements a2asrv.AgentExecutor.
func (w *wrapped) Execute(ctx context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		c := agent.CallFrom(ctx)
		p := auth.PrincipalFrom(ctx)
		if c == nil || p == nil {
			yield(nil, errNoHub)
			return
		}
		if c.Flush(ctx) != nil {
			return // the task could not be stored: its owner is not asked
		}
		v := &request{wrapped: w, ec: ec, call: c, caller: p, skill: w.policy.only(c.Skill), yield: yield}
		v.read(c.Saved)
		v.decide(ctx)
	}
}

// Cancel implements a2asrv.AgentExecutor. It withdraws an approval that waits in the inbox.
// Without one, it calls the Cancel of the wrapped agent.
func (w *wrapped) Cancel(ctx context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
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
		if w.observes {
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

// canceled is the reason for withdrawing an approval of a canceled task.
const canceled = "the task was canceled"

// withdraw expires the open approvals of a task. It reports whether there are any, or were
// until the task was canceled.
func (w *wrapped) withdraw(ctx context.Context, ec *a2asrv.ExecutorContext) (bool, error) {
	p := auth.PrincipalFrom(ctx)
	if p == nil {
		return false, nil
	}
	items, err := w.wrapper.Inbox.List(ctx, &inbox.Query{Owner: p.Owner(), Kinds: []inbox.Kind{inbox.Approval}})
	waits := false
	for i := range items {
		it := &items[i]
		if it.Task != ec.TaskID || err != nil {
			continue
		}
		waits = waits || it.State == inbox.Open || it.State == inbox.Expired && it.Answer == canceled
		if it.State == inbox.Open {
			err = w.wrapper.Inbox.Withdraw(ctx, it.ID, canceled)
		}
	}
	return waits, err
}
