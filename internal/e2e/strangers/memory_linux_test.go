package strangers

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

// keyed is a hub whose callers need a key.
const keyed = "auth: {api_keys: {adminadminadminadminadminadminadmin01: {agent_id: root, roles: [admin], owner: local}}}\n"

// TestStrangersFillNoMemory sends forms of 4 MiB to the console from a hundred callers without a key.
// The hub reads nothing of them.
func TestStrangersFillNoMemory(t *testing.T) {
	t.Parallel()
	h := hubtest.Start(t, hubtest.Options{Config: keyed + "limits: {body_time: 3s}\n"})
	before := peak(t, h)
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() {
			c, err := net.Dial("tcp", h.Addr())
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			form := "--b\r\nContent-Disposition: form-data; name=\"text\"\r\n\r\n" + strings.Repeat("x", 4<<20-4096)
			fmt.Fprintf(c, "POST /console/try HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: %d\r\n\r\n", len(form)+60)
			_, _ = io.WriteString(c, form) // the hub may close the connection before
			_, _ = io.ReadAll(c)
		})
	}
	all.Wait()
	if grown := peak(t, h) - before; grown > 100 {
		t.Errorf("the memory of the hub has grown by %d MiB, want at most 100", grown)
	}
}

// TestLargeReadsAreBounded sends a message of 9 MiB and reads its task forty times at once, in each way in
// which a caller can. A request is answered, or refused with the time after which to try again.
func TestLargeReadsAreBounded(t *testing.T) {
	const readers, most = 40, 700
	h := hubtest.Start(t, hubtest.Options{Config: "limits: {memory: 128MiB}\n"})
	var sent struct{ Task struct{ ID string } }
	message := hubtest.Request{
		URL:  h.URL() + "/v1/a2a/echo/message:send",
		Body: `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"` + strings.Repeat("x", 9<<20) + `"}]}}`,
	}
	if err := hubtest.Call(t.Context(), message, &sent); err != nil {
		t.Fatal(err)
	}
	task := "/api/v1/tasks/" + sent.Task.ID
	for name, r := range map[string]hubtest.Request{
		"message": {URL: "/v1/a2a/echo/message:send", Body: message.Body},
		"log":     {URL: task + "/log"},
		"frames":  {URL: task + "/log?frames=v0.3"},
		"get":     {URL: "/v1/a2a/tasks/" + sent.Task.ID},
		"console": {URL: "/console/task?id=" + sent.Task.ID},
		"entry":   {URL: "/console/task/raw?v=1&id=" + sent.Task.ID},
		"MCP": {
			URL: "/mcp", Header: []string{"Accept", "application/json, text/event-stream", "Mcp-Session-Id", session(t, h)},
			Body: `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"parley://tasks/` + sent.Task.ID + `"}}`,
		},
		"note": {
			Method: http.MethodPut, URL: "/api/v1/memory/note?key=large",
			Body: `{"value":"` + strings.Repeat("y", 7<<20) + `"}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			resetPeak(t, h)
			r.URL = h.URL() + r.URL
			answers := make(chan int, readers)
			var all sync.WaitGroup
			for i := range readers {
				own := r
				own.Body = strings.Replace(r.Body, `"id":1`, fmt.Sprintf(`"id":%d`, i+1), 1)
				all.Go(func() { answers <- readAll(t, own) })
			}
			all.Wait()
			close(answers)
			count := map[int]int{}
			for status := range answers {
				count[status]++
			}
			t.Logf("peak %d MiB, answers %v", peak(t, h), count)
			if got := peak(t, h); got > most {
				t.Errorf("the hub takes %d MiB, want at most %d", got, most)
			}
			refused := count[http.StatusTooManyRequests]
			if name == "note" {
				refused += count[http.StatusRequestEntityTooLarge]
			} else if count[http.StatusOK] == 0 {
				t.Error("nothing was answered")
			}
			if count[http.StatusOK]+refused != readers {
				t.Errorf("answers by status: %v, want 200 and refusals for want of memory", count)
			}
		})
	}
}

// session begins a session with the hub's MCP server, and returns its id.
func session(t *testing.T, h *hubtest.Hub) string {
	t.Helper()
	resp, err := hubtest.Do(t.Context(), hubtest.Request{
		URL: h.URL() + "/mcp", Header: []string{"Accept", "application/json, text/event-stream"},
		Body: `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	return resp.Header.Get("Mcp-Session-Id")
}

// readAll sends a request, and returns the status of its answer once that has been read; 0 after an error.
func readAll(t *testing.T, r hubtest.Request) int {
	resp, err := hubtest.Do(context.WithoutCancel(t.Context()), r)
	if err != nil {
		t.Error(err)
		return 0
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Error(err)
		return 0
	}
	if resp.StatusCode == http.StatusTooManyRequests && resp.Header.Get("Retry-After") == "" {
		t.Error("a refusal without Retry-After")
	}
	return resp.StatusCode
}

// peak returns the largest memory of the hub so far, in MiB.
func peak(t *testing.T, h *hubtest.Hub) int { return memoryOf(t, h, "VmHWM:") }

// resident returns the memory of the hub now, in MiB.
func resident(t *testing.T, h *hubtest.Hub) int { return memoryOf(t, h, "VmRSS:") }

func memoryOf(t *testing.T, h *hubtest.Hub, field string) int {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(h.Process().PID()), "status"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(b), field)
	kib, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		t.Fatal(err)
	}
	return kib >> 10
}

// resetPeak makes the present memory of the hub the largest one.
func resetPeak(t *testing.T, h *hubtest.Hub) {
	t.Helper()
	if err := os.WriteFile(filepath.Join("/proc", strconv.Itoa(h.Process().PID()), "clear_refs"), []byte("5"), 0); err != nil {
		t.Fatal(err)
	}
}
