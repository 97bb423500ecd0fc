package dialogue

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/trace"
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
	// Fail ends the task, with the question in the reason.
	Fail Policy = "fail"
)

// Defaults of a Desk.
const (
	DefaultRounds     = 20
	DefaultRepetition = 3
)

// ErrNoAnswerer is returned by Check for a policy that needs an answering agent.
var ErrNoAnswerer = errors.New("there is no answering agent")

// Desk answers the questions of agents. The zero Desk leaves them all to the callers.
// Fields must not change once it is in use.
type Desk struct {
	// Answerer is the agent that answers. If empty, no agent can have Auto.
	Answerer task.Agent
	// Policies are those of single agents.
	Policies map[task.Agent]Policy
	// Default is the policy of all others, and empty means Suspend. It is never that of
	// the Answerer.
	Default Policy
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
	if d.Answerer != "" && d.Policies[d.Answerer] == Auto {
		return fmt.Errorf("questions of agent %q: it cannot answer itself", d.Answerer)
	}
	if err := d.check(d.Default); err != nil {
		return fmt.Errorf("questions: %w", err)
	}
	return nil
}

func (d *Desk) check(p Policy) error {
	switch p {
	case "", Suspend, Fail:
		return nil
	case Auto:
		if d.Answerer == "" {
			return ErrNoAnswerer
		}
		return nil
	}
	return fmt.Errorf("there is no policy %q", p)
}

// policy returns the policy of an agent.
func (d *Desk) policy(name task.Agent) Policy {
	p := d.Policies[name]
	if p == "" && name != d.Answerer {
		p = d.Default
	}
	if p == "" {
		p = Suspend
	}
	return p
}

// Takes implements engine.Questions.
func (d *Desk) Takes(name task.Agent) bool { return d.policy(name) != Suspend }

// Reply implements engine.Questions.
func (d *Desk) Reply(ctx context.Context, q *engine.Question) (engine.Reply, error) {
	ctx, span := trace.Start(ctx, "input_required_round", trace.Internal)
	defer span.End()
	span.Int("parley.question.number", len(q.Turns)+1)
	switch d.policy(q.Agent) {
	case Fail:
		return engine.Reply{Fail: fmt.Sprintf("agent %q asks, and nobody answers its questions here: %s", q.Agent, clip(q.Text))}, nil
	case Auto:
		return d.auto(ctx, q)
	}
	return engine.Reply{}, nil
}

// auto lets the answering agent answer, as long as that leads anywhere.
func (d *Desk) auto(ctx context.Context, q *engine.Question) (engine.Reply, error) {
	rounds := d.MaxRounds
	if rounds == 0 {
		rounds = DefaultRounds
	}
	if len(q.Turns) >= rounds {
		return broken(ctx, q, "max_rounds", fmt.Sprintf("has asked more than %d questions in a row, the last one: %s", rounds, clip(q.Text))), nil
	}
	text, problem, err := d.ask(ctx, q)
	if err != nil {
		return engine.Reply{}, err
	}
	if problem != "" {
		return engine.Reply{Fail: fmt.Sprintf("agent %q asks: %s; the answering agent %q %s", q.Agent, clip(q.Text), d.Answerer, problem)}, nil
	}
	if n := d.repeated(q, text); n > 0 {
		return broken(ctx, q, "repetition", fmt.Sprintf(
			"has asked the same question and got the same answer %d times in a row; put all that it needs into the request, or split the request up. The question: %s",
			n, clip(q.Text))), nil
	}
	return engine.Reply{Text: text}, nil
}

// broken ends a loop.
func broken(ctx context.Context, q *engine.Question, reason, what string) engine.Reply {
	trace.Count(ctx, trace.InputRequiredBreaks, trace.Labels{Agent: string(q.Agent), Reason: reason}, 1)
	return engine.Reply{Fail: fmt.Sprintf("agent %q %s", q.Agent, what)}
}

// repeated returns how often the question has got the answer in a row, with this time, if
// that is too often; else zero.
func (d *Desk) repeated(q *engine.Question, answer string) int {
	most := d.Repetition
	if most == 0 {
		most = DefaultRepetition
	}
	question, answer, n := normal(q.Text), normal(answer), 1
	for i := len(q.Turns) - 1; i >= 0 && normal(q.Turns[i].Question) == question && normal(q.Turns[i].Answer) == answer; i-- {
		n++
	}
	if n < most {
		return 0
	}
	return n
}

// ask returns what the answering agent says, or why it says nothing.
func (d *Desk) ask(ctx context.Context, q *engine.Question) (text, problem string, err error) {
	m := a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart(brief(q)))
	m.Metadata = map[string]any{QuestionKey: map[string]any{
		"agent": string(q.Agent), "skill": q.Skill, "number": len(q.Turns) + 1, "text": q.Text,
	}}
	got, err := q.Delegate(ctx, &agent.Delegation{
		Agent: d.Answerer, Message: m, Key: fmt.Sprintf("question %d", q.Version),
	})
	switch {
	case err != nil && (ctx.Err() != nil || errors.Is(err, task.ErrUnavailable)):
		return "", "", err
	case err != nil:
		return "", "cannot be asked: " + err.Error(), nil
	case got.State != task.Completed:
		return "", "has no answer: its task is " + got.State.String(), nil
	case strings.TrimSpace(got.Text) == "":
		return "", "has no answer in words", nil
	}
	return got.Text, "", nil
}

// QuestionKey is the metadata of a message to an answering agent: an object with the
// agent that asks, the skill that it was asked for, the number and the text of its
// question.
const QuestionKey = "parley.asked"

// brief returns the question with the conversation that has led to it.
func brief(q *engine.Question) string {
	if len(q.Turns) == 0 {
		return q.Text
	}
	var b strings.Builder
	for _, t := range q.Turns {
		fmt.Fprintf(&b, "Q: %s\nA: %s\n\n", t.Question, t.Answer)
	}
	b.WriteString(q.Text)
	return b.String()
}

// normal returns the words of a text in small letters.
func normal(text string) string {
	return strings.Join(strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsNumber(r)
	}), " ")
}

// clip shortens a question for an error.
func clip(text string) string {
	const most = 300
	if r := []rune(text); len(r) > most {
		return string(r[:most]) + "…"
	}
	return text
}
