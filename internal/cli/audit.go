package cli

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/parley-a2a/parley/internal/audit"
	"github.com/parley-a2a/parley/internal/config"
	"github.com/parley-a2a/parley/internal/server"
)

type auditCmd struct {
	Verify auditVerifyCmd `cmd:"" help:"Verify that the audit log is unchanged."`
	List   auditListCmd   `cmd:"" help:"List the entries of the audit log."`
	Export auditExportCmd `cmd:"" help:"Write the audit log to a file or to standard output."`
}

// auditFlags select the log.
type auditFlags struct {
	Data string `help:"The data folder, whether its hub runs or not (./parley-data; $$PARLEY_DATA)." from:"PARLEY_DATA" placeholder:"DIR"`
}

// folder returns the folder of the log.
func (f *auditFlags) folder() (string, error) {
	data := cmp.Or(f.Data, defaultData)
	place, err := server.AuditFolder(data)
	if err != nil {
		return "", err
	}
	if place == "" {
		return "", fmt.Errorf("the hub of %s keeps no audit log: audit.level is off", data)
	}
	if _, err := os.Stat(place); errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("there is no audit log in %s", data)
	}
	return place, nil
}

func counted(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return strconv.Itoa(n) + " " + word + "s"
}

func entriesText(n uint64) string {
	if n == 1 {
		return "1 entry"
	}
	return strconv.FormatUint(n, 10) + " entries"
}

// auditFilter selects entries by time.
type auditFilter struct {
	Since string `help:"From this time on: 2026-11-22T12:00:00Z, 2026-11-22, or how long ago, such as 24h." placeholder:"TIME"`
	Until string `help:"Before this time." placeholder:"TIME"`
}

func (f *auditFilter) query(now time.Time) (q audit.Query, err error) {
	if q.Since, err = moments(f.Since, now); err != nil {
		return q, usagef("--since %w", err)
	}
	if q.Until, err = moments(f.Until, now); err != nil {
		return q, usagef("--until %w", err)
	}
	return q, nil
}

// moments parses a time, or a duration before now.
func moments(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, form := range []string{time.RFC3339, time.DateOnly} {
		if at, err := time.Parse(form, text); err == nil {
			return at, nil
		}
	}
	if ago, err := config.ParseDuration(text); err == nil {
		return now.Add(-ago), nil
	}
	return time.Time{}, fmt.Errorf("%q is not a time like 2026-11-22T12:00:00Z, 2026-11-22 or 24h", text)
}

type auditListCmd struct {
	auditSource
	auditFilter
	Actor  string `help:"Only entries by this principal, or by the principals of this owner." placeholder:"ID"`
	Action string `help:"An action such as key.add, or all of a kind, such as key." placeholder:"NAME"`
	Task   string `help:"Only entries about a task." placeholder:"ID"`
	Agent  string `help:"Only entries about an agent or its tasks." placeholder:"NAME"`
	Limit  int    `help:"Only the last ones, up to this number; 0 means all." default:"50" placeholder:"N"`
	format
}

func (c *auditListCmd) Run(in interrupts, o *OS) error {
	q, err := c.query(time.Now())
	if err != nil {
		return err
	}
	if c.Limit < 0 {
		return usagef("--limit must be at least 0, not %d", c.Limit)
	}
	q.Actor, q.Action, q.Task, q.Agent = c.Actor, c.Action, c.Task, c.Agent
	t := &table[*audit.Line]{heads: "ENTRY\tTIME\tACTOR\tACTION\tSUBJECT\tOUTCOME\tFROM", format: c.format, raw: func(e *audit.Line) []byte { return e.Raw }, row: auditRow}
	if c.remote(o) {
		return t.print(o, last(c.Limit, c.entries(in.soft, &q)))
	}
	dir, err := c.folder()
	if err != nil {
		return err
	}
	return t.print(o, last(c.Limit, func(yield func(*audit.Line, error) bool) {
		for line, err := range audit.Read(in.soft, dir, q, 0) {
			if err == nil {
				line.Raw = bytes.Clone(line.Raw) // the next read overwrites it
			}
			if !yield(line, err) {
				return
			}
		}
	}))
}

func auditRow(e *audit.Line) []any {
	outcome := string(e.Outcome)
	if e.Reason != "" {
		outcome += " (" + e.Reason + ")"
	}
	return []any{
		e.Seq, e.At.Format(time.RFC3339), dash(plain(e.Actor.ID)), plain(string(e.Action)), dash(plain(subjectText(&e.Subject))),
		plain(outcome), dash(plain(e.Actor.From)),
	}
}

// subjectText returns a subject on one line.
func subjectText(s *audit.Subject) string {
	words := []string{strings.TrimSpace(s.Kind + " " + s.ID)}
	if s.Task != "" && s.Task != s.ID {
		words = append(words, s.Task)
	}
	if s.Agent != "" && s.Agent != s.ID {
		words = append(words, "of "+s.Agent)
	}
	return strings.TrimSpace(strings.Join(words, " "))
}
