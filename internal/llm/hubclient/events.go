package hubclient

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/parley-a2a/parley/internal/sse"
)

// maxEvent is the largest size of an event of a stream, in bytes.
const maxEvent = 1 << 20

// listen reads Server-Sent Events until done returns true for the data of one. It returns an
// error if the stream ends earlier.
func (h *Hub) listen(ctx context.Context, r *request, done func(data string) bool) error {
	return h.events(ctx, r, func() (bool, error) { return false, nil }, done)
}

// events is listen with a callback: it calls opened, which may also end it, once the stream is
// open.
func (h *Hub) events(ctx context.Context, r *request, opened func() (done bool, err error), done func(data string) bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	req, err := h.newRequest(ctx, r)
	if err != nil {
		return err
	}
	resp, err := h.http().Do(req)
	if err != nil {
		return h.unanswered(ctx, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(io.LimitReader(resp.Body, maxEvent)) // the status suffices
		return responseError(h.base(), resp, body)
	}
	if over, err := opened(); over || err != nil {
		return err
	}
	stream := sse.NewReader(resp.Body, maxEvent, nil)
	for {
		e, err := stream.Next()
		if err != nil {
			return fmt.Errorf("the events of %s: %w", r.path, errLost)
		}
		if done(string(e.Data)) {
			return nil
		}
	}
}
