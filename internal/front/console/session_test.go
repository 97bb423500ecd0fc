package console

import (
	"strconv"
	"testing"
	"testing/synctest"
	"time"
)

// TestSessionsEnd checks that a session ends an hour after its last request, and twelve hours
// after the sign-in.
func TestSessionsEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s sessions
		s.add("used", "key")
		s.add("idle", "key")
		for range 13 {
			time.Sleep(55 * time.Minute)
			if key, _ := s.find("used"); key != "key" {
				t.Fatal("a session in use has ended")
			}
		}
		if key, _ := s.find("idle"); key != "" {
			t.Error("an idle session lasts")
		}
		time.Sleep(10 * time.Minute)
		if key, _ := s.find("used"); key != "" || len(s.all) != 0 {
			t.Errorf("a session lasts longer than %v", sessionMost)
		}
	})
}

// TestSessionsAreBounded checks that the oldest session makes room.
func TestSessionsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s sessions
		for i := range maxSessions + 1 {
			s.add(strconv.Itoa(i), "key")
			time.Sleep(time.Millisecond)
		}
		first, _ := s.find("0")
		second, _ := s.find("1")
		if first != "" || second == "" || len(s.all) != maxSessions {
			t.Errorf("%d sessions, the first %q, the second %q", len(s.all), first, second)
		}
	})
}
