package question

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/parley-a2a/parley/auth/trust"
	"github.com/parley-a2a/parley/inbox"
	"github.com/parley-a2a/parley/task"
)

// Policy selects who answers the questions of an agent. The empty Policy selects the default of
// the Desk.
type Policy string

// Policies for questions.
const (
	// Suspend returns questions to the caller: the task waits for input.
	Suspend Policy = "suspend"
	// Auto lets the answering agent answer.
	Auto Policy = "auto"
	// Ask puts questions into the inbox, with a draft of the answering agent if there is one,
	// and waits for a person.
	Ask Policy = "ask"
	// Trust is Auto for an agent that is trusted to act, for its approved skills, and Ask for
	// all others.
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

// Errors of Check for a policy that needs a missing field.
var (
	ErrNoAnswerer = errors.New("there is no answering agent")
	ErrNoInbox    = errors.New("there is no inbox")
	ErrNoJudge    = errors.New("nobody knows who is trusted")
)

// Judge returns the trust levels of agents. A trust.Registry is one.
type Judge interface {
	// Level returns the trust entry of an agent.
	Level(ctx context.Context, who trust.Subject) trust.Entry
	// RecordContact counts a contact of an agent with the hub.
	RecordContact(who trust.Subject, at time.Time)
}

// Desk decides on the answers to the questions of agents. The zero Desk returns all questions
// to the callers. Its fields must not change after the first call.
type Desk struct {
	// Answerer is the agent that answers and drafts. If empty, the policies Auto and Trust are
	// not available, and there are no drafts.
	Answerer task.Agent
	// Policies are the policies of single agents.
	Policies map[task.Agent]Policy
	// Default is the policy of all other agents. Empty means Trust if there is an Answerer, and
	// Suspend otherwise. Default does not apply to the Answerer, whose default is Suspend.
	Default Policy
	// Inbox holds the questions for a person. Ask and Trust require it.
	Inbox *inbox.Inbox
	// Judge decides which agents may get answers that no person has seen. Trust requires it.
	Judge Judge
	// AskTime is the time for which a question waits in the inbox; zero means DefaultAskTime.
	AskTime time.Duration
	// MaxRounds limits the consecutive questions of a task that are answered; zero means
	// DefaultRounds.
	MaxRounds int
	// Repetition is the number of consecutive equal questions and answers that ends a loop;
	// zero means DefaultRepetition.
	Repetition int
}

var _ Responder = (*Desk)(nil)

// Check returns the first error in the fields.
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

// Takes implements Responder.
func (d *Desk) Takes(name task.Agent) bool { return d.policy(name) != Suspend }
