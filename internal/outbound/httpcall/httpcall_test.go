package httpcall_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/internal/outbound/httpcall"
	"github.com/parley-a2a/parley/internal/testing/testenv"
)

func TestParseURL(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"127.0.0.1:4100": "http://127.0.0.1:4100", "localhost": "http://localhost", "example.org/a": "https://example.org/a",
		"https://example.org/#x": "https://example.org/", "": "", "ftp://host/": "", "http://": "", "://": "", "http://[": "",
	} {
		u, err := httpcall.ParseURL(raw)
		if want == "" && err == nil || want != "" && (err != nil || u.String() != want) {
			t.Errorf("ParseURL(%q) = %v, %v, want %q", raw, u, err, want)
		}
	}
}

func TestReadBounded(t *testing.T) {
	t.Parallel()
	read := func(limit int64) (string, error) {
		b, err := httpcall.ReadBounded(io.NopCloser(strings.NewReader("four")), limit)
		return string(b), err
	}
	if got, err := read(4); got != "four" || err != nil {
		t.Errorf("ReadBounded(4) = %q, %v, want all of it", got, err)
	}
	if _, err := read(3); !errors.Is(err, httpcall.ErrTooLarge) {
		t.Errorf("ReadBounded(3) = %v, want ErrTooLarge", err)
	}
}

// TestUnreachable checks that a server that was connected to counts as having received
// something.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	defer srv.Close()
	dead := "http://" + testenv.Addr(t)
	for _, base := range []*http.Client{nil, {}} {
		c, release := httpcall.Client(base)
		defer release()
		for url, want := range map[string]bool{srv.URL: false, dead: true} {
			_, err := c.Get(url)
			if err == nil || errors.Is(err, httpcall.ErrUnreachable) != want {
				t.Errorf("Get(%s) = %v, unreachable %t", url, err, want)
			}
			if why := httpcall.Reason(err).Error(); strings.Contains(why, "Get ") || want && !strings.Contains(why, "is not reachable") {
				t.Errorf("the reason is %q", why)
			}
		}
	}
}

func TestGet(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/good":
			_, _ = io.WriteString(w, `{"accept":"`+r.Header.Get("Accept")+`"}`)
		case "/page":
			_, _ = io.WriteString(w, "<html>")
		case "/flood":
			_, _ = io.WriteString(w, strings.Repeat(" ", 101))
		default:
			http.NotFound(w, r)
		}
	}))
	defer srv.Close()
	for path, want := range map[string]string{"/good": "", "/page": "is not JSON", "/flood": "more than 100 bytes", "/none": "status 404"} {
		text, err := httpcall.Get(t.Context(), srv.Client(), srv.URL+path, 100)
		switch {
		case want == "" && (err != nil || string(text) != `{"accept":"application/json"}`):
			t.Errorf("Get(%s) = %q, %v", path, text, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), srv.URL+path)):
			t.Errorf("Get(%s) = %q, %v, want %q and the address", path, text, err, want)
		}
	}
}
