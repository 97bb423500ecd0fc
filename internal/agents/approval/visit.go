package approval

import (
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
	"github.com/parley-a2a/parley/agent/memory"
	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/auth/trust"
	"github.com/parley-a2a/parley/inbox"
)

var errNoHub = errors.New("a gate needs a hub, which says who calls")

// Phases of a visit.
const (
	asking  = "asking"  // the caller has been notified that an approval is needed
	running = "running" // the agent may have begun
	asked   = "asked"   // the agent waits for an answer of its caller
)

// stage is the progress of a task. It is stored before the agent's own checkpoint.
type stage struct {
	// Key is the key of the message that the stage belongs to.
	Key   string `json:"k"`
	Phase string `json:"p"`
	// Tries is the number of times that the agent has begun with the message.
	Tries int `json:"n,omitempty"`
	// For is a hash of the caller and the skill that the approval is for; empty without an
	// approval.
	For string `json:"f,omitempty"`
	// Said is the fingerprint of the task before the agent began with the message.
	Said said `json:"t,omitzero"`
}

// visit is one execution of a message at the gate.
type visit struct {
	*guarded
	ec     *a2asrv.ExecutorContext
	call   *agent.Call
	caller *auth.Principal
	skill  string
	yield  func(a2a.Event, error) bool

	// before holds the turns of the context before the message.
	before []memory.Turn

	stage stage
	inner []byte // the agent's own checkpoint
}

// read parses a checkpoint.
func (v *visit) read(saved []byte) {
	head, inner, ok := strings.Cut(string(saved), "\n")
	if !ok || json.Unmarshal([]byte(head), &v.stage) != nil {
		v.stage = stage{}
		return
	}
	if inner != "" {
		v.inner = []byte(inner)
	}
}

// save stores the stage with the next event.
func (v *visit) save() error {
	head, err := json.Marshal(&v.stage)
	if err != nil {
		return err
	}
	return v.call.Checkpoint(append(append(head, '\n'), v.inner...))
}

// grantee returns the hash of the caller and the skill that an approval of this message is for.
func (v *visit) grantee() string {
	return hash(fmt.Sprintf("%q %q", v.caller.ID, strings.ToLower(v.skill)))
}

// hash returns a short hash of a text.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:12])
}

// version returns the version of the message in its task.
func (v *visit) version() int64 {
	n, _ := strconv.ParseInt(v.call.Key[strings.LastIndexByte(v.call.Key, '/')+1:], 10, 64)
	return n
}

func (v *visit) item() inbox.ID { return inbox.IDOf(v.caller.Owner(), v.ec.TaskID, v.version()) }

// decide handles the message according to the trust in its caller.
func (v *visit) decide(ctx context.Context) {
	same := v.stage.Key == v.call.Key
	if same && v.stage.Phase == running || v.gate.owner(v.caller) || !v.policy.gates(v.call.Skill) {
		v.perform(ctx)
		return
	}
	if err := v.recall(ctx); err != nil {
		v.yield(nil, err)
		return
	}
	entry := v.gate.Judge.Level(ctx, trust.Subject(v.caller.ID))
	answers := !same && v.stage.Phase == asked && v.stage.For == v.grantee()
	switch {
	case same && v.stage.Phase == asking:
		v.ask(ctx, entry.Level) // the owner has been asked and decides
	case entry.Allows(v.skill):
		v.stage.For = ""
		v.perform(ctx)
	case entry.Level < trust.Propose:
		v.refuse(ctx, entry.Level)
	case answers:
		v.perform(ctx)
	default:
		v.ask(ctx, entry.Level)
	}
}

// recall stores the message, and loads the turns before it.
func (v *visit) recall(ctx context.Context) error {
	if v.gate.Talks == nil {
		return nil
	}
	turns, err := v.gate.Talks.Continue(ctx, v.caller.Owner(), v.ec.ContextID)
	if err != nil {
		return err
	}
	v.before = slices.DeleteFunc(turns, func(t memory.Turn) bool { return t.ID == memory.TurnID(v.ec.TaskID, v.version()) })
	return nil
}

const (
	// maxBefore is the largest number of earlier turns shown with a message, maxTurn the
	// largest number of characters of each.
	maxBefore = 6
	maxTurn   = 200
)

// story returns the turns before the message for a person; empty if there are none.
func (v *visit) story() string {
	if len(v.before) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("\n\nBefore that:")
	for _, t := range v.before[max(0, len(v.before)-maxBefore):] {
		fmt.Fprintf(&b, "\n%s: %s", memory.Clip(t.Name, maxTurn), memory.Clip(t.Text, maxTurn))
	}
	return b.String()
}

// ask waits until the owner has decided.
func (v *visit) ask(ctx context.Context, level trust.Level) {
	it, err := v.gate.Inbox.Put(ctx, v.approval(level))
	if err != nil {
		v.yield(nil, err)
		return
	}
	if it.State == inbox.Open && (v.stage.Key != v.call.Key || v.stage.Phase != asking) {
		v.stage = stage{Key: v.call.Key, Phase: asking}
		if err := v.save(); err != nil {
			v.yield(nil, err)
			return
		}
		if !v.say(a2a.TaskStateAuthRequired, "This waits for the approval of the owner of this agent. It runs when it is approved; nothing more is needed from you.", nil) {
			return
		}
	}
	if it, err = v.await(ctx, it); err != nil {
		return // the hub ends the run with the reason, or drains
	}
	if it.State == inbox.Expired && it.Answer == canceled {
		<-ctx.Done() // Cancel reports that
		return
	}
	switch it.State {
	case inbox.Approved:
		v.stage = stage{For: v.grantee()}
		v.perform(ctx)
	case inbox.Refused:
		v.end("The owner of this agent has refused this"+because(it.Answer)+". Nothing was done.", inbox.Refused)
	default:
		v.end("The owner of this agent has not approved this in time. Nothing was done.", inbox.Expired)
	}
}

// because returns the reason of a refusal as the end of a sentence.
func because(text string) string {
	if text == "" {
		return ""
	}
	return ": " + strings.TrimRight(text, ".")
}

// approval returns the item for the inbox.
func (v *visit) approval(level trust.Level) *inbox.Item {
	it := v.what(inbox.Approval)
	it.Text = fmt.Sprintf("%s (trusted to %s) asks %s:\n\n%s%s", v.name(), level, v.forWhat(), v.words(), v.story())
	it.Expires = time.Now().Add(or(v.gate.ApprovalTime, approvalDefault))
	return it
}

// what returns an item about the message.
func (v *visit) what(kind inbox.Kind) *inbox.Item {
	return &inbox.Item{
		ID: v.item(), Kind: kind, Owner: v.caller.Owner(), Task: v.ec.TaskID, Version: v.version(), Agent: v.call.Agent,
		Caller: v.caller.ID, CallerName: v.caller.DisplayName, Skill: v.skill,
	}
}

// name returns the caller's display name, which the hub's owner has given, and id.
func (v *visit) name() string {
	if v.caller.DisplayName == "" || v.caller.DisplayName == v.caller.ID {
		return v.caller.ID
	}
	return v.caller.DisplayName + " (" + v.caller.ID + ")"
}

func (v *visit) forWhat() string {
	if v.skill == "" || v.skill == string(v.call.Agent) {
		return string(v.call.Agent)
	}
	return string(v.call.Agent) + " for " + v.skill
}

// words returns the text of the message, with the number of its other parts.
func (v *visit) words() string {
	text, other := agent.Text(v.ec.Message), 0
	for _, p := range v.ec.Message.Parts {
		if _, ok := p.Content.(a2a.Text); !ok {
			other++
		}
	}
	if other > 0 {
		text = strings.TrimLeft(text+fmt.Sprintf("\n[and %d parts that are not text]", other), "\n")
	}
	return text
}

func or(d, otherwise time.Duration) time.Duration {
	if d <= 0 {
		return otherwise
	}
	return d
}

// await waits until an item is settled, and sends the hub a keep-alive event at intervals. It
// returns an error when the hub drains; the next process continues to wait.
func (v *visit) await(ctx context.Context, it inbox.Item) (inbox.Item, error) {
	ctx, cancel := v.call.UntilDrain(ctx)
	defer cancel()
	beat := or(v.gate.KeepAlive, keepAliveDefault)
	for it.State == inbox.Open {
		wait, cancel := context.WithTimeout(ctx, beat)
		got, err := v.gate.Inbox.Wait(wait, it.ID)
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
		if it.State == inbox.Open && !v.yield(nil, nil) {
			return it, errNoHub
		}
	}
	return it, nil
}

// say yields a status with a message and metadata.
func (v *visit) say(state a2a.TaskState, text string, meta map[string]any) bool {
	ev := agent.Status(v.ec, state, a2a.NewTextPart(text))
	ev.Metadata, ev.Status.Message.Metadata = meta, meta
	return v.yield(ev, nil)
}

// end ends the task of a message that was not passed on.
func (v *visit) end(text string, outcome inbox.State) {
	state := a2a.TaskStateRejected
	if v.gate.Complete {
		state = a2a.TaskStateCompleted
	}
	v.say(state, text, map[string]any{"fulfilled": false, "parley.gate": string(outcome)})
}
