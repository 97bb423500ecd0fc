package mcpserver

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-a2a/parley/internal/clip"
	"github.com/parley-a2a/parley/internal/llm"
)

const (
	// minInterval is the shortest time between two progress messages in the same state.
	minInterval = 100 * time.Millisecond
	// maxText is the largest number of bytes of text in a progress message.
	maxText = 2 << 10
)

// progress sends the progress of a call to a caller that has requested it. A caller that reads
// slowly delays only the tool that works for it.
type progress struct {
	mu      sync.Mutex // guards the fields below; held while sending, so that order is kept
	ctx     context.Context
	session *mcp.ServerSession
	token   any
	n       float64
	state   string
	last    string
	at      time.Time
}

// attach directs progress to the caller of req. A nil req stops it.
func (t *progress) attach(ctx context.Context, req *mcp.CallToolRequest) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ctx, t.session, t.token = ctx, nil, nil
	if req != nil {
		t.session, t.token = req.Session, req.Params.GetProgressToken()
		t.at = time.Now()
	}
}

// report implements llm.Call.Progress.
func (t *progress) report(p llm.Progress) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p.State == t.state && time.Since(t.at) < minInterval && t.n > 0 {
		return
	}
	t.state, t.last = p.State, sentence(p)
	t.send()
}

// keepAlive repeats the last message if none was sent for half of silence.
func (t *progress) keepAlive(silence time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if time.Since(t.at) >= silence/2 {
		t.send()
	}
}

// send sends the last message. It ignores errors: if the caller is gone, its request ends by
// itself.
func (t *progress) send() {
	t.at = time.Now()
	if t.session == nil || t.token == nil {
		return
	}
	t.n++
	_ = t.session.NotifyProgress(t.ctx, &mcp.ProgressNotificationParams{ProgressToken: t.token, Progress: t.n, Message: t.last})
}

func sentence(p llm.Progress) string {
	var words []string
	if p.Agent != "" {
		words = append(words, p.Agent)
	}
	if p.State != "" {
		words = append(words, strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(p.State, "TASK_STATE_")), "_", "-"))
	}
	head := strings.Join(words, " ")
	switch {
	case p.Text == "":
		return head
	case head == "":
		return clip.Bytes(p.Text, maxText)
	}
	return head + ": " + clip.Bytes(p.Text, maxText)
}
