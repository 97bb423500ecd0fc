package cli

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/parley-a2a/parley/internal/config"
)

// emptyEvents reads a stream as httpx-sse does: a blank line ends an event if it has data, or if any
// event before had an id. It returns the numbers of events, of those without data, and of comments.
func emptyEvents(r io.Reader) (events, empty, comments int) {
	data, id := 0, ""
	for lines := bufio.NewScanner(r); lines.Scan(); {
		switch name, value, _ := strings.Cut(lines.Text(), ":"); {
		case lines.Text() == "":
			if data > 0 || id != "" {
				events++
			}
			if data == 0 && id != "" {
				empty++
			}
			data = 0
		case name == "":
			comments++
		case name == "data":
			data++
		case name == "id":
			id = value
		}
	}
	return events, empty, comments
}

// Comments that keep a quiet stream alive are no events, for any decoder, on any surface.
func TestQuietStreamsHaveNoEmptyEvents(t *testing.T) {
	t.Parallel()
	c := serveCmd{Config: emptyFile(t), Listen: "127.0.0.1:0", Data: t.TempDir(), Agents: "builtin", Bus: "off"}
	cfg, err := c.settings()
	if err != nil {
		t.Fatal(err)
	}
	cfg.Limits.KeepAlive = config.Duration(50 * time.Millisecond)
	h, _ := running(t, cfg, slog.New(slog.DiscardHandler))
	const v1 = `{"message":{"messageId":"%s","role":"ROLE_USER","parts":[{"text":"1"}]}}`
	for name, q := range map[string]httpQuery{
		"JSON-RPC of v1.0":  {what: "POST /a2a/slow", header: []string{"A2A-Version: 1.0"}, body: `{"jsonrpc":"2.0","id":1,"method":"SendStreamingMessage","params":` + fmt.Sprintf(v1, "a") + `}`},
		"JSON-RPC of v0.3":  {what: "POST /a2a/slow", body: strings.Replace(fmt.Sprintf(sendV03, "stream", "b"), "hello", "1", 1)},
		"HTTP+JSON of v1.0": {what: "POST /v1/a2a/slow/message:stream", header: []string{"A2A-Version: 1.0"}, body: fmt.Sprintf(v1, "c")},
		"chat completions":  {what: "POST /v1/chat/completions", body: `{"model":"slow","stream":true,"messages":[{"role":"user","content":"1"}]}`},
		"AG-UI":             {what: "POST /ag-ui/slow", body: `{"threadId":"t","runId":"r","state":{},"tools":[],"context":[],"forwardedProps":{},"messages":[{"id":"m","role":"user","content":"1"}]}`},
	} {
		q.at = h.URL()
		resp, err := q.ask(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		events, empty, comments := emptyEvents(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != 200 || events == 0 || empty > 0 || comments == 0 {
			t.Errorf("%s: %s with %d events, %d of them empty, and %d comments", name, resp.Status, events, empty, comments)
		}
	}
}
