package cli

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/adminjson"
)

// TestKeysThatFitNoRequest checks that a key that is far too long is refused without a request.
func TestKeysThatFitNoRequest(t *testing.T) {
	t.Parallel()
	key := strings.Repeat("k", 1<<20)
	for _, args := range [][]string{{"get", key}, {"set", key, "x"}, {"delete", key}, {"delete", "--prefix", key}} {
		code, out, errs := invoke(t, OS{}, append([]string{"memory"}, args...)...)
		if code != 2 || out != "" || !strings.Contains(errs, "it has 1048576 bytes; the maximum is 512") || len(errs) > 500 {
			t.Errorf("memory %s: exit %d, %q, %.300q", args[0], code, out, errs)
		}
	}
}

// TestWatchGoesOn checks that a broken stream of notes is resumed, and that no note is printed
// twice.
func TestWatchGoesOn(t *testing.T) {
	t.Parallel()
	note := func(key string, second int) string {
		return fmt.Sprintf(`data: {"key":%q,"preview":"%[2]d","updatedAt":"2026-01-01T00:00:%02[2]dZ","expiresAt":"2026-01-02T00:00:00Z"}`+"\n\n", key, second)
	}
	for _, last := range []struct {
		status int
		body   string
		want   string // of the error
	}{
		{200, note("a", 2) + note("b", 3) + note("c", 4) + note("d", 5), ""},
		{403, `{"error":{"message":"not yours any more"}}`, "not yours any more"},
	} {
		answers := []func(w http.ResponseWriter){
			func(w http.ResponseWriter) { fmt.Fprint(w, note("a", 1)+note("b", 1)) },
			func(w http.ResponseWriter) { http.Error(w, "", http.StatusServiceUnavailable) },
			func(w http.ResponseWriter) { fmt.Fprint(w, note("a", 1)+note("b", 3)) },
			func(w http.ResponseWriter) { w.WriteHeader(last.status); fmt.Fprint(w, last.body) },
		}
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			answers[0](w)
			answers = answers[1:]
		}))
		var out, received strings.Builder
		w := &noteWatch{
			cmd: &memoryWatchCmd{hubFlags: hubFlags{URL: srv.URL}, Limit: 5}, out: &out, notices: &received,
			retry: time.Millisecond, seen: map[string]noteSeen{},
		}
		err := w.follow(t.Context())
		srv.Close()
		if (err == nil) != (last.want == "") || err != nil && err.Error() != last.want {
			t.Errorf("follow = %v, want %q", err, last.want)
		}
		var got []string
		for line := range strings.Lines(out.String()) {
			f := strings.Split(strings.TrimSpace(line), "\t")
			got = append(got, f[0]+f[len(f)-1])
		}
		want := []string{"a1", "b1", "b3", "a2", "c4"}
		if last.want != "" {
			want = want[:3]
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("printed (-want +got):\n%s", diff)
		}
		if n := strings.Count(received.String(), "waiting for it"); n != 2 {
			t.Errorf("notices %q, want two that wait for the hub", received.String())
		}
	}
}

// TestWatchBegins checks that the first stream must open at once, and that a closed reader ends
// it.
func TestWatchBegins(t *testing.T) {
	t.Parallel()
	away := &noteWatch{cmd: &memoryWatchCmd{hubFlags: hubFlags{URL: "http://127.0.0.1:1"}}, out: io.Discard, notices: io.Discard, retry: time.Hour}
	if err := away.follow(t.Context()); err == nil || !passing(err) {
		t.Errorf("follow where nobody is = %v", err)
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `data: {"key":"a"}`+"\n\n")
	}))
	t.Cleanup(srv.Close)
	r, out := io.Pipe()
	gone := errors.New("the reader is gone")
	r.CloseWithError(gone)
	w := &noteWatch{cmd: &memoryWatchCmd{hubFlags: hubFlags{URL: srv.URL}}, out: out, notices: io.Discard, retry: time.Hour, seen: map[string]noteSeen{}}
	if err := w.follow(t.Context()); !errors.Is(err, gone) {
		t.Errorf("follow = %v, want %v", err, gone)
	}
}

// TestSeenNotes checks that expired notes are removed if there are many.
func TestSeenNotes(t *testing.T) {
	t.Parallel()
	w := &noteWatch{seen: map[string]noteSeen{}}
	for i := range 5 * leastKept {
		n := adminjson.Note{Key: fmt.Sprint(i), UpdatedAt: time.Unix(1, 0), ExpiresAt: time.Unix(2, 0)}
		if !w.fresh(&n) || w.fresh(&n) {
			t.Fatalf("note %d is not seen once", i)
		}
	}
	if len(w.seen) > 2*leastKept {
		t.Errorf("%d notes are remembered, most of which have ended", len(w.seen))
	}
}
