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

// The phases of a visit.
const (
	asking  = "asking"  // the caller was told that somebody has to approve
	running = "running" // the agent may have begun
	asked   = "asked"   // the agent waits for an answer of its caller
)

// stage is how far a task is, as it stands in front of the agent's own checkpoint.
type stage struct {
	// Key is the message that the stage is about.
	Key   string `json:"k"`
	Phase string `json:"p"`
	// Tries counts how often the agent has begun with the message.
	Tries int `json:"n,omitempty"`
	// For is whom the approval is for, and the skill, as a hash; empty if there is none.
	For string `json:"f,omitempty"`
	// Said is what callers had been told before the agent began with the message.
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

	// before is what was said in the context before the message.
	before []memory.Turn

	stage stage
	inner []byte // the agent's own checkpoint
}

// read takes a checkpoint apart.
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

// save notes how far the task is, with the event that comes next.
func (v *visit) save() error {
	head, err := json.Marshal(&v.stage)
	if err != nil {
		return err
	}
	return v.call.Checkpoint(append(append(head, '\n'), v.inner...))
}

// grantee is whom an approval of this message is for.
func (v *visit) grantee() string {
	return hash(fmt.Sprintf("%q %q", v.caller.ID, strings.ToLower(v.skill)))
}

// hash stands for a text in a checkpoint.
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

// decide does with the message what the trust in its caller says.
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
	entry := v.gate.Judge.Level(ctx, trust.Who(v.caller.ID))
	answers := !same && v.stage.Phase == asked && v.stage.For == v.grantee()
	switch {
	case same && v.stage.Phase == asking:
		v.ask(ctx, entry.Level) // the person has been asked, and says
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

// recall remembers the message with what was said before it.
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
	// maxBefore is how many turns the person is shown beside a message, maxTurn how many
	// characters of each.
	maxBefore = 6
	maxTurn   = 200
)

// story returns what was said before the message, for a person; empty if it is the first.
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

// ask waits until the person has decided.
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
		return // the hub ends the run and says why, or drains
	}
	if it.State == inbox.Expired && it.Answer == canceled {
		<-ctx.Done() // Cancel says so
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

// because returns what a person says about a refusal.
func because(text string) string {
	if text == "" {
		return ""
	}
	return ": " + strings.TrimRight(text, ".")
}

// approval is what is put into the inbox.
func (v *visit) approval(level trust.Level) *inbox.Item {
	it := v.what(inbox.Approval)
	it.Text = fmt.Sprintf("%s (trusted to %s) asks %s:\n\n%s%s", v.name(), level, v.forWhat(), v.words(), v.story())
	it.Expires = time.Now().Add(or(v.gate.ApprovalTime, approvalDefault))
	return it
}

// what is an item about the message.
func (v *visit) what(kind inbox.Kind) *inbox.Item {
	return &inbox.Item{
		ID: v.item(), Kind: kind, Owner: v.caller.Owner(), Task: v.ec.TaskID, Version: v.version(), Agent: v.call.Agent,
		Caller: v.caller.ID, CallerName: v.caller.DisplayName, Skill: v.skill,
	}
}

// name is the caller for a person: the name that the hub's owner has given, and the id.
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

// words are those of the message. What is not text is counted.
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

// await waits until an item is settled, and tells the hub now and then that it does. It
// ends with an error when the hub drains: the next process waits on.
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
			it.State = inbox.Expired // somebody has removed it
		default:
			<-wait.Done() // the inbox stops with the hub, or the store does not work
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

// end ends the task with nothing done.
func (v *visit) end(text string, outcome inbox.State) {
	state := a2a.TaskStateRejected
	if v.gate.Complete {
		state = a2a.TaskStateCompleted
	}
	v.say(state, text, map[string]any{"fulfilled": false, "parley.gate": string(outcome)})
}
