package auth

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/apierror"
)

// closed returns a keyring with one key, and the text of the key.
func closed() (*Keyring, string) {
	k, text := NewKey(Principal{ID: "ann"}, time.Now())
	return &Keyring{Configured: []Key{*k}}, text
}

func from(addr, key string) *Request {
	return &Request{RemoteAddr: addr, Header: func(name string) []string {
		if name == HeaderKey && key != "" {
			return []string{key}
		}
		return nil
	}}
}

// try makes a failed attempt and returns the duration of the answer.
func try(t testing.TB, r *Keyring, addr string) time.Duration {
	t.Helper()
	start := time.Now()
	if _, err := r.Authenticate(t.Context(), from(addr, "wrong")); !errors.Is(err, ErrUnauthenticated) {
		t.Fatalf("attempt from %s = %v", addr, err)
	}
	return time.Since(start)
}

func TestFailuresAreDelayed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, text := closed()
		var got []int64
		for range 12 {
			got = append(got, try(t, r, "192.0.2.1:1").Milliseconds())
		}
		if diff := cmp.Diff([]int64{0, 0, 0, 0, 0, 50, 100, 200, 400, 800, 1000, 1000}, got); diff != "" {
			t.Errorf("delays mismatch (-want +got):\n%s", diff)
		}
		start := time.Now()
		if _, err := r.Authenticate(t.Context(), from("192.0.2.1:1", text)); err != nil {
			t.Errorf("the right key: %v", err)
		}
		if _, err := r.Authenticate(t.Context(), from("192.0.2.1:1", "")); !errors.Is(err, ErrUnauthenticated) {
			t.Errorf("no key: %v", err)
		}
		if d := time.Since(start); d != 0 {
			t.Errorf("callers who do not guess wait for %v", d)
		}
		if d := try(t, r, "192.0.2.2:1"); d != 0 {
			t.Errorf("another address waits for %v", d)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if d := try(t, r, "192.0.2.1:1"); d != 0 {
			t.Errorf("a minute later the answer takes %v", d)
		}
	})
}

func TestDelayEndsWithTheRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, _ := closed()
		for range 10 {
			try(t, r, "192.0.2.1:1")
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		start := time.Now()
		if err := r.Refuse(ctx, from("192.0.2.1:1", ""), "wrong token"); !errors.Is(err, ErrUnauthenticated) {
			t.Errorf("Refuse = %v", err)
		}
		if d := time.Since(start); d != time.Millisecond {
			t.Errorf("the answer takes %v, want the life of the request", d)
		}
	})
}

func TestDelayedAnswersAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, text := closed()
		for range 15 {
			try(t, r, "192.0.2.1:1")
		}
		var wg sync.WaitGroup
		for range maxDelayed {
			wg.Go(func() { try(t, r, "192.0.2.1:1") })
		}
		synctest.Wait()
		start := time.Now()
		_, err := r.Authenticate(t.Context(), from("192.0.2.1:1", "wrong"))
		var f *apierror.Error
		if !errors.As(err, &f) || !errors.Is(err, apierror.ErrExhausted) || f.RetryAfter != time.Second {
			t.Errorf("one more attempt = %v, want that the caller comes back later", err)
		}
		if _, err := r.Authenticate(t.Context(), from("192.0.2.1:1", text)); err != nil {
			t.Errorf("the right key: %v", err)
		}
		if d := time.Since(start); d != 0 {
			t.Errorf("answers beyond the bound take %v", d)
		}
		wg.Wait()
		if d := try(t, r, "192.0.2.1:1"); d != time.Second {
			t.Errorf("afterwards the answer takes %v, want 1s", d)
		}
	})
}

func TestPeersAreBounded(t *testing.T) {
	t.Parallel()
	var th throttle
	now := time.Now()
	for range 10 {
		th.count("192.0.2.1:1", now)
	}
	for i := range 3 * maxPeers {
		th.count(fmt.Sprintf("10.%d.%d.%d:1", i>>16, i>>8&255, i&255), now)
		if i%100 == 0 {
			th.count("192.0.2.1:1", now) // is never the oldest
		}
	}
	if len(th.peers) != maxPeers || th.order.Len() != maxPeers {
		t.Errorf("%d addresses, %d in order, want %d", len(th.peers), th.order.Len(), maxPeers)
	}
	if d, _ := th.count("192.0.2.1:1", now); d != longestDelay {
		t.Errorf("an address that continues is delayed by %v", d)
	}
	if d, _ := th.count("10.0.0.1:1", now); d != 0 {
		t.Errorf("a forgotten address is delayed by %v", d)
	}
}

func TestRecordsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		r, _ := closed()
		r.Logger = slog.New(slog.NewTextHandler(&log, nil))
		for i := range maxRecords + 7 {
			try(t, r, fmt.Sprintf("192.0.2.%d:1", i))
		}
		if got := strings.Count(log.String(), "\n"); got != maxRecords {
			t.Errorf("%d records, want %d", got, maxRecords)
		}
		log.Reset()
		time.Sleep(recordWindow)
		synctest.Wait()
		try(t, r, "192.0.2.200:1")
		try(t, r, "192.0.2.201:1")
		if lines := strings.SplitAfter(log.String(), "\n"); len(lines) != 3 || !strings.Contains(lines[0], "unrecorded=7") || strings.Contains(lines[1], "unrecorded") {
			t.Errorf("records = %q, want the first to count those that are missing", lines)
		}
	})
}
