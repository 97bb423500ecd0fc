package mcpserver

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parley-a2a/parley/internal/clip"
	"github.com/parley-a2a/parley/llm"
)

const (
	// lull is the shortest time between two progress messages in the same state.
	lull = 100 * time.Millisecond
	// maxText is the largest number of bytes of text in a progress message.
	maxText = 2 << 10
)

// teller sends the progress of a call to a caller that has requested it. A caller that reads
// slowly delays only the tool that works for it.
type teller struct {
	mu    sync.Mutex // guards the fields below; held while sending, so that order is kept
	ctx   context.Context
	who   *mcp.ServerSession
	token any
	n     float64
	state string
	last  string
	at    time.Time
}

// listen directs progress to the caller of req. A nil req stops it.
func (t *teller) listen(ctx context.Context, req *mcp.CallToolRequest) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ctx, t.who, t.token = ctx, nil, nil
	if req != nil {
		t.who, t.token = req.Session, req.Params.GetProgressToken()
		t.at = time.Now()
	}
}

// tell implements llm.Call.Progress.
func (t *teller) tell(p llm.Progress) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p.State == t.state && time.Since(t.at) < lull && t.n > 0 {
		return
	}
	t.state, t.last = p.State, sentence(p)
	t.send()
}

// beat repeats the last message if none was sent for half of silence.
func (t *teller) beat(silence time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if time.Since(t.at) >= silence/2 {
		t.send()
	}
}

// send sends the last message. It ignores errors: if the caller is gone, its request ends by
// itself.
func (t *teller) send() {
	t.at = time.Now()
	if t.who == nil || t.token == nil {
		return
	}
	t.n++
	_ = t.who.NotifyProgress(t.ctx, &mcp.ProgressNotificationParams{ProgressToken: t.token, Progress: t.n, Message: t.last})
}

// sentence returns progress in words.
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
