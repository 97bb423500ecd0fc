package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/url"
	"time"

	"github.com/parley-a2a/parley/internal/adminjson"
	"github.com/parley-a2a/parley/internal/sse"
)

type memoryWatchCmd struct {
	hubFlags
	Prefix   string `arg:"" optional:"" help:"A prefix of the keys." placeholder:"PREFIX"`
	Category string `help:"A prefix of the categories." placeholder:"TEXT"`
	Limit    int    `help:"Stop after this many notes; without it, watch until Ctrl-C." placeholder:"N"`
	format
}

// Run prints the notes until it is interrupted.
func (c *memoryWatchCmd) Run(in interrupts, o *OS) error {
	if err := checkLength(c.Prefix); err != nil {
		return err
	}
	if c.Limit < 0 {
		return usagef("--limit must be at least 1")
	}
	w := &noteWatch{cmd: c, out: o.Stdout, notices: o.Stderr, seen: make(map[string]noteSeen)}
	err := w.follow(in.soft)
	if in.soft.Err() != nil {
		return nil // an interruption is the usual end
	}
	return err
}

type noteWatch struct {
	cmd *memoryWatchCmd
	out io.Writer
	// notices receives a message when the hub becomes unreachable, and when it is reachable again.
	notices io.Writer
	// retry is the first pause before a broken stream is resumed; zero means treeRetry.
	retry   time.Duration
	printed int
	// seen holds the printed notes, so that none is printed twice when a stream is resumed.
	// Expired notes are removed when seen has more than twice kept entries.
	seen map[string]noteSeen
	kept int
}

type noteSeen struct{ updated, expires time.Time }

// leastKept is the minimum number of notes that are kept before expired ones are removed.
const leastKept = 1000

// follow prints notes until their number is reached, or until ctx ends.
func (w *noteWatch) follow(ctx context.Context) error {
	q := url.Values{"prefix": {w.cmd.Prefix}, "category": {w.cmd.Category}}
	f := &follower{
		hub: &w.cmd.hubFlags, kind: "notes", show: w.show, notices: w.notices, retry: w.retry,
		path: func() string { return "/memory/events?" + q.Encode() },
	}
	return f.run(ctx)
}

// show prints the notes of a stream. It reports whether the requested number is reached.
func (w *noteWatch) show(stream io.Reader) (over bool, err error) {
	reader := sse.NewReader(stream, maxEvent, nil)
	for {
		e, err := reader.Next()
		if err != nil {
			return false, nil // the stream is resumed
		}
		var n adminjson.Note
		if json.Unmarshal(e.Data, &n) != nil || n.Key == "" || !w.fresh(&n) {
			continue
		}
		if err := w.cmd.print(w.out, &n); err != nil {
			return true, err
		}
		if w.printed++; w.printed == w.cmd.Limit {
			return true, nil
		}
	}
}

// fresh reports whether a note was not printed before, and records it as printed.
func (w *noteWatch) fresh(n *adminjson.Note) bool {
	if s, ok := w.seen[n.Key]; ok && !n.UpdatedAt.After(s.updated) {
		return false
	}
	if len(w.seen) > 2*max(w.kept, leastKept) {
		now := time.Now()
		maps.DeleteFunc(w.seen, func(_ string, s noteSeen) bool { return s.expires.Before(now) })
		w.kept = len(w.seen)
	}
	w.seen[n.Key] = noteSeen{n.UpdatedAt, n.ExpiresAt}
	return true
}

// print prints a note on one line.
func (c *memoryWatchCmd) print(out io.Writer, n *adminjson.Note) error {
	if c.data() {
		return c.encode(out, n)
	}
	_, err := fmt.Fprintf(out, "%s\t%s\t%s\t%s\n", plain(n.Key), plain(n.Category), n.ExpiresAt.Format(time.RFC3339), plain(n.Preview))
	return err
}
