package assistant

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// diaryName is the name of the note with the diary.
const diaryName = "front desk"

const (
	maxTalks    = 200
	maxMeetings = 500
	// lookAhead is the period in which meetings are possible.
	lookAhead = 60 * 24 * time.Hour
	// grid is the granularity of offered times.
	grid = 15 * time.Minute
)

// diary holds the agreed meetings and the open negotiations.
type diary struct {
	Meetings []meeting `json:"meetings"`
	// Talks has the newest at the end.
	Talks []talk `json:"talks"`
}

// meeting is an agreed meeting.
type meeting struct {
	Start time.Time `json:"start"`
	End   time.Time `json:"end"`
	With  string    `json:"with"`
	// Key is the key of the message that created it.
	Key string `json:"key"`
}

// talk is a negotiation.
type talk struct {
	// Key identifies the owner and the context.
	Key     string        `json:"key"`
	Length  time.Duration `json:"length"`
	Offered time.Time     `json:"offered,omitzero"`
	// Rounds counts the messages. Said is the key of the last one, and Reply the answer to it,
	// in case it is executed again.
	Rounds int    `json:"rounds"`
	Said   string `json:"said"`
	Reply  string `json:"reply"`
}

// change reads the diary, lets f change it, and stores it.
func (d *Desk) change(ctx context.Context, f func(*diary)) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	var book diary
	note, err := d.Notes.Note(ctx, diaryName)
	if err == nil && note != nil {
		err = json.Unmarshal(note, &book)
	}
	if err != nil {
		return fmt.Errorf("diary of the front desk: %w", err)
	}
	f(&book)
	book.forget(time.Now())
	if note, err = json.Marshal(&book); err != nil {
		return fmt.Errorf("diary of the front desk: %w", err)
	}
	return d.Notes.PutNote(ctx, diaryName, note)
}

// forget removes meetings that ended a day ago, and the oldest negotiations above the limit.
func (b *diary) forget(now time.Time) {
	b.Meetings = slices.DeleteFunc(b.Meetings, func(m meeting) bool { return m.End.Before(now.Add(-24 * time.Hour)) })
	b.Talks = b.Talks[max(0, len(b.Talks)-maxTalks):]
}

// take removes and returns the talk with a key; it returns a new one if there is none.
func (b *diary) take(key string) talk {
	i := slices.IndexFunc(b.Talks, func(t talk) bool { return t.Key == key })
	if i < 0 {
		return talk{Key: key, Length: lengthDefault}
	}
	t := b.Talks[i]
	b.Talks = slices.Delete(b.Talks, i, i+1)
	return t
}

// made returns the meeting that a message has created.
func (b *diary) made(key string) (meeting, bool) {
	i := slices.IndexFunc(b.Meetings, func(m meeting) bool { return m.Key == key })
	if i < 0 {
		return meeting{}, false
	}
	return b.Meetings[i], true
}

// free reports whether a meeting is possible: in the future, within the hours, and without
// overlap.
func (b *diary) free(h *Hours, start time.Time, length time.Duration, now time.Time) bool {
	if len(b.Meetings) >= maxMeetings || start.Before(now) || start.After(now.Add(lookAhead)) || !h.takes(start, length) {
		return false
	}
	end := start.Add(length)
	return !slices.ContainsFunc(b.Meetings, func(m meeting) bool { return start.Before(m.End) && m.Start.Before(end) })
}

// next returns the first free time after from.
func (b *diary) next(h *Hours, from time.Time, length time.Duration, now time.Time) (time.Time, bool) {
	if from.Before(now) {
		from = now
	}
	for at := from.Truncate(grid).Add(grid); at.Before(now.Add(lookAhead)); at = at.Add(grid) {
		if b.free(h, at, length, now) {
			return at, true
		}
	}
	return time.Time{}, false
}
