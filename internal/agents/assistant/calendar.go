package assistant

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// calendarNote is the name of the note with the calendar.
const calendarNote = "front desk"

const (
	maxNegotiations = 200
	maxMeetings     = 500
	// lookAhead is the period in which meetings are possible.
	lookAhead = 60 * 24 * time.Hour
	// grid is the granularity of offered times.
	grid = 15 * time.Minute
)

// calendar holds the agreed meetings and the open negotiations.
type calendar struct {
	Meetings []meeting `json:"meetings"`
	// Negotiations has the newest at the end.
	Negotiations []negotiation `json:"negotiations"`
	// Talks is the former name of Negotiations.
	Talks []negotiation `json:"talks,omitempty"`
}

// meeting is an agreed meeting.
type meeting struct {
	Start time.Time `json:"start"`
	End   time.Time `json:"end"`
	With  string    `json:"with"`
	// Key is the key of the message that created it.
	Key string `json:"key"`
}

// negotiation is a negotiation.
type negotiation struct {
	// Key identifies the owner and the context.
	Key     string        `json:"key"`
	Length  time.Duration `json:"length"`
	Offered time.Time     `json:"offered,omitzero"`
	// Rounds counts the messages. Message is the key of the last one, and Reply the answer to it,
	// in case it is executed again.
	Rounds  int    `json:"rounds"`
	Message string `json:"said"`
	Reply   string `json:"reply"`
}

// change reads the calendar, lets f change it, and stores it.
func (a *Assistant) change(ctx context.Context, f func(*calendar)) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	var cal calendar
	note, err := a.Notes.Note(ctx, calendarNote)
	if err == nil && note != nil {
		err = json.Unmarshal(note, &cal)
	}
	if err != nil {
		return fmt.Errorf("calendar of the assistant: %w", err)
	}
	cal.Negotiations, cal.Talks = append(cal.Talks, cal.Negotiations...), nil
	f(&cal)
	cal.forget(time.Now())
	if note, err = json.Marshal(&cal); err != nil {
		return fmt.Errorf("calendar of the assistant: %w", err)
	}
	return a.Notes.PutNote(ctx, calendarNote, note)
}

// forget removes meetings that ended a day ago, and the oldest negotiations above the limit.
func (c *calendar) forget(now time.Time) {
	c.Meetings = slices.DeleteFunc(c.Meetings, func(m meeting) bool { return m.End.Before(now.Add(-24 * time.Hour)) })
	c.Negotiations = c.Negotiations[max(0, len(c.Negotiations)-maxNegotiations):]
}

// take removes and returns the negotiation with a key; it returns a new one if there is none.
func (c *calendar) take(key string) negotiation {
	i := slices.IndexFunc(c.Negotiations, func(t negotiation) bool { return t.Key == key })
	if i < 0 {
		return negotiation{Key: key, Length: lengthDefault}
	}
	t := c.Negotiations[i]
	c.Negotiations = slices.Delete(c.Negotiations, i, i+1)
	return t
}

// made returns the meeting that a message has created.
func (c *calendar) made(key string) (meeting, bool) {
	i := slices.IndexFunc(c.Meetings, func(m meeting) bool { return m.Key == key })
	if i < 0 {
		return meeting{}, false
	}
	return c.Meetings[i], true
}

// free reports whether a meeting is possible: in the future, within the hours, and without
// overlap.
func (c *calendar) free(h *Hours, start time.Time, length time.Duration, now time.Time) bool {
	if len(c.Meetings) >= maxMeetings || start.Before(now) || start.After(now.Add(lookAhead)) || !h.takes(start, length) {
		return false
	}
	end := start.Add(length)
	return !slices.ContainsFunc(c.Meetings, func(m meeting) bool { return start.Before(m.End) && m.Start.Before(end) })
}

// next returns the first free time after from.
func (c *calendar) next(h *Hours, from time.Time, length time.Duration, now time.Time) (time.Time, bool) {
	if from.Before(now) {
		from = now
	}
	for at := from.Truncate(grid).Add(grid); at.Before(now.Add(lookAhead)); at = at.Add(grid) {
		if c.free(h, at, length, now) {
			return at, true
		}
	}
	return time.Time{}, false
}
