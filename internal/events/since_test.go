package events_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/parley-a2a/parley/internal/events"
	"github.com/parley-a2a/parley/internal/store/memstore"
)

// TestSince reads the events from a time on, among notices of many minutes.
func TestSince(t *testing.T) {
	t.Parallel()
	const minutes = 100
	first := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	s := new(memstore.Store)
	for n := range minutes {
		b, err := json.Marshal(events.Event{Type: events.DeadLetter, Time: first.Add(time.Duration(n) * time.Minute), Data: map[string]any{"n": n}})
		if err == nil {
			err = s.AddNotices(t.Context(), [][]byte{b})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	r := &events.Recorder{Store: s}
	for since, want := range map[time.Duration]int{-time.Hour: minutes, 0: minutes, time.Second: minutes - 1, 50 * time.Minute: 50, 99 * time.Minute: 1, 2 * time.Hour: 0} {
		all := read(t, r, events.Query{Since: first.Add(since)})
		if len(all) != want {
			t.Errorf("since %v: %d events, want %d", since, len(all), want)
		}
	}
	if all := read(t, r, events.Query{Since: first, After: events.First}); len(all) != minutes {
		t.Errorf("after the first one: %d events", len(all))
	}
}
