package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/parley-a2a/parley/client"
	"github.com/parley-a2a/parley/internal/backoff"
)

// follower reads a stream of events of a hub, and opens it again when it breaks.
type follower struct {
	hub *hubFlags
	// kind names the events in notices, such as "notes".
	kind string
	// path returns the path of the next stream below /api/v1.
	path func() string
	// show prints a stream until it ends. It reports whether there is nothing more to read.
	show func(stream io.Reader) (over bool, err error)
	// notices receives a line when the hub becomes unreachable, and when it is reachable again.
	notices io.Writer
	// retry is the first pause before a broken stream is opened again; zero means treeRetry.
	retry time.Duration
}

// run reads until show reports the end or ctx ends. Only the first stream must open at once.
func (f *follower) run(ctx context.Context) error {
	for pause, away := f.pause(), false; ; pause = min(2*pause, treeRetryMost) {
		resp, err := f.open(ctx)
		switch {
		case err == nil:
			if away {
				fmt.Fprintf(f.notices, "parley: %s reports %s again\n", f.hub.URL, f.kind)
			}
			pause, away = f.pause(), false
			over, err := f.show(resp.Body)
			resp.Body.Close()
			if over || err != nil || ctx.Err() != nil {
				return err
			}
		case !away || !passing(err):
			return err
		}
		if !away {
			fmt.Fprintf(f.notices, "parley: %s reports no more %s; waiting for it\n", f.hub.URL, f.kind)
			away = true
		}
		if backoff.Sleep(ctx, pause) != nil {
			return nil
		}
	}
}

func (f *follower) pause() time.Duration {
	if f.retry > 0 {
		return f.retry
	}
	return treeRetry
}

// errBusy is the error of a reachable hub that has no free stream.
var errBusy = errors.New("not now")

// passing reports whether another attempt may succeed.
func passing(err error) bool { return errors.Is(err, client.ErrUnreachable) || errors.Is(err, errBusy) }

// open opens the stream.
func (f *follower) open(ctx context.Context) (*http.Response, error) {
	resp, err := f.hub.events(ctx, f.path())
	if err != nil || resp.StatusCode == http.StatusOK {
		return resp, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxEvent))
	if err != nil {
		return nil, f.hub.unreachable(ctx, err)
	}
	err = f.hub.refusal(resp, body)
	if resp.StatusCode >= 500 || resp.StatusCode == http.StatusTooManyRequests {
		err = fmt.Errorf("%w: %w", errBusy, err)
	}
	return nil, err
}
