package question

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/parley-a2a/parley/internal/clip"
	"github.com/parley-a2a/parley/internal/inbox"
	"github.com/parley-a2a/parley/internal/telemetry/trace"
	"github.com/parley-a2a/parley/internal/trust"
)

// Reasons for ending a loop, as labels of metrics.
const (
	maxRounds  = "max_rounds"
	repetition = "repetition"
	unanswered = "unanswered"
	refused    = "refused"
	expired    = "expired"
)

// Reply implements Responder.
func (r *PolicyResponder) Reply(ctx context.Context, q *Question) (Reply, error) {
	policy := r.policy(q.Agent)
	if policy == Trust {
		policy = r.trusted(ctx, q)
	}
	ctx, span := trace.Start(ctx, "input_required_round", trace.Internal)
	defer span.End()
	span.Label(trace.Labels{Agent: string(q.Agent)})
	span.Int(trace.Round, len(q.Turns)+1)
	span.Text("policy", string(policy))
	reply, err := r.replyBy(ctx, policy, q)
	switch {
	case reply.Fail != "" && reply.Break != "":
		span.Fail(reply.Break)
	case reply.Text != "":
		span.Label(trace.Labels{Outcome: "answered"})
	}
	return reply, err
}

// replyBy replies according to a policy other than Trust.
func (r *PolicyResponder) replyBy(ctx context.Context, p Policy, q *Question) (Reply, error) {
	switch p {
	case Fail:
		return Reply{Fail: fmt.Sprintf("agent %q asks, and its questions are not answered here: %s", q.Agent, question(q))}, nil
	case Auto, Ask:
	default:
		return Reply{}, nil
	}
	if reply := r.tooMany(q); reply.Break != "" {
		return reply, nil
	}
	if p == Auto {
		return r.replyAuto(ctx, q)
	}
	return r.replyFromInbox(ctx, q)
}

// trusted returns Auto or Ask, depending on the trust level of the asking agent. A question
// that is in the inbox remains there. A question without text goes to a person.
func (r *PolicyResponder) trusted(ctx context.Context, q *Question) Policy {
	subject := trust.Subject(q.Agent)
	r.Trust.RecordContact(subject, time.Now())
	entry := r.Trust.Level(ctx, subject)
	if !entry.Allows(q.Skill) || strings.TrimSpace(q.Text) == "" {
		return Ask
	}
	if _, err := r.Inbox.Get(ctx, itemID(q)); err == nil {
		return Ask
	}
	return Auto
}

func itemID(q *Question) inbox.ID { return inbox.IDOf(q.Owner, q.Task, q.Version) }

// replyAuto requests the answer from the answering agent, within the limits of the loop.
func (r *PolicyResponder) replyAuto(ctx context.Context, q *Question) (Reply, error) {
	if strings.TrimSpace(q.Text) == "" {
		return breakLoop(q, unanswered, "asks without words"+otherParts(q)+", and only words can be answered for it; let a person answer (questions: ask)"), nil
	}
	text, problem, err := r.consult(ctx, q, false)
	if err != nil {
		return Reply{}, err
	}
	if problem != "" {
		return breakLoop(q, unanswered, fmt.Sprintf("asks: %s; the answering agent %q %s", question(q), r.Answerer, problem)), nil
	}
	if reply := r.tooAlike(q, text); reply.Break != "" {
		return reply, nil
	}
	return Reply{Text: text}, nil
}

// Limit returns the reply that ends a loop, if one more answer to q would exceed the limits;
// else the zero Reply. Turns of q are the turns of the loop.
func (r *PolicyResponder) Limit(q *Question, answer string) Reply {
	if reply := r.tooMany(q); reply.Break != "" {
		return reply
	}
	return r.tooAlike(q, answer)
}

// tooMany ends a loop with too many questions.
func (r *PolicyResponder) tooMany(q *Question) Reply {
	most := cmp.Or(r.MaxRounds, DefaultRounds)
	if len(q.Turns) < most {
		return Reply{}
	}
	reply := breakLoop(q, maxRounds, fmt.Sprintf("has asked more than %d questions in a row, the last one: %s", most, question(q)))
	reply.Rounds = most
	return reply
}

// tooAlike ends a loop in which the same question would get the same answer too often.
func (r *PolicyResponder) tooAlike(q *Question, answer string) Reply {
	if n := countRepeats(q, answer) + 1; n >= cmp.Or(r.Repetition, DefaultRepetition) {
		return repeated(q, n)
	}
	return Reply{}
}

// breakLoop ends a loop with a reason.
func breakLoop(q *Question, reason, what string) Reply {
	return Reply{Fail: fmt.Sprintf("agent %q %s", q.Agent, what), Break: reason}
}

// repeated ends a loop that repeats itself.
func repeated(q *Question, times int) Reply {
	reply := breakLoop(q, repetition, fmt.Sprintf(
		"has asked the same question and got the same answer %d times in a row; put all that it needs into the request, or split the request up. The question: %s",
		times, question(q)))
	reply.Repeats = times
	return reply
}

// countRepeats returns the number of consecutive turns in which the question got the same answer.
func countRepeats(q *Question, answer string) (n int) {
	asked, answer := normalized(q.Text), normalized(answer)
	for i := len(q.Turns) - 1; i >= 0 && normalized(q.Turns[i].Question) == asked && normalized(q.Turns[i].Answer) == answer; i-- {
		n++
	}
	return n
}

// normalized returns the words of a text in lower case.
func normalized(text string) string {
	return strings.Join(strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsNumber(r)
	}), " ")
}

// question returns the question for an error text.
func question(q *Question) string { return clip.Runes(q.Text, maxQuoted) + otherParts(q) }

// otherParts describes the parts of a question other than text.
func otherParts(q *Question) string {
	switch q.Others {
	case 0:
		return ""
	case 1:
		return " [and 1 part that is not text]"
	}
	return fmt.Sprintf(" [and %d parts that are not text]", q.Others)
}

// maxQuoted limits quoted text in errors, in characters.
const maxQuoted = 300
