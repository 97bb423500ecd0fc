package question

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/parley-a2a/parley/auth/trust"
	"github.com/parley-a2a/parley/inbox"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/task"
)

// Policy says who answers the questions of an agent. The zero Policy is that of the Desk.
type Policy string

// The policies.
const (
	// Suspend leaves questions to the caller: the task waits for input.
	Suspend Policy = "suspend"
	// Auto lets the answering agent answer.
	Auto Policy = "auto"
	// Ask puts questions into the inbox, with a draft of the answering agent if there is
	// one, and waits for a person.
	Ask Policy = "ask"
	// Trust is Auto for an agent that is trusted to act, for the skills that were approved,
	// and Ask for all others.
	Trust Policy = "trust"
	// Fail ends the task, with the question in the reason.
	Fail Policy = "fail"
)

// Policies returns all policies.
func Policies() []Policy { return []Policy{Suspend, Auto, Ask, Trust, Fail} }

// Defaults of a Desk.
const (
	DefaultRounds     = 20
	DefaultRepetition = 3
	DefaultAskTime    = 7 * 24 * time.Hour
)

// What a policy needs and a Desk does not have.
var (
	ErrNoAnswerer = errors.New("there is no answering agent")
	ErrNoInbox    = errors.New("there is no inbox")
	ErrNoJudge    = errors.New("nobody knows who is trusted")
)

// Judge knows how far agents are trusted. A trust.Book is one.
type Judge interface {
	// Level returns what is known of somebody.
	Level(ctx context.Context, who trust.Who) trust.Entry
	// Contact counts that somebody had to do with the hub.
	Contact(who trust.Who, at time.Time)
}

// Desk answers the questions of agents. The zero Desk leaves them all to the callers.
// Fields must not change once it is in use.
type Desk struct {
	// Answerer is the agent that answers, and drafts. If empty, no agent can have Auto or
	// Trust, and there are no drafts.
	Answerer task.Agent
	// Policies are those of single agents.
	Policies map[task.Agent]Policy
	// Default is the policy of all others. Empty means Trust if there is an Answerer, and
	// else Suspend. It is never that of the Answerer.
	Default Policy
	// Inbox is where a person looks. Ask and Trust need it.
	Inbox *inbox.Inbox
	// Judge knows which agents may get answers that no person has seen. Trust needs it.
	Judge Judge
	// AskTime is how long a question waits in the inbox; zero means DefaultAskTime.
	AskTime time.Duration
	// MaxRounds is how many questions of a task are answered in a row; zero means
	// DefaultRounds.
	MaxRounds int
	// Repetition is how often in a row the same question may get the same answer before
	// that is taken for a circle; zero means DefaultRepetition.
	Repetition int
}

var _ engine.Questions = (*Desk)(nil)

// Check returns what is wrong with the fields.
func (d *Desk) Check() error {
	for name, p := range d.Policies {
		if err := d.check(p); err != nil {
			return fmt.Errorf("questions of agent %q: %w", name, err)
		}
	}
	if p := d.Policies[d.Answerer]; d.Answerer != "" && (p == Auto || p == Trust) {
		return fmt.Errorf("questions of agent %q: it cannot answer itself", d.Answerer)
	}
	if err := d.check(d.common()); err != nil {
		return fmt.Errorf("questions: %w", err)
	}
	return nil
}

func (d *Desk) check(p Policy) error {
	switch p {
	case "", Suspend, Fail:
		return nil
	case Auto, Ask, Trust:
	default:
		return fmt.Errorf("there is no policy %q", p)
	}
	switch {
	case p != Ask && d.Answerer == "":
		return ErrNoAnswerer
	case p != Auto && d.Inbox == nil:
		return ErrNoInbox
	case p == Trust && d.Judge == nil:
		return ErrNoJudge
	}
	return nil
}

// common returns the policy of agents without one of their own.
func (d *Desk) common() Policy {
	switch {
	case d.Default != "":
		return d.Default
	case d.Answerer != "":
		return Trust
	}
	return Suspend
}

// policy returns the policy of an agent.
func (d *Desk) policy(name task.Agent) Policy {
	switch p := d.Policies[name]; {
	case p != "":
		return p
	case name == d.Answerer:
		return Suspend
	}
	return d.common()
}

// Takes implements engine.Questions.
func (d *Desk) Takes(name task.Agent) bool { return d.policy(name) != Suspend }
