package rows

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/parley-a2a/parley/cmd/bench/internal/child"
	"github.com/parley-a2a/parley/cmd/bench/internal/serve"
	"github.com/parley-a2a/parley/cmd/bench/internal/wire"
)

// hold begins a task whose agent waits to be released and then writes chunks. It returns the
// task's id and the stream of its sender.
func hold(ctx context.Context, p *child.Process, chunks int) (id string, r *reader, err error) {
	c, err := wire.Dial(ctx, p.Addr)
	if err != nil {
		return "", nil, err
	}
	text := serve.Text(serve.Hold, strconv.Itoa(chunks))
	s, err := c.Stream(wire.Call("SendStreamingMessage", sendParams(text, "")).With(0))
	if err == nil {
		id, err = firstID(s)
	}
	if err != nil {
		c.Close()
		return "", nil, fmt.Errorf("hold a task: %w", err)
	}
	return id, &reader{c, s}, nil
}

// firstID returns the id of the task in the first event of a stream.
func firstID(s *wire.Stream) (string, error) {
	data, err := s.Next()
	if err != nil {
		return "", err
	}
	var first struct {
		Result struct {
			Task struct {
				ID string `json:"id"`
			} `json:"task"`
		} `json:"result"`
	}
	if err := json.Unmarshal(data, &first); err != nil || first.Result.Task.ID == "" {
		return "", fmt.Errorf("stream does not begin with a task: %.300s", data)
	}
	return first.Result.Task.ID, nil
}

// reader is an open stream on a connection of its own.
type reader struct {
	c *wire.Conn
	s *wire.Stream
}

// subscribe opens a stream of a task, and returns after its first event has arrived.
func subscribe(ctx context.Context, p *child.Process, id string) (*reader, error) {
	c, err := wire.Dial(ctx, p.Addr)
	if err != nil {
		return nil, err
	}
	s, err := c.Stream(wire.Call("SubscribeToTask", `{"id":"`+id+`"}`).With(0))
	if err == nil {
		_, err = s.Next()
	}
	if err != nil {
		c.Close()
		return nil, fmt.Errorf("subscribe to %s: %w", id, err)
	}
	return &reader{c, s}, nil
}

// closeAll closes the connections of readers.
func closeAll(rs []*reader) {
	for _, r := range rs {
		r.c.Close()
	}
}
