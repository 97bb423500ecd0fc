//go:build !race

package console_test

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"net"
	"net/url"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/testing/hostiletest"
)

// held returns the bytes of heap and stacks in use.
func held() uint64 {
	var m runtime.MemStats
	for range 3 { // finalizers free more
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}

// openPage opens the stream of a page and reads it until a text comes. It leaves no goroutine and
// no buffer on the side of the browser.
func (p *person) openPage(path, until string) net.Conn {
	p.t.Helper()
	u, err := url.Parse(p.url)
	if err != nil {
		p.t.Fatal(err)
	}
	c, err := net.Dial("tcp", u.Host)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { c.Close() })
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: %s\r\nCookie: parley_console=%s\r\nUser-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36\r\nAccept: text/event-stream\r\nAccept-Language: en-US,en;q=0.9\r\nAccept-Encoding: gzip, deflate, br, zstd\r\n\r\n", path, u.Host, p.cookie())
	var got bytes.Buffer
	for buf := make([]byte, 4096); !strings.Contains(got.String(), until); {
		n, err := c.Read(buf)
		got.Write(buf[:n])
		if err != nil {
			p.t.Fatalf("%s: %v: %s", path, err, &got)
		}
	}
	return c
}

// farAgent performs its tasks at another server, which lists tasks below them. It asks for input.
type farAgent struct{}

func (farAgent) Kind() string         { return "remote" }
func (farAgent) Traits() agent.Traits { return agent.Traits{Resumable: true} }

func (farAgent) Execute(ctx context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		_ = agent.CallFrom(ctx).Checkpoint([]byte("there")) // the tree shows an error
		yield(a2a.NewStatusUpdateEvent(ec, a2a.TaskStateInputRequired, a2a.NewMessageForTask(a2a.MessageRoleAgent, ec, a2a.NewTextPart("which?"))), nil)
	}
}

func (farAgent) Cancel(context.Context, *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(func(a2a.Event, error) bool) {}
}

// ReadTree returns three tasks, two of which are working.
func (farAgent) ReadTree(context.Context, []byte) ([]byte, error) {
	one := func(id, parent, state string) string {
		return fmt.Sprintf(`{"id":%q,"parentId":%q,"agent":"digger","state":"TASK_STATE_%s","createdAt":"2026-11-20T10:00:00Z","ageMs":5,"inputTokens":10}`, id, parent, state)
	}
	return []byte(`{"tasks":[` + one("a", "", "WORKING") + "," + one("b", "a", "COMPLETED") + "," + one("c", "a", "WORKING") + "]}"), nil
}

// TestAllocations measures the memory that open pages on which nothing happens hold in the hub. The
// race detector needs more.
func TestAllocations(t *testing.T) {
	const pages, most = 20, 64 << 10
	w := newWorld(t, true, engine.Agent{Name: "far", Card: hostiletest.Card("far"), Executor: farAgent{}})
	boss, ann := w.as(rootKey), w.as(annsKey)
	id, far, hers := boss.send("interview", "start"), boss.send("far", "start"), ann.send("far", "start")
	boss.events("/console/task/events?id="+id+"&after=0", "input required")
	boss.events("/console/task/events?id="+far+"&after=0", "digger")
	ann.events("/console/task/events?id="+hers+"&after=0", "digger")
	for name, s := range map[string]struct {
		by          *person
		path, until string
	}{
		"task":             {boss, "/console/task/events?id=" + id + "&after=3", "event: tree"},
		"remote":           {boss, "/console/task/events?id=" + far + "&after=2", "digger"},
		"remote, a caller": {ann, "/console/task/events?id=" + hers + "&after=2", "digger"},
		"overview":         {boss, "/console/counts/events", "retry"},
	} {
		s.by.openPage(s.path, s.until) // makes the things that all pages share
		each := uint64(most + 1)
		for attempt := 0; attempt < 3 && each > most; attempt++ { // other work of the hub counts as well
			before := held()
			for range pages {
				s.by.openPage(s.path, s.until)
			}
			each = (max(held(), before) - before) / pages
		}
		t.Logf("an idle page (%s) holds %d bytes", name, each)
		if each > most {
			t.Errorf("an idle page (%s) holds %d bytes, want at most %d", name, each, most)
		}
	}
}
