package question

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/parley-a2a/parley/internal/inbox"
	"github.com/parley-a2a/parley/internal/trust"
	"github.com/parley-a2a/parley/task"
)

// Policy selects who answers the questions of an agent. The empty Policy selects the default of
// the PolicyResponder.
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

// Defaults of a PolicyResponder.
const (
	DefaultRounds     = 20
	DefaultRepetition = 3
	DefaultAskTime    = 7 * 24 * time.Hour
)

// Errors of Check for a policy that needs a missing field.
var (
	ErrNoAnswerer = errors.New("there is no agent that answers")
	ErrNoInbox    = errors.New("there is no inbox")
	ErrNoTrust    = errors.New("the trust levels of agents are unknown")
)

// TrustSource returns the trust levels of agents. A trust.Registry is one.
type TrustSource interface {
	// Level returns the trust entry of an agent.
	Level(ctx context.Context, subject trust.Subject) trust.Entry
	// RecordContact counts a contact of an agent with the hub.
	RecordContact(subject trust.Subject, at time.Time)
}

// PolicyResponder decides on the answers to the questions of agents. The zero PolicyResponder
// returns all questions to the callers. Its fields must not change after the first call.
type PolicyResponder struct {
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
	// Trust decides which agents may get answers that no person has seen. Trust requires it.
	Trust TrustSource
	// AskTime is the time for which a question waits in the inbox; zero means DefaultAskTime.
	AskTime time.Duration
	// MaxRounds limits the consecutive questions of a task that are answered; zero means
	// DefaultRounds.
	MaxRounds int
	// Repetition is the number of consecutive equal questions and answers that ends a loop;
	// zero means DefaultRepetition.
	Repetition int
}

var _ Responder = (*PolicyResponder)(nil)

// Check returns the first error in the fields.
func (r *PolicyResponder) Check() error {
	for name, p := range r.Policies {
		if err := r.check(p); err != nil {
			return fmt.Errorf("questions of agent %q: %w", name, err)
		}
	}
	if p := r.Policies[r.Answerer]; r.Answerer != "" && (p == Auto || p == Trust) {
		return fmt.Errorf("questions of agent %q: it cannot answer itself", r.Answerer)
	}
	if err := r.check(r.defaultPolicy()); err != nil {
		return fmt.Errorf("questions: %w", err)
	}
	return nil
}

func (r *PolicyResponder) check(p Policy) error {
	switch p {
	case "", Suspend, Fail:
		return nil
	case Auto, Ask, Trust:
	default:
		return fmt.Errorf("unknown policy %q", p)
	}
	switch {
	case p != Ask && r.Answerer == "":
		return ErrNoAnswerer
	case p != Auto && r.Inbox == nil:
		return ErrNoInbox
	case p == Trust && r.Trust == nil:
		return ErrNoTrust
	}
	return nil
}

// defaultPolicy returns the policy of agents without one of their own.
func (r *PolicyResponder) defaultPolicy() Policy {
	switch {
	case r.Default != "":
		return r.Default
	case r.Answerer != "":
		return Trust
	}
	return Suspend
}

func (r *PolicyResponder) policy(name task.Agent) Policy {
	switch p := r.Policies[name]; {
	case p != "":
		return p
	case name == r.Answerer:
		return Suspend
	}
	return r.defaultPolicy()
}

// Takes implements Responder.
func (r *PolicyResponder) Takes(name task.Agent) bool { return r.policy(name) != Suspend }
