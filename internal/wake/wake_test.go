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
