package hubclient

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// maxEvent is the largest length of a line of a stream.
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
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, maxEvent)
	for lines.Scan() {
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok && done(data) {
			return nil
		}
	}
	return fmt.Errorf("the events of %s: %w", r.path, errLost)
}
