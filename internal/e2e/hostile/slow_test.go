package hostile

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// floodRows exceed limits with requests that are legal by themselves.
var floodRows = []row{
	{name: "streams beyond the limit", send: (*world).manyStreams, want: "429 RESOURCE_EXHAUSTED"},
	{name: "failures from one address", send: (*world).manyFailures, want: "only 401 and 429; a good key at once"},
	{name: "connections that say nothing", send: (*world).manyConnections, want: "200 ok"},
}

// manyStreams opens as many streams as a caller may have, and one more.
func (w *world) manyStreams() *answer {
	var open []io.Closer
	defer func() {
		for _, c := range open {
			c.Close()
		}
	}()
	for range 3 {
		r, err := http.NewRequestWithContext(context.Background(), "GET", w.hub.URL()+w.in("/v1/a2a/tasks/$floods:subscribe"), nil)
		if err != nil {
			return &answer{outcome: err.Error()}
		}
		r.Header.Set("X-Api-Key", keyOf("flood"))
		resp, err := w.client.Do(r)
		if err != nil {
			return &answer{outcome: err.Error()}
		}
		open = append(open, resp.Body)
		if resp.StatusCode != http.StatusOK {
			return &answer{outcome: "a good stream: " + resp.Status}
		}
		if _, err := bufio.NewReader(resp.Body).ReadString('\n'); err != nil {
			return &answer{outcome: "a good stream: " + err.Error()}
		}
	}
	return get("/v1/a2a/tasks/$floods:subscribe", "Authorization: Bearer $key-flood")(w)
}

// manyFailures sends wrong keys from one address, all concurrently, and then a good one.
func (w *world) manyFailures() *answer {
	local := &net.TCPAddr{IP: net.IPv4(127, 9, 9, 9)}
	client := &http.Client{Timeout: patience, Transport: &http.Transport{
		DialContext: (&net.Dialer{LocalAddr: local}).DialContext,
	}}
	if c, err := (&net.Dialer{LocalAddr: local}).Dial("tcp", w.hub.Addr()); err != nil {
		client.Transport = &http.Transport{}
	} else {
		c.Close()
	}
	defer client.CloseIdleConnections()
	ask := func(key string) string {
		r, err := http.NewRequestWithContext(context.Background(), "GET", w.hub.URL()+"/v1/a2a/tasks", nil)
		if err != nil {
			return err.Error()
		}
		r.Header.Set("X-Api-Key", key)
		resp, err := client.Do(r)
		if err != nil {
			return err.Error()
		}
		defer resp.Body.Close()
		_, _ = io.Copy(io.Discard, resp.Body)
		return fmt.Sprint(resp.StatusCode)
	}
	got := make(chan string)
	var tries sync.WaitGroup
	for i := range 150 {
		tries.Go(func() { got <- ask(fmt.Sprintf("sk-guess-%d-0000000000000", i)) })
	}
	go func() { tries.Wait(); close(got) }()
	began, good := time.Now(), ask(keyOf("alice"))
	took := time.Since(began)
	seen := map[string]int{}
	for s := range got {
		seen[s]++
	}
	switch {
	case good != "200" || took > patience/2:
		return &answer{outcome: fmt.Sprintf("a good key gets %s after %v", good, took)}
	case seen["401"] == 0 || seen["401"]+seen["429"] != 150:
		return &answer{outcome: fmt.Sprintf("told %v", seen)}
	}
	return &answer{outcome: "only 401 and 429; a good key at once"}
}

// manyConnections holds many connections with half a head, and sends a good request.
func (w *world) manyConnections() *answer {
	for range 200 {
		c, err := w.dial(context.Background(), w.hub.Addr())
		if err != nil {
			return &answer{outcome: err.Error()}
		}
		defer c.Close()
		_, _ = io.WriteString(c, "GET /v1/a2a/tasks HTTP/1.1\r\nX-A: ")
	}
	return get("/v1/a2a/tasks")(w)
}

// drip writes a beginning, and then one more byte periodically, until the hub closes the
// connection.
func drip(port, begin, more string) send {
	return func(w *world) *answer {
		addr := w.hub.Addr()
		if port == "gRPC" {
			addr = w.grpc
		}
		c, err := w.dial(context.Background(), addr)
		if err != nil {
			return &answer{outcome: err.Error()}
		}
		_ = c.SetDeadline(time.Now().Add(patience))
		stop, done := make(chan struct{}), make(chan struct{})
		go func() { // ends when the connection is closed
			defer close(done)
			_, err := io.WriteString(c, w.in(begin))
			tick := time.NewTicker(200 * time.Millisecond)
			defer tick.Stop()
			for err == nil && more != "" {
				select {
				case <-tick.C:
					_, err = io.WriteString(c, more)
				case <-stop:
					return
				}
			}
		}()
		a := &answer{}
		r := bufio.NewReader(c)
		resp, err := response(r)
		switch {
		case err != nil && gone(err):
			a.outcome, a.closed = "no answer", true
		case err != nil:
			a.outcome = "the hub waits on"
		default:
			a.status = resp.StatusCode
			a.body, _ = io.ReadAll(resp.Body)
			resp.Body.Close()
			_, err := io.Copy(io.Discard, r)
			a.closed = err == nil || gone(err)
		}
		close(stop)
		c.Close()
		<-done
		return a
	}
}

// begun returns a request with an incomplete body.
func begun(path string, headers ...string) string {
	return strings.Replace(request("POST", path, "{", append([]string{"Content-Length: 1000"}, headers...)...), "$length", "1000", 1)
}

const tooSlow = "408 INVALID_REQUEST, closed"

// slowRows wait for the timeouts of the hub: four seconds for a body, ten for a head.
var slowRows = []row{
	{name: "nothing at all", send: drip(here, "", ""), want: "no answer, closed"},
	{name: "a head that stops", send: drip(here, "GET /v1/a2a/tasks HTTP/1.1\r\nX-A: ", ""), want: "no answer, closed"},
	{name: "a head that drips", send: drip(here, "GET /v1/a2a/tasks HTTP/1.1\r\nX-A: ", "b"), want: "no answer, closed"},
	{name: "a first line that drips", send: drip(here, "G", "E"), want: "400, closed"},
	{name: "a body that stops", send: drip(here, begun(sendREST), ""), want: tooSlow},
	{name: "a body that drips", send: drip(here, begun(sendREST), " "), want: tooSlow},
	{name: "a body that drips, JSON-RPC", send: drip(here, begun("/a2a"), " "), want: "408 -32600 INVALID_REQUEST, closed"},
	{name: "a body that drips, chunked", send: drip(here, request("POST", sendREST, "1\r\n{\r\n", "Transfer-Encoding: chunked"), "1\r\n \r\n"), want: tooSlow},
	{name: "a body that drips, chat", send: drip(here, begun("/v1/chat/completions"), " "), want: "408 invalid_request invalid_request_error, closed"},
	{name: "a body that drips, AG-UI", send: drip(here, begun("/ag-ui"), " "), want: tooSlow},
	{name: "a body that drips, API", send: drip(here, begun("/api/v1/inbox"), " "), want: "400 INVALID_REQUEST, closed"},
	{name: "a body that drips, MCP", send: drip(here, begun("/mcp", "Accept: application/json, text/event-stream"), " "), want: "400 -32700, closed"},
	{name: "a body that drips, without a key", send: drip(here, begun(sendREST, "X-Api-Key:"), " "), want: "401 UNAUTHENTICATED, closed"},
	{name: "a body that drips, of a GET", send: drip(here, request("GET", "/v1/a2a/tasks/x", "", "Content-Length: 10000"), " "), want: noTask + ", closed"},
	{name: "a body that drips, to nowhere", send: drip(here, request("POST", "/nowhere", "", "Content-Length: 10000"), " "), want: noPath + ", closed"},
	{name: "a body that is announced", send: drip(here, begun(sendREST, "Expect: 100-continue"), ""), want: tooSlow},
	{name: "a preface of HTTP/2", send: drip(here, preface, ""), want: "no answer, closed"},
}
