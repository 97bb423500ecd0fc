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
		s.add("used", &credential{key: "key"})
		s.add("idle", &credential{key: "key"})
		for range 13 {
			time.Sleep(55 * time.Minute)
			synctest.Wait()
			if c := s.find("used"); c.key != "key" {
				t.Fatal("a session in use has ended")
			}
		}
		if c := s.find("idle"); c.key != "" {
			t.Error("an idle session lasts")
		}
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if c := s.find("used"); c.key != "" || len(s.all) != 0 {
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
			s.add(strconv.Itoa(i), &credential{key: "key"})
			time.Sleep(time.Millisecond)
			synctest.Wait()
		}
		first := s.find("0")
		second := s.find("1")
		if first.key != "" || second.key == "" || len(s.all) != maxSessions {
			t.Errorf("%d sessions, the first %q, the second %q", len(s.all), first.key, second.key)
		}
	})
}
