package inprocess_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/parley-a2a/parley/internal/outbound/inprocess"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func start(t *testing.T, h http.HandlerFunc) *http.Client {
	t.Helper()
	transport := &inprocess.Transport{Handler: h}
	t.Cleanup(transport.Close)
	return &http.Client{Transport: transport}
}

func request(t *testing.T, ctx context.Context, body string) *http.Request { //nolint:revive // t comes first in tests
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://hub/path?q=1", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	c := start(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Path", r.RequestURI)
		w.WriteHeader(http.StatusTeapot)
		w.Header().Set("X-Late", "no")
		fmt.Fprintf(w, "%s from %s", b, r.Host)
	})
	resp, err := c.Do(request(t, t.Context(), "hello"))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	got := fmt.Sprintf("%d %s %q %q %v", resp.StatusCode, b, resp.Header.Get("X-Path"), resp.Header.Get("X-Late"), err)
	if want := `418 hello from hub "/path?q=1" "" <nil>`; got != want {
		t.Errorf("answer = %s, want %s", got, want)
	}
}

func TestEmptyAnswer(t *testing.T) {
	t.Parallel()
	resp, err := start(t, func(http.ResponseWriter, *http.Request) {}).Do(request(t, t.Context(), ""))
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("Do: %v, %v", resp, err)
	}
	_ = resp.Body.Close()
}

// TestStream checks that a stream is read while it is written, and that closing it cancels the
// handler.
func TestStream(t *testing.T) {
	t.Parallel()
	ended := make(chan error, 1)
	c := start(t, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(w, "one")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		_, err := fmt.Fprintln(w, "two")
		ended <- err
	})
	resp, err := c.Do(request(t, t.Context(), ""))
	if err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(resp.Body).ReadString('\n')
	if line != "one\n" || err != nil {
		t.Errorf("line = %q, %v", line, err)
	}
	_ = resp.Body.Close()
	if err := <-ended; err == nil {
		t.Error("the handler writes to nobody")
	}
}

func TestCancelBeforeTheAnswer(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	c := start(t, func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	})
	if _, err := c.Do(request(t, ctx, "")); !errors.Is(err, context.Canceled) { //nolint:bodyclose // there is none
		t.Errorf("Do: %v", err)
	}
}

func TestPanic(t *testing.T) {
	t.Parallel()
	c := start(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Begin") != "" {
			fmt.Fprint(w, "some")
		}
		panic("oh")
	})
	if _, err := c.Do(request(t, t.Context(), "")); err == nil { //nolint:bodyclose // there is none
		t.Error("a panic is no error")
	}
	r := request(t, t.Context(), "")
	r.Header.Set("X-Begin", "1")
	resp, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if b, err := io.ReadAll(resp.Body); string(b) != "some" || err == nil {
		t.Errorf("read %q, %v", b, err)
	}
}

func TestClose(t *testing.T) {
	t.Parallel()
	transport := &inprocess.Transport{Handler: http.NotFoundHandler()}
	transport.Close()
	if _, err := transport.RoundTrip(request(t, t.Context(), "")); !errors.Is(err, inprocess.ErrClosed) { //nolint:bodyclose // there is none
		t.Errorf("RoundTrip: %v", err)
	}
}

// TestServe checks that a handler runs in the goroutine of its caller, that its panic is an error,
// and that a closed transport refuses requests.
func TestServe(t *testing.T) {
	t.Parallel()
	transport := &inprocess.Transport{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/panic" {
			panic("no")
		}
		_, _ = io.WriteString(w, r.RequestURI+" "+r.RemoteAddr)
	})}
	w := httptest.NewRecorder()
	if err := transport.Serve(w, request(t, t.Context(), "")); err != nil || w.Body.String() != "/path?q=1 127.0.0.1:0" {
		t.Errorf("Serve() = %v, %q", err, w.Body)
	}
	r := request(t, t.Context(), "")
	r.URL.Path = "/panic"
	if err := transport.Serve(httptest.NewRecorder(), r); err == nil || !strings.Contains(err.Error(), "panicked") {
		t.Errorf("Serve() of a handler that panics = %v", err)
	}
	transport.Close()
	if err := transport.Serve(httptest.NewRecorder(), request(t, t.Context(), "")); !errors.Is(err, inprocess.ErrClosed) {
		t.Errorf("Serve() after Close = %v, want %v", err, inprocess.ErrClosed)
	}
}
