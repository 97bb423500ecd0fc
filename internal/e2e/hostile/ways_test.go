package hostile

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"strconv"
	"strings"
	"time"
)

// send sends a hostile request.
type send func(w *world) *answer

// message returns the body of a message with further members.
func message(text string, members ...string) string {
	more := ""
	for _, m := range members {
		more += m + ","
	}
	return `{"message":{"messageId":"m-` + text + `","role":"ROLE_USER",` + more + `"parts":[{"text":"` + text + `"}]}}`
}

// call returns a JSON-RPC call.
func call(method, params string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":` + params + `}`
}

// request returns an HTTP/1.1 request as text, from alice unless headers name another caller. A
// header "X:" without a value removes the header. Header lines are written unchanged.
func request(method, path, body string, headers ...string) string {
	have := map[string]bool{}
	for _, h := range headers {
		name, _, _ := strings.Cut(h, ":")
		have[strings.ToLower(name)] = true
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\n", method, path)
	line := func(name, value string) {
		if !have[strings.ToLower(name)] {
			fmt.Fprintf(&b, "%s: %s\r\n", name, value)
		}
	}
	line("Host", "127.0.0.1")
	if !have["authorization"] {
		line("X-Api-Key", "$key-alice")
	}
	line("A2A-Version", "1.0")
	if body != "" {
		line("Content-Type", "application/json")
		if !have["transfer-encoding"] {
			line("Content-Length", "$length")
		}
	}
	for _, h := range headers {
		if name, value, _ := strings.Cut(h, ":"); value != "" || strings.ContainsAny(name, " \t") {
			b.WriteString(h + "\r\n")
		}
	}
	return b.String() + "\r\n" + body
}

// web sends a request on a new connection, and then checks whether the connection stays open.
func web(method, path, body string, headers ...string) send {
	return raw(request(method, path, body, headers...))
}

// rpc calls a method of JSON-RPC as alice.
func rpc(method, params string) send { return web("POST", "/a2a", call(method, params)) }

// raw sends bytes to the HTTP port.
func raw(text string) send {
	return func(w *world) *answer {
		head, body, whole := strings.Cut(w.in(text), "\r\n\r\n")
		if !whole {
			return w.exchange([]byte(head), false)
		}
		head = strings.ReplaceAll(head, "$length", strconv.Itoa(len(body)))
		return w.exchange([]byte(head+"\r\n\r\n"+body), false)
	}
}

// whole sends bytes to the HTTP port and then closes the sending side.
func whole(text string) send {
	return func(w *world) *answer { return w.exchange([]byte(w.in(text)), true) }
}

// exchange writes bytes, closes the sending side if last is set, and reads one answer and the
// state of the connection.
func (w *world) exchange(text []byte, last bool) *answer {
	c, err := w.dial(context.Background(), w.hub.Addr())
	if err != nil {
		return &answer{outcome: "not connected: " + err.Error()}
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(patience))
	done := make(chan struct{})
	go func() { // ends when all is written or the connection is closed
		defer close(done)
		_, _ = c.Write(text)
		if last {
			_ = c.(*net.TCPConn).CloseWrite()
		}
	}()
	a := readAnswer(bufio.NewReaderSize(c, 64<<10), c, done)
	c.Close()
	<-done
	return a
}

// readAnswer reads an answer. A good request after the hostile one shows whether the connection
// is still open; the hub must not confuse the two.
func readAnswer(r *bufio.Reader, c net.Conn, written <-chan struct{}) *answer {
	resp, err := response(r)
	if err != nil {
		return &answer{outcome: "no answer", closed: gone(err)}
	}
	a := &answer{status: resp.StatusCode}
	a.head, _ = httputil.DumpResponse(resp, false)
	a.body, err = io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil && resp.ContentLength < 0 && gone(err) {
		a.closed = true // a text until the connection ends, which a reset may truncate
		return a
	}
	if err != nil {
		a.outcome, a.closed = fmt.Sprintf("%d broken off", resp.StatusCode), gone(err)
		return a
	}
	if resp.Close {
		_, err := io.Copy(io.Discard, r)
		a.closed = err == nil || gone(err)
		return a
	}
	<-written
	fmt.Fprintf(c, "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
	next, err := response(r)
	if err != nil {
		a.closed = gone(err)
		return a
	}
	defer next.Body.Close()
	b, _ := io.ReadAll(next.Body)
	if !bytes.Contains(b, []byte(`"status":"ok"`)) {
		a.outcome = fmt.Sprintf("%s, then %d %s", a, next.StatusCode, errorOf(b))
	}
	return a
}

// response reads the first response that is not an interim one.
func response(r *bufio.Reader) (*http.Response, error) {
	for {
		resp, err := http.ReadResponse(r, nil)
		if err != nil || resp.StatusCode/100 != 1 || resp.StatusCode == http.StatusSwitchingProtocols {
			return resp, err
		}
	}
}

// gone reports whether err means that the hub has closed the connection, and not that it is
// silent.
func gone(err error) bool {
	var late net.Error
	return !errors.As(err, &late) || !late.Timeout()
}
