package rows

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/parley-a2a/parley/cmd/bench/internal/serve"
	"github.com/parley-a2a/parley/cmd/bench/internal/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// dial returns a connection to a server that answers every call with the result of answer for
// its body.
func dial(t *testing.T, answer func(body string) string) *wire.Conn {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		_, _ = io.WriteString(w, answer(string(body)))
	}))
	c, err := wire.Dial(t.Context(), s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Close()
		s.Close()
	})
	return c
}

// between returns the text in s between two marks.
func between(s, from, to string) string {
	_, s, _ = strings.Cut(s, from)
	s, _, _ = strings.Cut(s, to)
	return s
}

// TestSenderChecks checks that a sender accepts only the correct answer to its current message.
func TestSenderChecks(t *testing.T) {
	t.Parallel()
	const answer = `{"result":{"task":{"status":{"state":"%s"},"artifacts":[{"parts":[{"text":"%s"}]}],"history":[{"parts":[{"text":"say %s"}]}]}}}`
	for name, tt := range map[string]struct {
		answer func(text string) string
		ok     bool
	}{
		"right":    {func(s string) string { return fmt.Sprintf(answer, "TASK_STATE_COMPLETED", s, s) }, true},
		"working":  {func(s string) string { return fmt.Sprintf(answer, "TASK_STATE_WORKING", s, s) }, false},
		"stale":    {func(s string) string { return fmt.Sprintf(answer, "TASK_STATE_COMPLETED", "x"+s[1:], s) }, false},
		"no text":  {func(s string) string { return fmt.Sprintf(answer, "TASK_STATE_COMPLETED", "", s) }, false},
		"an error": {func(string) string { return `{"error":{"code":-32603,"message":"internal error"}}` }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := dial(t, func(body string) string { return tt.answer(between(body, `"text":"say `, `"`)) })
			s := newSender(c, v10, 100)
			for n := range uint64(3) {
				if err := s.send(n); (err == nil) != tt.ok {
					t.Errorf("send(%d) = %v, want ok %v", n, err, tt.ok)
				}
			}
		})
	}
}

func TestFollowCounts(t *testing.T) {
	t.Parallel()
	const chunk = "data: " + serve.ChunkText + "\n\n"
	const end = `data: {"state":"TASK_STATE_COMPLETED"}` + "\n\n"
	for body, ok := range map[string]bool{
		chunk + chunk + end:         true,
		chunk + end:                 false,
		chunk + chunk + chunk + end: false,
		chunk + chunk:               false,
		end + chunk + chunk:         false,
		"":                          false,
	} {
		s, err := dial(t, func(string) string { return body }).Stream(wire.Get("/").With(0))
		if err != nil {
			t.Fatal(err)
		}
		if err := follow(s, 2); (err == nil) != ok {
			t.Errorf("follow(%q, 2) = %v, want ok %v", body, err, ok)
		}
	}
}

func TestGetterChecks(t *testing.T) {
	t.Parallel()
	const answer = `{"id":"%s","state":"TASK_STATE_COMPLETED","text":"something to me"}`
	right := dial(t, func(body string) string { return fmt.Sprintf(answer, between(body, `"params":{"id":"`, `"`)) })
	if err := getter(right, 100)(0); err != nil {
		t.Errorf("the right task: %v", err)
	}
	other := dial(t, func(string) string { return fmt.Sprintf(answer, taskID(100)) })
	if err := getter(other, 100)(0); err == nil {
		t.Error("another task was taken for the one that was asked for")
	}
}

func TestListerChecks(t *testing.T) {
	t.Parallel()
	page := func(n, total int) string {
		return `{"tasks":[` + strings.Repeat(`{"state":"TASK_STATE_COMPLETED"},`, n) + fmt.Sprintf(`],"totalSize":%d}`, total)
	}
	totals := make([]int, ownersOf(1_000))
	for i := range totals {
		totals[i] = 70
	}
	for _, tt := range []struct {
		n, total int
		ok       bool
	}{{50, 70, true}, {49, 70, false}, {51, 70, false}, {50, 71, false}, {50, 7, false}, {50, 700, false}} {
		c := dial(t, func(string) string { return page(tt.n, tt.total) })
		if err := lister(c, totals, 1_000)(0); (err == nil) != tt.ok {
			t.Errorf("a page of %d of %d: %v, want ok %v", tt.n, tt.total, err, tt.ok)
		}
	}
}

func TestTotal(t *testing.T) {
	t.Parallel()
	c := dial(t, func(string) string { return `{"result":{"tasks":[],"totalSize":12}}` })
	if got, err := total(c, "TASK_STATE_WORKING"); err != nil || got != 12 {
		t.Errorf("total = %d, %v, want 12", got, err)
	}
	c = dial(t, func(string) string { return `{"error":{"code":-32603}}` })
	if got, err := total(c, "TASK_STATE_WORKING"); err == nil {
		t.Errorf("total = %d of an error", got)
	}
}

func TestOwners(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]int{1_000: 10, 10_000: 100, 1_000_000: 1_000} {
		counts := make([]int, ownersOf(n))
		for i := range n {
			counts[ownerOf(i, n)]++
		}
		if len(counts) != want || counts[0] != n/10 {
			t.Errorf("%d owners share %d tasks and the largest has %d, want %d and %d", len(counts), n, counts[0], want, n/10)
		}
		for i, c := range counts[1:] {
			if c <= pageSize || c > n/10 && n > 1_000 {
				t.Errorf("owner %d of %d tasks has %d", i+1, n, c)
				break
			}
		}
	}
	if a, b := taskID(9), taskID(10); len(a) != 36 || a >= b {
		t.Errorf("ids %q and %q, want 36 bytes in order", a, b)
	}
}

func TestRequestOfOwner(t *testing.T) {
	t.Parallel()
	got := string(newOwned("GetTask", `{"id":"`+wire.Mark+`"}`).of(42, 7))
	for _, want := range []string{"X-Owner: owner-0042\r\n", `{"id":"0000000000000007"}`} {
		if !strings.Contains(got, want) {
			t.Errorf("request without %q:\n%s", want, got)
		}
	}
}

func TestCount(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567"} {
		if got := count(n); got != want {
			t.Errorf("count(%d) = %s, want %s", n, got, want)
		}
	}
}
