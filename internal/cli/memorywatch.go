package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/parley-a2a/parley/client"
	"github.com/parley-a2a/parley/internal/adminapi"
)

// memoryWatchCmd prints notes as they are set.
type memoryWatchCmd struct {
	hubFlags
	Prefix   string `arg:"" optional:"" help:"How keys begin." placeholder:"PREFIX"`
	Category string `help:"How categories begin." placeholder:"TEXT"`
	Limit    int    `help:"End after so many notes; without it, watch until Ctrl-C." placeholder:"N"`
	JSON     bool   `name:"json" help:"Print the notes as JSON, one a line."`
}

// Help shows examples.
func (memoryWatchCmd) Help() string {
	return `Prints the notes that are there and then each that is set: a line with four columns separated by tabs, which ` +
		`are those of "parley memory list". Callers see the notes of their own. Results of tasks whose session is gone ` +
		`come below primary/notifications/.

Examples:

    parley memory watch primary/notifications/
    parley memory watch session/s1/a2a/ --category a2a-result --limit 1 --json`
}

// Run prints the notes until it is interrupted.
func (c *memoryWatchCmd) Run(ctx context.Context, o *OS) error {
	if err := checkLength(c.Prefix); err != nil {
		return err
	}
	if c.Limit < 0 {
		return usagef("--limit is a number from 1")
	}
	return o.interruptible(ctx, func(in interrupts) error {
		q := url.Values{"prefix": {c.Prefix}, "category": {c.Category}}
		resp, err := c.events(in.soft, "/memory/events?"+q.Encode())
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			body, err := io.ReadAll(io.LimitReader(resp.Body, maxEvent))
			if err != nil {
				return c.unreachable(in.soft, err)
			}
			return c.refusal(resp, body)
		}
		return c.show(in.soft, o.Stdout, resp.Body)
	})
}

// show prints the notes of a stream.
func (c *memoryWatchCmd) show(ctx context.Context, out io.Writer, stream io.Reader) error {
	lines := bufio.NewScanner(stream)
	lines.Buffer(nil, maxEvent)
	for printed := 0; lines.Scan(); {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		var n adminapi.Note
		if !ok || json.Unmarshal([]byte(data), &n) != nil || n.Key == "" {
			continue
		}
		if err := c.print(out, &n); err != nil {
			return err
		}
		if printed++; printed == c.Limit {
			return nil
		}
	}
	if ctx.Err() != nil {
		return nil // that is how watching ends
	}
	return fmt.Errorf("%s %w: it tells no more of notes", c.URL, client.ErrUnreachable)
}

// print prints a note on a line.
func (c *memoryWatchCmd) print(out io.Writer, n *adminapi.Note) error {
	if c.JSON {
		return json.NewEncoder(out).Encode(n)
	}
	_, err := fmt.Fprintf(out, "%s\t%s\t%s\t%s\n", plain(n.Key), plain(n.Category), n.ExpiresAt.Format(time.RFC3339), plain(n.Preview))
	return err
}
