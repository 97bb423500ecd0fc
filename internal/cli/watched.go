package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"time"

	"github.com/parley-a2a/parley/client"
	"github.com/parley-a2a/parley/internal/backoff"
)

// watched is the flag of a list that a hub reports changes of.
type watched struct {
	Watch bool `short:"w" help:"Keep the list up to date until Ctrl-C: in place on a terminal; otherwise new and changed rows follow."`
}

// news is a stream of a hub with an event for each change of a list.
type news struct {
	hub *hubFlags
	// path is that of the stream, below /api/v1.
	path string
	// late means that the stream has the events after its first id, not all since the response began.
	late bool
}

// betweenLists is the least time between two requests for a list that is kept up to date, so that a busy hub is not
// asked after each event.
const betweenLists = 100 * time.Millisecond

// keep prints a list now, and after each change until ctx ends.
func (t *table[P]) keep(ctx context.Context, o *OS, n news, all iter.Seq2[P, error]) error {
	t.clock = true
	shown := &shownList[P]{table: t}
	f := &follower{hub: n.hub, kind: "changes", path: func() string { return n.path }, notices: o.Stderr}
	f.show = func(stream io.Reader) (over bool, err error) {
		events := bufio.NewReaderSize(stream, 64<<10)
		if n.late && !arrived(events, "id:") {
			return false, nil
		}
		for {
			err := shown.print(o, all)
			if errors.Is(err, client.ErrUnreachable) {
				return false, nil // the stream is opened again
			}
			if err != nil || backoff.Sleep(ctx, betweenLists) != nil || !arrived(events, "data:") {
				return false, err
			}
		}
	}
	err := f.run(ctx)
	if ctx.Err() != nil {
		return nil // an interruption is the usual end
	}
	return err
}

// arrived waits for a line with a prefix, and reads the lines that have arrived with it. It reports whether there was such a line.
func arrived(events *bufio.Reader, prefix string) bool {
	for found := false; !found || events.Buffered() > 0; {
		line, _, err := events.ReadLine()
		if err != nil {
			return false
		}
		found = found || bytes.HasPrefix(line, []byte(prefix))
	}
	return true
}

// shownList is a list that is printed again and again.
type shownList[P any] struct {
	*table[P]
	// lines is the number of lines above the cursor, and last has the rows of the last list.
	lines int
	last  map[string]bool
}

func (s *shownList[P]) print(o *OS, all iter.Seq2[P, error]) error {
	if o.Terminal && !s.data() {
		return s.redraw(o, all)
	}
	rows := make(map[string]bool)
	for v, err := range all {
		var row bytes.Buffer
		if err == nil {
			err = s.write(o, &row, v)
		}
		if err == nil && !s.last[row.String()] {
			_, err = o.Stdout.Write(row.Bytes())
		}
		if err != nil {
			return err
		}
		rows[row.String()] = true
	}
	s.last = rows
	return nil
}

// redraw draws the list over the previous one. The terminal cuts long rows, so that each is one line.
func (s *shownList[P]) redraw(o *OS, all iter.Seq2[P, error]) error {
	var b bytes.Buffer
	page := *o
	page.Stdout = &b
	if err := s.table.print(&page, all); err != nil {
		return err
	}
	text := b.String()
	if !o.Colors || s.wide() {
		text = printable(text)
	}
	text = o.fit(text, "")
	up := ""
	if s.lines > 0 {
		up = fmt.Sprintf("\x1b[%dA\x1b[J", s.lines)
	}
	s.lines = strings.Count(text, "\n")
	_, err := io.WriteString(o.drawing(), up+"\x1b[?7l"+text+"\x1b[?7h")
	return err
}
