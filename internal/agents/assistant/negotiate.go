package assistant

import (
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
func (d *Desk) negotiate(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
	v := visitorOf(ctx, ec)
	talk := ec.ContextID
	if talk == "" {
		talk = string(ec.TaskID)
	}
	var o outcome
	said, err := d.said(ctx, v)
	if err == nil {
		err = d.change(ctx, func(b *diary) {
			key := fmt.Sprintf("%q %q", v.owner, talk)
			d.remember(b, key, said)
			o = d.turn(b, v, key, agent.Text(ec.Message))
		})
	}
	if err == nil && o.meeting != nil {
		err = d.tell(ctx, v, fmt.Sprintf("A meeting with %s: %s.", o.meeting.With, d.span(o.meeting)), messageTime)
	}
	switch {
	case err != nil:
		yield(nil, err)
	case o.meeting != nil:
		v.conclude(yield, sayAgreed+d.span(o.meeting)+".", map[string]any{
			"agreed": true, "start": o.meeting.Start.Format(time.RFC3339), "end": o.meeting.End.Format(time.RFC3339),
		})
	case o.ask != "":
		v.say(yield, a2a.TaskStateInputRequired, o.ask)
	default:
		v.conclude(yield, sayNone, map[string]any{"agreed": false})
	}
}

// span returns the time of a meeting in words.
func (d *Desk) span(m *meeting) string {
	zone := d.Hours.zone()
	return fmt.Sprintf("%s to %s (%s)", m.Start.In(zone).Format("2006-01-02 15:04"), m.End.In(zone).Format("15:04"), zone)
}

// turn applies a message to the diary. A repeated message gets the same answer.
func (d *Desk) turn(b *diary, v *visitor, key, text string) outcome {
	if m, ok := b.made(v.key); ok {
		return outcome{meeting: &m}
	}
	t := b.take(key)
	if t.Said == v.key {
		b.Talks = append(b.Talks, t)
		return outcome{ask: t.Reply}
	}
	t.Rounds++
	t.Said = v.key
	if length := lengthOf(text); length > 0 {
		t.Length = length
	}
	now := time.Now()
	if start, ok := d.agrees(b, &t, text, now); ok {
		m := meeting{Start: start, End: start.Add(t.Length), With: v.name, Key: v.key}
		b.Meetings = append(b.Meetings, m)
		return outcome{meeting: &m}
	}
	if t.Reply = d.question(b, &t, text, now); t.Rounds >= maxRounds || t.Reply == "" {
		return outcome{}
	}
	b.Talks = append(b.Talks, t)
	return outcome{ask: t.Reply}
}

// agrees returns a time that suits both sides.
func (d *Desk) agrees(b *diary, t *talk, text string, now time.Time) (time.Time, bool) {
	times := d.Hours.proposals(text)
	if len(times) == 0 && consent.MatchString(text) && !t.Offered.IsZero() {
		times = []time.Time{t.Offered}
	}
	for _, at := range times {
		if b.free(&d.Hours, at, t.Length, now) {
			return at, true
		}
	}
	return time.Time{}, false
}

// question returns the next question, with an offered time if the message was about times. It
// is empty if no time is free.
func (d *Desk) question(b *diary, t *talk, text string, now time.Time) string {
	times := d.Hours.proposals(text)
	var from time.Time
	switch {
	case len(times) > 0:
		from = times[0]
	case !t.Offered.IsZero() && (dissent.MatchString(text) || consent.MatchString(text)):
		from = t.Offered
	default:
		return "When would suit you? Name one or more times like 2026-01-05 14:00, and how many minutes."
	}
	at, ok := b.next(&d.Hours, from, t.Length, now)
	if !ok {
		return ""
	}
	t.Offered = at
	zone := d.Hours.zone()
	return fmt.Sprintf(sayOffer+" How about %s (%s), for %d minutes? Say yes, or name other times.",
		at.In(zone).Format("2006-01-02 15:04"), zone, int(t.Length.Minutes()))
}
