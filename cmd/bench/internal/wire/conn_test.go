package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// startServer serves h and returns a connection to it.
func startServer(t *testing.T, h http.HandlerFunc) *Conn {
	t.Helper()
	s := httptest.NewServer(h)
	c, err := Dial(t.Context(), s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Close()
		s.Close()
	})
	return c
}

func TestDo(t *testing.T) {
	t.Parallel()
	bodies := map[string]string{
		"/short": "hello",
		"/empty": "",
		"/long":  strings.Repeat("long ", 40_000), // is sent in chunks
	}
	c := startServer(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Header.Get("A2A-Version") != "1.0" || r.Header.Get("X-Owner") != "anna" {
			t.Errorf("request %v with body %q, %v", r.Header, body, err)
		}
		_, _ = io.WriteString(w, bodies[r.URL.Path]+string(body))
	})
	for range 3 {
		for path, want := range bodies {
			r := Post(path, `{"n":"`+Mark+`"}`, "X-Owner: anna")
			got, err := c.Do(r.With(0xab))
			if err != nil {
				t.Fatalf("Do(%s): %v", path, err)
			}
			if want += `{"n":"00000000000000ab"}`; string(got) != want {
				t.Fatalf("Do(%s) = %.80q (%d bytes), want %.80q (%d)", path, got, len(got), want, len(want))
			}
		}
	}
}

func TestRefusal(t *testing.T) {
	t.Parallel()
	c := startServer(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(503)
		fmt.Fprintf(w, "no %s today", r.URL.Path)
	})
	_, err := c.Do(Get("/tea").With(0))
	if !errors.Is(err, ErrAnswer) || !strings.Contains(err.Error(), "503") || !strings.Contains(err.Error(), "no /tea today") {
		t.Errorf("Do = %v, want one with status and body", err)
	}
	if _, err := c.Stream(Get("/tea").With(0)); !errors.Is(err, ErrAnswer) {
		t.Errorf("Stream = %v, want %v", err, ErrAnswer)
	}
}

func TestStream(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 100_000)
	c := startServer(t, func(w http.ResponseWriter, r *http.Request) {
		for _, piece := range []string{": hello\n\nid: 1\nda", "ta: one\n\nevent: a\ndata:two\r\n\r\n", "data: ", long, "\n\n"} {
			_, _ = io.WriteString(w, piece)
			w.(http.Flusher).Flush()
		}
	})
	for range 2 {
		s, err := c.Stream(Get("/").With(0))
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"one", "two", long} {
			if got, err := s.Next(); err != nil || string(got) != want {
				t.Fatalf("Next = %.40q, %v, want %.40q", got, err, want)
			}
		}
		if got, err := s.Next(); err != io.EOF {
			t.Fatalf("Next at the end = %.40q, %v, want %v", got, err, io.EOF)
		}
	}
}

// answering returns a connection to a server that sends exactly this text and closes.
func answering(t testing.TB, answer string) *Conn {
	t.Helper()
	near, far := net.Pipe()
	done := make(chan struct{})
	go func() { // ends when the answer is sent or near is closed
		defer close(done)
		defer far.Close()
		if _, err := far.Read(make([]byte, 4096)); err == nil {
			_, _ = io.WriteString(far, answer)
		}
	}()
	t.Cleanup(func() {
		near.Close()
		<-done
	})
	return newConn(near)
}

func TestBrokenAnswers(t *testing.T) {
	t.Parallel()
	const ok = "HTTP/1.1 200 OK\r\n"
	for name, answer := range map[string]string{
		"nothing":          "",
		"half a head":      ok + "Content-Length: 3\r\n",
		"half a body":      ok + "Content-Length: 3\r\n\r\nab",
		"no length":        ok + "\r\nabc",
		"bad length":       ok + "Content-Length: x\r\n\r\nabc",
		"negative length":  ok + "Content-Length: -1\r\n\r\nabc",
		"other protocol":   "SSH-2.0\r\n\r\n",
		"short status":     "HTTP/1.1 20\r\n\r\n",
		"bad status":       "HTTP/1.1 2x0 OK\r\n\r\n",
		"endless head":     ok + strings.Repeat("A: b\r\n", 20_000),
		"chunk size":       ok + "Transfer-Encoding: chunked\r\n\r\nzz\r\n",
		"chunk end":        ok + "Transfer-Encoding: chunked\r\n\r\n1\r\nabc",
		"no last chunk":    ok + "Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n",
		"huge chunk":       ok + "Transfer-Encoding: chunked\r\n\r\n7fffffff\r\n",
		"endless size":     ok + "Transfer-Encoding: chunked\r\n\r\n" + strings.Repeat("0", 70_000),
		"an error instead": "HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if body, err := answering(t, answer).Do([]byte("GET")); err == nil {
				t.Errorf("Do = %q, want an error", body)
			}
		})
	}
}

func TestBrokenStream(t *testing.T) {
	t.Parallel()
	for name, rest := range map[string]string{
		"cut":           "a\r\ndata: one\n\r\n",
		"within a line": "8\r\ndata: on\r\n0\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := answering(t, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"+rest).Stream([]byte("GET"))
			for err == nil {
				_, err = s.Next()
			}
			if err == io.EOF {
				t.Error("the stream ends as if it were whole")
			}
		})
	}
}

func TestContextCloses(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer s.Close()
	ctx, cancel := context.WithCancel(t.Context())
	c, err := Dial(ctx, s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	done := make(chan error)
	go func() { // ends with Do
		_, err := c.Do(Get("/").With(0))
		done <- err
	}()
	cancel()
	if err := <-done; err == nil {
		t.Error("Do = nil after its context has ended")
	}
}

func FuzzAnswer(f *testing.F) {
	f.Add("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc")
	f.Add("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n")
	f.Add("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\ndata: a\n\n\r\n0\r\n\r\n")
	f.Fuzz(func(t *testing.T, answer string) {
		body, err := answering(t, answer).Do([]byte("GET"))
		if err == nil && len(body) > len(answer) {
			t.Errorf("a body of %d bytes from an answer of %d", len(body), len(answer))
		}
		s, err := answering(t, answer).Stream([]byte("GET"))
		for n := 0; err == nil; n++ {
			if n > len(answer) {
				t.Fatal("more events than bytes")
			}
			_, err = s.Next()
		}
	})
}
