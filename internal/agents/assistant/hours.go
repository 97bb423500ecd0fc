package assistant

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Hours are the hours in which the owner accepts meetings, Monday to Friday.
type Hours struct {
	// From and To are durations since midnight; nine and seventeen hours if both are zero.
	From, To time.Duration
	// Zone is the time zone; UTC if nil.
	Zone *time.Location
}

// ParseHours parses text like 09:00-17:30.
func ParseHours(text string) (from, to time.Duration, err error) {
	a, b, _ := strings.Cut(text, "-")
	for _, part := range []struct {
		text string
		into *time.Duration
	}{{a, &from}, {b, &to}} {
		at, err := time.Parse("15:04", strings.TrimSpace(part.text))
		if err != nil {
			return 0, 0, fmt.Errorf("%.40q is not a time range like 09:00-17:00", text)
		}
		*part.into = time.Duration(at.Hour())*time.Hour + time.Duration(at.Minute())*time.Minute
	}
	if from >= to {
		return 0, 0, fmt.Errorf("%.40q is not a time range like 09:00-17:00: the end is before the start", text)
	}
	return from, to, nil
}

func (h *Hours) zone() *time.Location { return cmp.Or(h.Zone, time.UTC) }

// day returns the begin and the end of the hours on the day of at; both are zero on weekends.
func (h *Hours) day(at time.Time) (from, to time.Time) {
	at = at.In(h.zone())
	if at.Weekday() == time.Saturday || at.Weekday() == time.Sunday {
		return from, to
	}
	begin, end := h.From, h.To
	if begin == 0 && end == 0 {
		begin, end = 9*time.Hour, 17*time.Hour
	}
	clock := func(d time.Duration) time.Time {
		return time.Date(at.Year(), at.Month(), at.Day(), 0, int(d.Minutes()), 0, 0, h.zone())
	}
	return clock(begin), clock(end)
}

// takes reports whether a meeting is within the hours.
func (h *Hours) takes(start time.Time, length time.Duration) bool {
	from, to := h.day(start)
	return !from.IsZero() && !start.Before(from) && !start.Add(length).After(to)
}

const (
	lengthDefault = 30 * time.Minute
	lengthLeast   = 5 * time.Minute
	lengthMost    = 8 * time.Hour
	// maxProposals is the largest number of times that are read from one message.
	maxProposals = 20
)

var (
	moment   = regexp.MustCompile(`\b\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(?::\d{2})?(?:Z|[+-]\d{2}:\d{2})?`)
	duration = regexp.MustCompile(`(?i)\b(\d{1,3})\s*(minutes?|mins?|hours?|h)\b`)
	consent  = regexp.MustCompile(`(?i)^\W*(yes|yep|ok|okay|agreed|sure|fine|perfect|that works)\b`)
	dissent  = regexp.MustCompile(`(?i)^\W*(no|nope|sorry|can't|cannot|not)\b`)
)

func (h *Hours) proposals(text string) []time.Time {
	var all []time.Time
	for _, m := range moment.FindAllString(text, maxProposals) {
		m = strings.Replace(m, " ", "T", 1)
		for _, layout := range []string{time.RFC3339, "2006-01-02T15:04Z07:00", "2006-01-02T15:04:05", "2006-01-02T15:04"} {
			if at, err := time.ParseInLocation(layout, m, h.zone()); err == nil {
				all = append(all, at)
				break
			}
		}
	}
	return all
}

// lengthOf returns the length of a meeting in a text; zero if it names none.
func lengthOf(text string) time.Duration {
	m := duration.FindStringSubmatch(text)
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(m[1])
	d := time.Duration(n) * time.Minute
	if strings.HasPrefix(strings.ToLower(m[2]), "h") {
		d = time.Duration(n) * time.Hour
	}
	return min(max(d, lengthLeast), lengthMost)
}
