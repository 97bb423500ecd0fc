package audit

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"strings"
	"time"
)

// Query selects the entries to read. Zero fields do not filter.
type Query struct {
	// After is the number of the entry after which reading begins.
	After uint64
	// Actor is the id of a principal, or an owner.
	Actor string
	// Action is an action such as "key.add", or a group of actions such as "key".
	Action string
	Task   string
	Agent  string
	// Since and Until limit the time: Since is inclusive, Until is exclusive.
	Since, Until time.Time
}

// Match reports whether q selects an entry.
func (q *Query) Match(e *Entry) bool {
	switch {
	case e.Seq <= q.After,
		q.Actor != "" && e.Actor.ID != q.Actor && e.Actor.Owner != q.Actor,
		q.Action != "" && string(e.Action) != q.Action && !strings.HasPrefix(string(e.Action), q.Action+"."),
		q.Task != "" && e.Subject.Task != q.Task,
		q.Agent != "" && e.Subject.Agent != q.Agent,
		!q.Since.IsZero() && e.At.Before(q.Since),
		!q.Until.IsZero() && !e.At.Before(q.Until):
		return false
	}
	return true
}

// Line is an entry with its line in the log.
type Line struct {
	Entry
	// Raw is the line with its newline. It is valid until the next one is read.
	Raw []byte
	// Scanned is the number of bytes read since the last match.
	Scanned int64
}

// Read yields the selected entries of the log in a folder, in order. Invalid lines are skipped;
// Verify reports them. If limit is not zero, Read yields a Line without an action after limit
// bytes without a match, to report progress. An error is the last element.
func Read(ctx context.Context, dir string, q Query, limit int64) iter.Seq2[*Line, error] {
	return func(yield func(*Line, error) bool) {
		err := read(ctx, dir, &q, limit, func(l *Line) bool { return yield(l, nil) })
		if err != nil && !errors.Is(err, errEnough) {
			yield(nil, fmt.Errorf("read audit log: %w", err))
		}
	}
}

// errEnough ends reading.
var errEnough = errors.New("enough was read")

func read(ctx context.Context, dir string, q *Query, limit int64, yield func(*Line) bool) error {
	all, err := segments(dir)
	if err != nil {
		return err
	}
	scanned := int64(0)
	for i := range all {
		if i+1 < len(all) && passes(&all[i+1], q) {
			continue
		}
		err := eachLine(all[i].path, func(line []byte) error {
			scanned += int64(len(line))
			e, err := Parse(line)
			matches := err == nil && line[len(line)-1] == '\n' && q.Match(e)
			switch {
			case ctx.Err() != nil:
				return context.Cause(ctx)
			case matches && !yield(&Line{Entry: *e, Raw: line, Scanned: scanned}):
				return errEnough
			case matches:
				scanned = 0
			case limit > 0 && scanned >= limit && err == nil:
				if !yield(&Line{Entry: Entry{Seq: e.Seq}, Scanned: scanned}) {
					return errEnough
				}
				scanned = 0
			}
			return nil
		})
		if err != nil && !missing(err) { // the segment may have been removed meanwhile
			return err
		}
	}
	return nil
}

// passes reports whether q selects nothing before a segment.
func passes(next *segment, q *Query) bool {
	if next.first <= q.After+1 {
		return true
	}
	if q.Since.IsZero() {
		return false
	}
	e, err := firstEntry(next.path)
	return err == nil && e.At.Before(q.Since)
}

// eachLine calls f with each line of a file, including its newline if there is one. A line that
// is too long is passed in pieces. The line is valid until f returns.
func eachLine(path string, f func(line []byte) error) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	return lines(file, f)
}

func lines(from io.Reader, f func(line []byte) error) error {
	r := bufio.NewReaderSize(from, maxLine)
	for {
		line, err := r.ReadSlice('\n')
		if len(line) > 0 {
			if err := f(line); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			return err
		}
	}
}
