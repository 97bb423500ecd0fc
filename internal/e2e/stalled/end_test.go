package stalled

import (
	"strings"
	"testing"
)

// In other servers writes have no deadline and a server cannot drain. Parley closes connections
// whose client does not read, and shuts down in time despite stalled readers.
func TestStalledReadersDoNotStopTheEnd(t *testing.T) {
	t.Parallel()
	h := start(t, options{store: newStore(t, "sqlite")})
	id := h.to("ann", "flood", sendParams("320")).ID
	held := h.to("ann", "hold", paramsNow("hi")).ID
	for range 4 {
		h.dial(4096).begin("ann", "/v1/a2a/flood/message:stream", sendParams("320"))
		h.dial(4096).begin("ann", "/a2a", envelope("GetTask", `{"id":"`+id+`"}`))
	}
	sub := h.stream(t.Context(), call{"ann", "GET", "/tasks/" + held + ":subscribe", "", nil})
	h.alive("bob")
	h.stop() // no write of a stalled reader ends by itself
	if !strings.Contains(h.logs.String(), "connections were cut") {
		t.Error("no connection was cut, so nobody stalled")
	}
	r := h.read(sub.Body)
	first := r.event()
	rest := append([]event{first}, r.rest()...)
	gapless(t, first.id-1, rest)
	for _, state := range []string{"COMPLETED", "FAILED", "CANCELED"} {
		if last := rest[len(rest)-1]; strings.Contains(last.data, state) {
			t.Errorf("the subscriber saw the task end: %v", last)
		}
	}
}
