//go:build !race

package console_test

import (
	"bytes"
	"fmt"
	"net"
	"net/url"
	"runtime"
	"strings"
	"testing"
	"time"
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

// TestAllocations measures the memory that open pages on which nothing happens hold in the hub. The
// race detector needs more.
func TestAllocations(t *testing.T) {
	const pages, most = 20, 64 << 10
	w := newWorld(t, true)
	boss := w.as(rootKey)
	id := boss.send("interview", "start")
	boss.events("/console/task/events?id="+id+"&after=0", "input required")
	for name, s := range map[string]struct{ path, until string }{
		"task":     {"/console/task/events?id=" + id + "&after=3", "event: tree"},
		"overview": {"/console/counts/events", "retry"},
	} {
		boss.openPage(s.path, s.until) // makes the things that all pages share
		each := uint64(most + 1)
		for attempt := 0; attempt < 3 && each > most; attempt++ { // other work of the hub counts as well
			before := held()
			for range pages {
				boss.openPage(s.path, s.until)
			}
			each = (max(held(), before) - before) / pages
		}
		t.Logf("an idle page (%s) holds %d bytes", name, each)
		if each > most {
			t.Errorf("an idle page (%s) holds %d bytes, want at most %d", name, each, most)
		}
	}
}
