package trust

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"
)

// fileEntry is the form of an entry in a file. Names of members are read in any case.
type fileEntry struct {
	AgentID          *string         `json:"agentId"`
	Level            json.RawMessage `json:"level"`
	ApprovedSkills   []string        `json:"approvedSkills"`
	FirstSeen        json.RawMessage `json:"firstSeen"`
	LastInteraction  json.RawMessage `json:"lastInteraction"`
	InteractionCount json.RawMessage `json:"interactionCount"`
}

// ParseFile parses a trust file. An entry without an agentId is skipped. An entry with an
// unknown level or other errors counts as Observe without skills; problems lists these errors.
// If the text is not a JSON list, err is set, and the caller should keep the entries read
// before. Of two entries with the same agentId, the one with less trust counts.
func ParseFile(src []byte) (entries []Entry, problems []error, err error) {
	src = bytes.TrimPrefix(src, []byte("\xef\xbb\xbf"))
	var rows []json.RawMessage
	err = json.Unmarshal(src, &rows)
	if wrong := new(json.UnmarshalTypeError); errors.As(err, &wrong) {
		return nil, nil, fmt.Errorf("the file is not a JSON list of entries, but a %s", wrong.Value)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("the file is not a JSON list of entries: %w", err)
	}
	at := make(map[Subject]int)
	for i, row := range rows {
		e, problem := parseEntry(row)
		if problem != nil {
			problems = append(problems, fmt.Errorf("entry %d: %w", i+1, problem))
		}
		if e.Subject == "" {
			continue
		}
		first, twice := at[e.Subject]
		switch {
		case !twice:
			at[e.Subject] = len(entries)
			entries = append(entries, e)
		default:
			problems = append(problems, fmt.Errorf("entry %d: %.80q has an entry already; the lower level applies", i+1, e.Subject))
			if e.Level < entries[first].Level {
				entries[first] = e
			}
		}
	}
	return entries, problems, nil
}

// parseEntry parses an entry. An entry without a Subject is to be skipped.
func parseEntry(row json.RawMessage) (Entry, error) {
	var f fileEntry
	if err := json.Unmarshal(row, &f); err != nil {
		return leastOf(row), fmt.Errorf("not an entry: %w; kept at observe", err)
	}
	if f.AgentID == nil || *f.AgentID == "" {
		return Entry{}, fmt.Errorf("agentId is missing; the entry is left out")
	}
	e := least(Subject(*f.AgentID))
	if e.Subject == "" {
		return e, fmt.Errorf("agentId %.80q has more than %d bytes; the entry is left out", *f.AgentID, maxSubject)
	}
	level, err := parseLevel(f.Level)
	if err != nil {
		return e, fmt.Errorf("agentId %.80q: %w; kept at observe", e.Subject, err)
	}
	e.Level, e.Skills = level, skillsOf(f.ApprovedSkills)
	if err := e.Check(); err != nil {
		return least(e.Subject), fmt.Errorf("agentId %.80q: %w; kept at observe", e.Subject, err)
	}
	e.FirstSeen, e.LastSeen = parseTime(f.FirstSeen), parseTime(f.LastInteraction)
	_ = json.Unmarshal(f.InteractionCount, &e.Contacts) // an invalid count is 0
	e.Contacts = max(e.Contacts, 0)
	return e, nil
}

// leastOf returns an entry at Observe for the agentId of an unreadable row.
func leastOf(row json.RawMessage) Entry {
	var f struct{ AgentID any }
	_ = json.Unmarshal(row, &f)
	subject, _ := f.AgentID.(string)
	return least(Subject(subject))
}

// least returns an entry at Observe without skills. Its Subject is empty if that is too long.
func least(subject Subject) Entry {
	if len(subject) > maxSubject {
		subject = ""
	}
	return Entry{Subject: subject, Level: Observe, Skills: []string{}}
}

// parseLevel parses a level that is a name or a number; a missing one is Observe.
func parseLevel(raw json.RawMessage) (Level, error) {
	var v any
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &v); err != nil {
			return 0, err
		}
	}
	switch v := v.(type) {
	case nil:
		return Observe, nil
	case string:
		return ParseLevel(v)
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1e9 {
			return ParseLevel(strconv.Itoa(int(v)))
		}
	}
	return ParseLevel(string(raw))
}

// parseTime parses a time of RFC 3339, with or without a zone; anything else is the zero time.
func parseTime(raw json.RawMessage) time.Time {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return time.Time{}
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999"} {
		if at, err := time.Parse(layout, text); err == nil && at.Year() > 1970 {
			return time.UnixMilli(at.UnixMilli()).UTC()
		}
	}
	return time.Time{}
}

// FormatFile formats entries as a trust file. Levels are written as numbers, because other
// readers of these files do not know their names.
func FormatFile(entries []Entry) ([]byte, error) {
	rows := make([]numbered, len(entries))
	for i := range entries {
		rows[i] = numbered{&entries[i], int(entries[i].Level)}
	}
	b, err := json.MarshalIndent(rows, "", "  ")
	return append(b, '\n'), err
}

// numbered is an entry with its level as a number.
type numbered struct {
	*Entry

	Level int `json:"level"`
}
