package approval

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/clip"
	"github.com/parley-a2a/parley/internal/inbox"
	"github.com/parley-a2a/parley/internal/memory"
	"github.com/parley-a2a/parley/internal/trust"
)

var errNoHub = errors.New("a gate needs a hub, which identifies the caller")

// Phases of a request.
const (
	asking  = "asking"  // the caller has been notified that an approval is needed
	running = "running" // the agent may have begun
	asked   = "asked"   // the agent waits for an answer of its caller
)

// checkpoint is the progress of a task. It is stored before the agent's own checkpoint.
type checkpoint struct {
	// Key is the key of the message that the checkpoint belongs to.
	Key   string `json:"k"`
	Phase string `json:"p"`
	// Tries is the number of times that the agent has begun with the message.
	Tries int `json:"n,omitempty"`
	// For is a hash of the caller and the skill that the approval is for; empty without an
	// approval.
	For string `json:"f,omitempty"`
	// Open is the skill that is not gated, and that the agent performs; empty for any other.
	Open string `json:"o,omitempty"`
	// Said is the fingerprint of the task before the agent began with the message.
	Said outputHash `json:"t,omitzero"`
}

// request is one execution of a message at the gate.
type request struct {
	*wrapped
	ec     *a2asrv.ExecutorContext
	call   *agent.Call
	caller *auth.Principal
	skill  string
	// open is the skill if it is not gated: that of the message, or of the question that the
	// message answers.
	open  string
	yield func(a2a.Event, error) bool

	// before holds the turns of the context before the message.
	before []memory.Turn

	checkpoint checkpoint
	inner      []byte // the agent's own checkpoint
}

// read parses a checkpoint.
func (r *request) read(saved []byte) {
	head, inner, ok := strings.Cut(string(saved), "\n")
	if !ok || json.Unmarshal([]byte(head), &r.checkpoint) != nil {
		r.checkpoint = checkpoint{}
		return
	}
	if inner != "" {
		r.inner = []byte(inner)
	}
}

// save stores the checkpoint with the next event.
func (r *request) save() error {
	head, err := json.Marshal(&r.checkpoint)
	if err != nil {
		return err
	}
	return r.call.Checkpoint(append(append(head, '\n'), r.inner...))
}

// grantee returns the hash of the caller and the skill that an approval of this message is for.
func (r *request) grantee() string {
	return hash(fmt.Sprintf("%q %q", r.caller.ID, strings.ToLower(r.skill)))
}

// hash returns a short hash of a text.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:12])
}

// version returns the version of the message in its task.
func (r *request) version() int64 {
	n, _ := strconv.ParseInt(r.call.Key[strings.LastIndexByte(r.call.Key, '/')+1:], 10, 64)
	return n
}

func (r *request) item() inbox.ID { return inbox.IDOf(r.caller.Owner(), r.ec.TaskID, r.version()) }

// decide handles the message according to the trust in its caller.
func (r *request) decide(ctx context.Context) {
	if r.observes {
		r.observe(ctx)
		return
	}
	same := r.checkpoint.Key == r.call.Key
	r.open = r.openSkill(same)
	if same && r.checkpoint.Phase == running || r.wrapper.owner(r.caller) || r.open != "" {
		r.perform(ctx)
		return
	}
	if err := r.loadHistory(ctx); err != nil {
		r.yield(nil, err)
		return
	}
	entry := r.wrapper.Trust.Level(ctx, trust.Subject(r.caller.ID))
	answers := !same && r.checkpoint.Phase == asked && r.checkpoint.For == r.grantee()
	switch {
	case same && r.checkpoint.Phase == asking:
		r.ask(ctx, entry.Level) // the owner has been asked and decides
	case entry.Allows(r.skill):
		r.checkpoint.For = ""
		r.perform(ctx)
	case entry.Level < trust.Propose || r.wrapper.NoApprovals:
		r.refuse(ctx, entry.Level)
	case answers:
		r.perform(ctx)
	default:
		r.ask(ctx, entry.Level)
	}
}

// openSkill returns the skill that the agent is to perform, if it is not gated. A message that
// names no skill and answers a question of such a skill continues it. same is set if the hub
// repeats a message.
func (r *request) openSkill(same bool) string {
	skill := r.call.Skill
	if skill == "" && (same || r.checkpoint.Phase == asked) {
		skill = r.checkpoint.Open
	}
	if r.policy.gates(skill) {
		return ""
	}
	return skill
}

// loadHistory stores the message, and loads the turns before it.
func (r *request) loadHistory(ctx context.Context) error {
	if r.wrapper.History == nil {
		return nil
	}
	turns, err := r.wrapper.History.Continue(ctx, r.caller.Owner(), r.ec.ContextID)
	if err != nil {
		return err
	}
	r.before = slices.DeleteFunc(turns, func(t memory.Turn) bool { return t.ID == memory.TurnID(r.ec.TaskID, r.version()) })
	return nil
}

const (
	// maxBefore is the largest number of earlier turns shown with a message, maxTurn the
	// largest number of characters of each.
	maxBefore = 6
	maxTurn   = 200
)

// conversation returns the turns before the message for a person; empty if there are none.
func (r *request) conversation() string {
	if len(r.before) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("\n\nBefore that:")
	for _, t := range r.before[max(0, len(r.before)-maxBefore):] {
		fmt.Fprintf(&b, "\n%s: %s", memory.Clip(t.Name, maxTurn), memory.Clip(t.Text, maxTurn))
	}
	return b.String()
}

// ask waits until the owner has decided.
func (r *request) ask(ctx context.Context, level trust.Level) {
	it, err := r.wrapper.Inbox.Put(ctx, r.approval(level))
	if err != nil {
		r.yield(nil, err)
		return
	}
	if it.State == inbox.Open && (r.checkpoint.Key != r.call.Key || r.checkpoint.Phase != asking) {
		r.checkpoint = checkpoint{Key: r.call.Key, Phase: asking}
		if err := r.save(); err != nil {
			r.yield(nil, err)
			return
		}
		if !r.sendStatus(a2a.TaskStateAuthRequired, "This request needs the approval of the agent's owner. It runs once approved; you need not do anything.", nil) {
			return
		}
	}
	if it, err = r.await(ctx, it); err != nil {
		return // the hub ends the run with the reason, or drains
	}
	if it.State == inbox.Expired && it.Answer == canceled {
		<-ctx.Done() // Cancel reports that
		return
	}
	switch it.State {
	case inbox.Approved:
		r.checkpoint = checkpoint{For: r.grantee()}
		r.perform(ctx)
	case inbox.Refused:
		r.end("The owner of this agent has refused this"+reasonSuffix(it.Answer)+". Nothing was done.", inbox.Refused)
	default:
		r.end("The owner of this agent has not approved this in time. Nothing was done.", inbox.Expired)
	}
}

// reasonSuffix returns the reason of a refusal as the end of a sentence.
func reasonSuffix(text string) string {
	if text == "" {
		return ""
	}
	return ": " + strings.TrimRight(text, ".")
}

func (r *request) approval(level trust.Level) *inbox.Item {
	it := r.newItem(inbox.Approval)
	it.Text = fmt.Sprintf("%s (trusted to %s) asks %s:\n\n%s%s", r.name(), level, r.subject(), r.words(), r.conversation())
	it.Expires = time.Now().Add(cmp.Or(max(0, r.wrapper.ApprovalTime), approvalDefault))
	return it
}

// newItem returns an item about the message.
func (r *request) newItem(kind inbox.Kind) *inbox.Item {
	return &inbox.Item{
		ID: r.item(), Kind: kind, Owner: r.caller.Owner(), Task: r.ec.TaskID, Version: r.version(), Agent: r.call.Agent,
		Caller: r.caller.ID, CallerName: r.caller.DisplayName, Skill: r.skill,
	}
}

// name returns the caller's display name, which the hub's owner has given, and id.
func (r *request) name() string {
	if r.caller.DisplayName == "" || r.caller.DisplayName == r.caller.ID {
		return r.caller.ID
	}
	return r.caller.DisplayName + " (" + r.caller.ID + ")"
}

func (r *request) subject() string {
	if r.observes {
		return fmt.Sprintf("for the skill %q, which no agent has", clip.Bytes(r.skill, maxTurn))
	}
	if r.skill == "" || r.skill == string(r.call.Agent) {
		return string(r.call.Agent)
	}
	return string(r.call.Agent) + " for " + r.skill
}

// words returns the text of the message, with the number of its other parts.
func (r *request) words() string {
	text, other := agent.Text(r.ec.Message), 0
	for _, p := range r.ec.Message.Parts {
		if _, ok := p.Content.(a2a.Text); !ok {
			other++
		}
	}
	if other > 0 {
		text = strings.TrimLeft(text+fmt.Sprintf("\n[and %d parts that are not text]", other), "\n")
	}
	return text
}

// await waits until an item is settled, and sends the hub a keep-alive event at intervals. It
// returns an error when the hub drains; the next process continues to wait.
func (r *request) await(ctx context.Context, it inbox.Item) (inbox.Item, error) {
	ctx, cancel := r.call.UntilDrain(ctx)
	defer cancel()
	beat := cmp.Or(max(0, r.wrapper.KeepAlive), keepAliveDefault)
	for it.State == inbox.Open {
		wait, cancel := context.WithTimeout(ctx, beat)
		got, err := r.wrapper.Inbox.Wait(wait, it.ID)
		switch {
		case err == nil:
			it = got
		case errors.Is(err, inbox.ErrNotFound):
			it.State = inbox.Expired // the item has been removed
		default:
			<-wait.Done() // the inbox stops with the hub, or the store fails
		}
		cancel()
		if ctx.Err() != nil {
			return it, context.Cause(ctx)
		}
		if it.State == inbox.Open && !r.yield(nil, nil) {
			return it, errNoHub
		}
	}
	return it, nil
}

func (r *request) sendStatus(state a2a.TaskState, text string, meta map[string]any) bool {
	ev := agent.Status(r.ec, state, a2a.NewTextPart(text))
	ev.Metadata, ev.Status.Message.Metadata = meta, meta
	return r.yield(ev, nil)
}

// end ends the task of a message that was not passed on.
func (r *request) end(text string, outcome inbox.State) {
	state := a2a.TaskStateRejected
	if r.wrapper.Complete {
		state = a2a.TaskStateCompleted
	}
	r.sendStatus(state, text, map[string]any{"fulfilled": false, "parley.gate": string(outcome)})
}
