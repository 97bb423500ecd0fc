package assistant

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/agent"
)

// maxRounds is the largest number of messages in a negotiation.
const maxRounds = 12

// outcome is the result of a message: a meeting, a question, or neither.
type outcome struct {
	meeting *meeting
	ask     string
}

// negotiate answers one message of a negotiation.
func (a *Assistant) negotiate(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
	v := callerOf(ctx, ec)
	talk := cmp.Or(ec.ContextID, string(ec.TaskID))
	var o outcome
	text, err := a.earlierTurns(ctx, v)
	if err == nil {
		err = a.change(ctx, func(b *calendar) {
			key := fmt.Sprintf("%q %q", v.owner, talk)
			a.remember(b, key, text)
			o = a.turn(b, v, key, agent.Text(ec.Message))
		})
	}
	if err == nil && o.meeting != nil {
		err = a.putNotice(ctx, v, fmt.Sprintf("A meeting with %s: %s.", o.meeting.With, a.span(o.meeting)), messageTime)
	}
	switch {
	case err != nil:
		yield(nil, err)
	case o.meeting != nil:
		v.conclude(yield, prefixAgreed+a.span(o.meeting)+".", map[string]any{
			"agreed": true, "start": o.meeting.Start.Format(time.RFC3339), "end": o.meeting.End.Format(time.RFC3339),
		})
	case o.ask != "":
		v.sendStatus(yield, a2a.TaskStateInputRequired, o.ask)
	default:
		v.conclude(yield, prefixNone, map[string]any{"agreed": false})
	}
}

// span returns the time of a meeting in words.
func (a *Assistant) span(m *meeting) string {
	zone := a.Hours.zone()
	return fmt.Sprintf("%s to %s (%s)", m.Start.In(zone).Format("2006-01-02 15:04"), m.End.In(zone).Format("15:04"), zone)
}

// turn applies a message to the calendar. A repeated message gets the same answer.
func (a *Assistant) turn(b *calendar, v *caller, key, text string) outcome {
	if m, ok := b.made(v.key); ok {
		return outcome{meeting: &m}
	}
	t := b.take(key)
	if t.Message == v.key {
		b.Negotiations = append(b.Negotiations, t)
		return outcome{ask: t.Reply}
	}
	t.Rounds++
	t.Message = v.key
	if length := lengthOf(text); length > 0 {
		t.Length = length
	}
	now := time.Now()
	if start, ok := a.agrees(b, &t, text, now); ok {
		m := meeting{Start: start, End: start.Add(t.Length), With: v.name, Key: v.key}
		b.Meetings = append(b.Meetings, m)
		return outcome{meeting: &m}
	}
	if t.Reply = a.question(b, &t, text, now); t.Rounds >= maxRounds || t.Reply == "" {
		return outcome{}
	}
	b.Negotiations = append(b.Negotiations, t)
	return outcome{ask: t.Reply}
}

// agrees returns a time that suits both sides.
func (a *Assistant) agrees(b *calendar, t *negotiation, text string, now time.Time) (time.Time, bool) {
	times := a.Hours.proposals(text)
	if len(times) == 0 && consent.MatchString(text) && !t.Offered.IsZero() {
		times = []time.Time{t.Offered}
	}
	for _, at := range times {
		if b.free(&a.Hours, at, t.Length, now) {
			return at, true
		}
	}
	return time.Time{}, false
}

// question returns the next question, with an offered time if the message was about times. It
// is empty if no time is free.
func (a *Assistant) question(b *calendar, t *negotiation, text string, now time.Time) string {
	times := a.Hours.proposals(text)
	var from time.Time
	switch {
	case len(times) > 0:
		from = times[0]
	case !t.Offered.IsZero() && (dissent.MatchString(text) || consent.MatchString(text)):
		from = t.Offered
	default:
		return "When would suit you? Name one or more times like 2026-01-05 14:00, and how many minutes."
	}
	at, ok := b.next(&a.Hours, from, t.Length, now)
	if !ok {
		return ""
	}
	t.Offered = at
	zone := a.Hours.zone()
	return fmt.Sprintf(prefixOffer+" How about %s (%s), for %d minutes? Say yes, or name other times.",
		at.In(zone).Format("2006-01-02 15:04"), zone, int(t.Length.Minutes()))
}
