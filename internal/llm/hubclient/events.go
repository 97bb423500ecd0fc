package hubclient

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// maxEvent is the longest line of a stream that is read.
const maxEvent = 1 << 20

// listen reads Server-Sent Events until done says so for the data of one. The error says
// that the stream has ended before.
func (h *Hub) listen(ctx context.Context, r *request, done func(data string) bool) error {
	return h.events(ctx, r, func() (bool, error) { return false, nil }, done)
}

// events is listen, and calls opened, which may be done as well, when the stream is there.
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
		body, _ := io.ReadAll(io.LimitReader(resp.Body, maxEvent)) // the status says enough
		return refusal(h.base(), resp, body)
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
