package wake

import "testing"

// A signal stays pending until it is received. It is received once, however often it was sent.
func TestSignal(t *testing.T) {
	t.Parallel()
	s := New()
	for range 2 {
		s.Send()
		s.Send()
		select {
		case <-s:
		default:
			t.Fatal("no signal is pending after Send")
		}
		select {
		case <-s:
			t.Fatal("a second signal is pending")
		default:
		}
	}
	Signal(nil).Send() // does not block
}

// Send wakes all receivers that waited before it, and none that wait after it.
func TestBroadcast(t *testing.T) {
	t.Parallel()
	var b Broadcast
	b.Send() // without a receiver
	first, second := b.Next(), b.Next()
	select {
	case <-first:
		t.Fatal("a receiver was woken before Send")
	default:
	}
	b.Send()
	<-first
	<-second
	select {
	case <-b.Next():
		t.Fatal("a receiver was woken by an earlier Send")
	default:
	}
}
