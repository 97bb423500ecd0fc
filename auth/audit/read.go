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

// Query says which entries are read. Zero fields do not filter.
type Query struct {
	// After is the number of the entry after which reading begins.
	After uint64
	// Actor is the id of a principal, or an owner.
	Actor string
	// Action is an action such as "key.add", or all of a kind, such as "key".
	Action string
	Task   string
	Agent  string
	// Since and Until bound the time: from Since on, and before Until.
	Since, Until time.Time
}

// Match reports whether an entry is one of those that q asks for.
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

// Line is an entry with the line that it stands in.
type Line struct {
	Entry
	// Raw is the line with its newline. It is good until the next one is read.
	Raw []byte
	// Scanned is how many bytes were read to come here, from the last match on.
	Scanned int64
}

// Read returns the entries that q asks for from the log in a folder, in their order. Lines
// that are not entries are passed over: Verify tells of them. If limit is not zero, a
// Line without an action is returned after so many bytes without a match, to show how
// far reading has come.
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
		if err != nil && !missing(err) { // a segment may have been removed by now
			return err
		}
	}
	return nil
}

// passes reports whether nothing before a segment is asked for.
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

// eachLine calls f with each line of a file, with its newline if it has one. A line that is
// too long comes in pieces. The line is good until f returns.
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
