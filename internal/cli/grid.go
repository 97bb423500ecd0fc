package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// grid is a list in columns for a person.
type grid struct {
	heads  []string
	rows   [][]string
	colors bool
	now    time.Time
	// clock prints times, not ages.
	clock bool
}

// The escape sequences of colors. They have no width.
const (
	colorOff = "\x1b[0m"
	faint    = "\x1b[2m"
	red      = "\x1b[31m"
	green    = "\x1b[32m"
	yellow   = "\x1b[33m"
	blue     = "\x1b[34m"
)

// stateColors are the colors of states, of tasks, agents, keys, items, webhooks and audit entries.
var stateColors = map[string]string{
	"working": blue, "submitted": blue, "delivering": blue, "open": yellow, "input-required": yellow, "auth-required": yellow, "waiting": yellow,
	"retrying": yellow, "paused": yellow, "unknown": yellow, "completed": green, "up": green, "active": green, "answered": green, "approved": green,
	"current": green, "ok": green, "failed": red, "rejected": red, "refused": red, "down": red, "no": red, "revoked": faint, "expired": faint, "canceled": faint,
	"settled": faint, "gone": faint,
}

// write writes the grid: each column is as wide as its widest cell, and the last one is not
// padded.
func (g *grid) write(w io.Writer) error {
	if len(g.heads) == 0 {
		return nil
	}
	for i, head := range g.heads {
		g.enrich(i, head)
	}
	widths := make([]int, len(g.heads))
	for _, row := range append([][]string{g.heads}, g.rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	g.line(&b, g.heads, widths, func(int, string) string { return faint })
	for _, row := range g.rows {
		g.line(&b, row, widths, g.color)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (g *grid) line(b *strings.Builder, row []string, widths []int, color func(column int, cell string) string) {
	for i, cell := range row {
		pad := ""
		if i < len(row)-1 {
			pad = strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+2)
		}
		if c := color(i, cell); c != "" && g.colors {
			cell = c + cell + colorOff
		}
		b.WriteString(cell + pad)
	}
	b.WriteString("\n")
}

// color returns the color of a cell, or "".
func (g *grid) color(column int, cell string) string {
	switch g.heads[column] {
	case "STATE", "OUTCOME":
		word, _, _ := strings.Cut(cell, " ")
		return stateColors[word]
	}
	return ""
}

// enrich makes the cells of a column printable, times relative and ids of tasks short.
func (g *grid) enrich(column int, head string) {
	for _, row := range g.rows {
		row[column] = plain(row[column])
	}
	switch head {
	case "CHANGED", "SINCE", "TIME", "ENDS", "UNTIL", "LAST", "LAST USED":
		for _, row := range g.rows {
			at, err := time.Parse(time.RFC3339, row[column])
			switch {
			case err != nil:
			case g.clock:
				row[column] = at.Local().Format(time.DateTime)
			default:
				row[column] = whenName(at, g.now)
			}
		}
	case "TASK":
		g.shorten(column)
	}
}

// shortID is the length of a shortened id: the time in a UUID of version 7.
const shortID = len("01993d8e-7a11")

// shorten cuts ids to the shortest beginning that is unique in the list.
func (g *grid) shorten(column int) {
	var ids []string
	for _, row := range g.rows {
		ids = append(ids, row[column])
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	for _, row := range g.rows {
		id := row[column]
		if !isUUID(id) {
			continue
		}
		n := shortID
		for i, ok := slices.BinarySearch(ids, id); ok && n < len(id); n++ {
			if (i == 0 || !strings.HasPrefix(ids[i-1], id[:n])) && (i == len(ids)-1 || !strings.HasPrefix(ids[i+1], id[:n])) {
				break
			}
		}
		row[column] = id[:n]
	}
}

// isUUID reports whether an id has the form of a UUID.
func isUUID(id string) bool {
	if len(id) != 36 {
		return false
	}
	for i, r := range id {
		dash := i == 8 || i == 13 || i == 18 || i == 23
		if dash != (r == '-') || !dash && !strings.ContainsRune("0123456789abcdef", r) {
			return false
		}
	}
	return true
}

// whenName formats a time relative to now: "3m04s ago", "in 2h05m", and a date beyond thirty days.
func whenName(at, now time.Time) string {
	switch d := now.Sub(at); {
	case d > 30*24*time.Hour || d < -30*24*time.Hour:
		return at.Local().Format(time.DateOnly)
	case d < 0:
		return "in " + ageName(-d)
	default:
		return fmt.Sprintf("%s ago", ageName(d))
	}
}
