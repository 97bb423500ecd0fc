package endpoint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"time"

	"github.com/parley-a2a/parley/internal/backoff"
	"github.com/parley-a2a/parley/internal/llm/mcp/mcpserver"
	"github.com/parley-a2a/parley/internal/sse"
)

const (
	firstPause = time.Second
	lastPause  = 30 * time.Second
	// maxEvent is the largest size of an event of a stream, in bytes.
	maxEvent = 16 << 20
)

// errNothingLeft is returned if the task has ended, so that no further change can happen.
var errNothingLeft = errors.New("the task has ended")

// Watch implements mcpserver.Watcher.
func (l *Library) Watch(ctx context.Context, uri string) iter.Seq2[struct{}, error] {
	return func(yield func(struct{}, error) bool) {
		at, ok := parse(uri)
		if !ok {
			yield(struct{}{}, mcpserver.ErrNoResource)
			return
		}
		pause := firstPause
		for ctx.Err() == nil {
			more, err := l.follow(ctx, at, func() bool {
				pause = firstPause
				return yield(struct{}{}, nil)
			})
			switch {
			case !more, errors.Is(err, errNothingLeft):
				return
			case errors.Is(err, mcpserver.ErrNoResource):
				yield(struct{}{}, err)
				return
			}
			if backoff.Sleep(ctx, pause) == nil {
				pause = min(2*pause, lastPause)
			}
		}
	}
}

// follow calls notify for each event of a stream until the stream breaks, or until notify returns
// false; more is false then.
func (l *Library) follow(ctx context.Context, at ref, notify func() bool) (more bool, err error) {
	// POST refuses an ended task, while GET would return it.
	method, path, query := http.MethodPost, "/v1/a2a/tasks/"+url.PathEscape(string(at.task))+":subscribe", url.Values(nil)
	if at.key != "" {
		method, path, query = http.MethodGet, "/api/v1/memory/events", url.Values{"prefix": {at.key}}
	}
	resp, err := l.Hub.Open(ctx, method, path, query)
	if err != nil {
		return true, err
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode == http.StatusNotFound:
		return true, mcpserver.ErrNoResource
	case resp.StatusCode >= 400 && resp.StatusCode < 500 && at.key == "" && resp.StatusCode != http.StatusTooManyRequests:
		return true, errNothingLeft // an ended task cannot be subscribed to
	case resp.StatusCode != http.StatusOK:
		return true, fmt.Errorf("the hub answers HTTP %s", resp.Status)
	}
	stream := sse.NewReader(resp.Body, maxEvent, nil)
	for {
		e, err := stream.Next()
		switch {
		case errors.Is(err, io.EOF):
			return true, nil
		case err != nil:
			return true, err
		case at.concerns(e.Data) && !notify():
			return false, nil
		}
	}
}

// concerns reports whether an event is about the resource at the address.
func (at ref) concerns(event []byte) bool {
	if at.key == "" {
		return true
	}
	var n note
	return json.Unmarshal(event, &n) == nil && n.Key == at.key
}
