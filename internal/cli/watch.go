package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/client"
	"github.com/parley-a2a/parley/internal/backoff"
	"github.com/parley-a2a/parley/internal/front/adminapi"
	"github.com/parley-a2a/parley/internal/sse"
)

type tasksWatchCmd struct {
	oneTask
	NoTree bool `help:"Show only the reply, not the tasks that were delegated to other agents."`
}

func (c *tasksWatchCmd) Run(in interrupts, o *OS) error {
	if err := c.resolve(in.soft, &c.ID); err != nil {
		return err
	}
	return c.call(in.soft, func(cl *client.Client) error {
		sh := newShow(o, &c.output, true)
		sh.words.open = opener(in.soft, cl)
		s := newSession(cl, sh)
		s.show.questions = true
		tree := c.startTree(in.soft, s.show, o)
		err := s.watch(in.soft, client.Position{Task: a2a.TaskID(c.ID)})
		tree.finish(in.soft, err == nil)
		if in.soft.Err() != nil {
			s.show.endLine()
			return &exit{exitFailed, fmt.Errorf("interrupted; task %s continues", c.ID)}
		}
		if err != nil {
			return c.watchable(in.soft, cl, err)
		}
		if err := s.show.finish(); err != nil {
			return err
		}
		return s.show.outcome(c.flags())
	})
}

// watchable returns the error for a task that the caller does not have; for an administrator, with the command that
// follows it.
func (c *tasksWatchCmd) watchable(ctx context.Context, cl *client.Client, missing error) error {
	if !c.onHub(cl) {
		return missing
	}
	hub := c.hub()
	other, err := hub.ofOthers(ctx, c.ID, missing)
	if err != nil {
		return err
	}
	return fmt.Errorf("task %s belongs to another caller, %s; follow it with: parley watch --all%s --task %s", other.TaskID, other.Owner, hub.flags(), quote(string(other.TaskID)))
}

const (
	// treeWait is the time to wait for a tree after the reply, if no other task is known yet.
	// treeLinger is the time if other tasks are known, which may still have to be canceled.
	treeWait   = 2 * time.Second
	treeLinger = 15 * time.Second
	// treeRetry and treeRetryMost bound the pauses before a broken stream is resumed.
	treeRetry     = time.Second
	treeRetryMost = 10 * time.Second
)

// treeWatch follows the tree of a task beside its reply.
type treeWatch struct {
	hub  hubFlags
	id   string
	show *show
	// retry is the first pause before a broken stream is resumed.
	retry time.Duration

	cancel context.CancelFunc
	over   chan struct{} // closed when the tree is complete or not available
	wg     sync.WaitGroup
}

func (c *tasksWatchCmd) startTree(ctx context.Context, s *show, o *OS) *treeWatch {
	ctx, cancel := context.WithCancel(ctx)
	w := &treeWatch{hub: c.hub(), id: c.ID, show: s, retry: treeRetry, cancel: cancel, over: make(chan struct{})}
	if c.NoTree {
		close(w.over)
		return w
	}
	s.tree = &treeShow{out: o.drawing(), format: c.format, drawn: o.Terminal && !c.data(), at: make(map[a2a.TaskID]int)}
	w.wg.Go(func() {
		defer close(w.over)
		w.follow(ctx)
	})
	if s.tree.drawn {
		w.wg.Go(func() { w.tick(ctx) })
	}
	return w
}

// finish waits until the tree is complete, if complete is set, and stops following it.
func (w *treeWatch) finish(ctx context.Context, complete bool) {
	defer w.wg.Wait()
	defer w.cancel()
	if !complete {
		return
	}
	deadline := time.NewTimer(treeLinger)
	defer deadline.Stop()
	soon := time.NewTimer(treeWait)
	defer soon.Stop()
	for {
		select {
		case <-w.over:
			return
		case <-deadline.C:
			return
		case <-ctx.Done():
			return
		case <-soon.C:
			if !w.show.branches() {
				return
			}
		}
	}
}

// tick updates the ages on a terminal.
func (w *treeWatch) tick(ctx context.Context) {
	t := time.NewTicker(time.Second)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			w.show.redraw()
		case <-w.over:
			return
		case <-ctx.Done():
			return
		}
	}
}

// follow shows the tree until it is complete. It resumes a broken stream. It ends if the server
// does not support trees.
func (w *treeWatch) follow(ctx context.Context) {
	for pause := w.retry; ; pause = min(2*pause, treeRetryMost) {
		if w.stream(ctx) {
			return
		}
		if backoff.Sleep(ctx, pause) != nil {
			return
		}
	}
}

// stream shows the events of one stream; it reports whether the tree is complete or not
// available.
func (w *treeWatch) stream(ctx context.Context) (over bool) {
	resp, err := w.hub.events(ctx, "/tasks/"+url.PathEscape(w.id)+"/tree/events")
	if errors.Is(err, client.ErrUnreachable) || ctx.Err() != nil {
		return false
	}
	if err != nil {
		return true
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK || !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		return resp.StatusCode < 500 && resp.StatusCode != http.StatusTooManyRequests
	}
	return w.events(resp.Body)
}

func (w *treeWatch) events(r io.Reader) (over bool) {
	stream := sse.NewReader(r, maxEvent, nil)
	for {
		e, err := stream.Next()
		if err != nil {
			return false
		}
		if e.Type == "end" {
			return true
		}
		var t adminapi.TreeTask
		if json.Unmarshal(e.Data, &t) != nil || t.TaskID == "" {
			continue
		}
		if w.show.node(&t) != nil {
			return true
		}
	}
}
