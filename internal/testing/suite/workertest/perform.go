package workertest

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/bus/protocol"
)

// perform takes each step of a transcript, and then ends the worker, which must have sent nothing
// else.
func (h *hub) perform(steps []step) {
	h.t.Helper()
	for _, s := range steps {
		switch s.actor {
		case "raw":
			h.broker.Raw(h.t, protocol.JobAt(Agent).Name, []byte(s.text))
		case "content":
			h.setContent(s)
		case "piece", "damaged":
			h.sendPiece(s)
		case "stop":
			h.stop()
		case "worker", "dead":
			h.expect(s)
		default:
			h.send(s)
		}
	}
	h.finish()
}

func (h *hub) stop() {
	h.stopped = true
	h.worker.Stop()
}

// finish ends the worker and reports the messages that no step has taken.
func (h *hub) finish() {
	h.t.Helper()
	if !h.stopped {
		h.stop()
	}
	h.end()
	for _, at := range []bus.Address{protocol.ControlAt(hubID), protocol.ReportAt(hubID), protocol.Discovery} {
		e := &bus.Envelope{ID: "end-" + at.Name, Type: "test.end", Source: "hub/" + hubID}
		if err := h.broker.Bus.Publish(h.t.Context(), at, e); err != nil {
			h.t.Fatal(err)
		}
	}
	late := time.After(patience)
	for left := 3; left > 0; {
		a := h.next(step{line: "the end of the worker"}, late)
		switch {
		case a.kind == "test.end":
			left--
		case a.kind == string(protocol.TypeGoodbye):
		case !a.optional():
			h.t.Errorf("after the last line the worker has sent %s", show(a))
		}
	}
	if !h.seen[leave] {
		h.t.Errorf("the worker has ended without %s", protocol.TypeGoodbye)
	}
	h.checkQueue()
}

// end waits for the end of the worker.
func (h *hub) end() {
	h.t.Helper()
	if err := h.worker.Ended(); err != nil {
		h.t.Errorf("the worker has ended with %v, want nil", err)
	}
}

// checkQueue verifies that the worker holds no work. The broker may still handle the last acknowledgement.
func (h *hub) checkQueue() {
	h.t.Helper()
	op, ok := h.broker.Bus.(bus.Operator)
	if !ok {
		return
	}
	timer, again := time.NewTimer(patience), time.NewTicker(10*time.Millisecond)
	defer timer.Stop()
	defer again.Stop()
	for {
		d, err := op.Depth(h.t.Context(), protocol.JobAt(Agent))
		if err == nil && d.Ready+d.Held == 0 {
			return
		}
		select {
		case <-again.C:
		case <-timer.C:
			h.t.Fatalf("the queue of the agent has %+v, %v after the end of the worker; want none", d, err)
		}
	}
}

// expect waits for the message of a step.
func (h *hub) expect(s step) {
	h.t.Helper()
	if s.kind == "acknowledges" {
		h.expectAcks(s)
		return
	}
	late := time.After(patience)
	for {
		a := h.next(s, late)
		diff := "its type"
		if s.takes(a) {
			if diff = h.names.match(any(s.members), any(a.value)); diff == "" {
				return
			}
		}
		if !a.optional() {
			h.t.Fatalf("%s\nthe worker has sent %s\nthe difference is %s", s.line, show(a), diff)
		}
	}
}

// takes reports whether a message is of the kind that the step expects. A fetch that was sent before
// is a repetition, or the first one after damaged content.
func (s step) takes(a arrival) bool {
	if s.actor == "dead" || a.dead {
		return a.dead == (s.actor == "dead")
	}
	again := s.flag == "again"
	return a.kind == s.kind && (a.repeat == again || a.kind == string(protocol.TypeFetch) && !again)
}

// optional reports whether the message may arrive at any time.
func (a arrival) optional() bool {
	switch a.kind {
	case string(protocol.TypeHeartbeat), string(protocol.TypeAnnounce):
		return !a.dead
	case string(protocol.TypeClaim), string(protocol.TypeFetch), "output":
		return a.repeat
	}
	return false
}

// expectAcks waits until the worker has acknowledged a number of deliveries.
func (h *hub) expectAcks(s step) {
	h.t.Helper()
	want, err := strconv.Atoi(s.text)
	if err != nil {
		h.t.Fatalf("%s: %v", s.line, err)
	}
	if h.acks >= want {
		h.t.Fatalf("%s\nthe worker has acknowledged %d deliveries already", s.line, h.acks)
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for h.acks < want {
		select {
		case <-h.broker.Acks:
			h.acks++
		case <-timer.C:
			h.t.Fatalf("%s\nthe worker has acknowledged %d deliveries within %v", s.line, h.acks, patience)
		}
	}
}

// next returns the next message of the worker. late is the end of patience.
func (h *hub) next(s step, late <-chan time.Time) arrival {
	h.t.Helper()
	for len(h.waiting) == 0 {
		select {
		case a := <-h.arrived:
			h.waiting = h.split(a)
		case <-late:
			h.t.Fatalf("%s\nthe worker has not sent this within %v", s.line, patience)
		}
	}
	a := h.waiting[0]
	h.waiting = h.waiting[1:]
	return a
}

// split returns the outputs of a report, or the message itself.
func (h *hub) split(a arrival) []arrival {
	body, _ := a.value["body"].(map[string]any)
	switch {
	case a.dead:
	case a.kind == string(protocol.TypeGoodbye):
		h.before(leave)
	case a.kind == string(protocol.TypeReport) && body["cancelRefused"] == nil:
		return h.outputs(a.value, body)
	case a.kind == string(protocol.TypeClaim):
		a.repeat = h.before("claim", body["nonce"])
	case a.kind == string(protocol.TypeFetch):
		a.repeat = h.before("fetch", body["offset"])
	}
	return []arrival{a}
}

// leave is the key of the last announcement in seen.
const leave = "leave"

// before reports whether it was called with these arguments before.
func (h *hub) before(about ...any) bool {
	key := fmt.Sprint(about...)
	known := h.seen[key]
	h.seen[key] = true
	return known
}

// outputs returns the numbered outputs of a report.
func (h *hub) outputs(e, body map[string]any) []arrival {
	if token := fmt.Sprint(body["token"]); !h.tokens[token] || body["worker"] != h.names["$WORKER"] {
		h.t.Errorf("a report has the token %s and the worker %v, want those of the grant", token, body["worker"])
	}
	if h.before("id", e["id"]) && e["id"] != nil {
		h.t.Errorf("a report repeats the id %v: a broker may drop it", e["id"])
	}
	number, _ := e["seq"].(float64)
	var all []arrival
	add := func(name string, v any) {
		o := map[string]any{
			"seq": number, "epoch": e["epoch"], "task": e["task"], "correlation": e["correlation"], "token": body["token"],
			"public": body["public"] == true, name: v,
		}
		if name == "piece" {
			h.join(o, body)
		}
		all = append(all, arrival{kind: "output", value: o, repeat: h.before("output", e["task"], e["epoch"], number)})
		number++
	}
	events, _ := body["events"].([]any)
	for _, event := range events {
		add("event", event)
	}
	for _, name := range []string{"piece", "error", "ended", "givenBack"} {
		if v, ok := body[name]; ok {
			add(name, v)
		}
	}
	return h.inOrder(fmt.Sprint(e["task"], e["epoch"]), all)
}

// inOrder keeps outputs until all before them have arrived: the topic of the hub may be faster than
// its queue.
func (h *hub) inOrder(run string, outputs []arrival) []arrival {
	var ready []arrival
	for _, a := range outputs {
		if a.repeat {
			ready = append(ready, a)
		} else {
			h.early[run] = append(h.early[run], a)
		}
	}
	for {
		i := slices.IndexFunc(h.early[run], func(a arrival) bool { return a.value["seq"] == float64(h.numbers[run]+1) })
		if i < 0 {
			return ready
		}
		ready = append(ready, h.early[run][i])
		h.early[run] = slices.Delete(h.early[run], i, i+1)
		h.numbers[run]++
	}
}

// join adds a piece to its event, and to the last piece the whole event.
func (h *hub) join(output, body map[string]any) {
	piece, _ := body["piece"].(map[string]any)
	large, _ := body["large"].(map[string]any)
	id := fmt.Sprint(large["id"])
	data, err := base64.StdEncoding.DecodeString(fmt.Sprint(piece["data"]))
	if err != nil || len(data) > protocol.MaxPiece || piece["blob"] != large["id"] {
		h.t.Errorf("piece %v of %v: %d bytes, %v", piece["offset"], large, len(data), err)
	}
	if offset, _ := piece["offset"].(float64); int(offset) == len(h.whole[id]) {
		h.whole[id] = slices.Concat(h.whole[id], data)
	}
	size, _ := large["size"].(float64)
	if len(h.whole[id]) < int(size) {
		return
	}
	sum, want := sha256.Sum256(h.whole[id]), fmt.Sprint(large["sha256"])
	if base64.StdEncoding.EncodeToString(sum[:]) != want {
		h.t.Errorf("the pieces of %v have another SHA-256", large)
	}
	var whole any
	if err := json.Unmarshal(h.whole[id], &whole); err != nil {
		h.t.Errorf("the pieces of %v are no event: %v", large, err)
	}
	output["whole"] = whole
}

// show returns a message for people.
func show(a arrival) string {
	text, err := json.Marshal(a.value)
	if err != nil {
		return err.Error()
	}
	const most = 2000
	if len(text) > most {
		text = append(bytes.Clone(text[:most]), "…"...)
	}
	where := map[bool]string{true: "to dead: "}[a.dead]
	return fmt.Sprintf("%s%s %s (repeated: %v)", where, a.kind, text, a.repeat)
}
