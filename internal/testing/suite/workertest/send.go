package workertest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"github.com/parley-a2a/parley/internal/bus"
	"github.com/parley-a2a/parley/internal/bus/protocol"
)

// send publishes the message of a step.
func (h *hub) send(s step) {
	h.t.Helper()
	members, _ := h.names.fill(s.members).(map[string]any)
	e := h.envelope(s.kind, members)
	var to bus.Address
	switch worker, _ := h.names["$WORKER"].(string); {
	case s.kind == string(protocol.TypeWork) || s.flag == "queue":
		to = protocol.JobAt(Agent)
	case s.kind == string(protocol.TypeHub):
		to = protocol.Inquiry
	default:
		to = protocol.WorkerAt(worker)
	}
	switch s.actor {
	case "hub":
		h.sign(h.signer, e)
	case "forger":
		h.sign(h.forger, e)
	case "tampered":
		h.sign(h.signer, e)
		e.Correlation += "-changed"
	}
	if err := h.broker.Bus.Publish(h.t.Context(), to, e); err != nil {
		h.t.Fatalf("%s: %v", s.line, err)
	}
}

func (h *hub) sign(by *bus.Signer, e *bus.Envelope) {
	h.t.Helper()
	if err := by.Sign(e); err != nil {
		h.t.Fatal(err)
	}
}

// envelope returns an envelope with members, and those that they lack.
func (h *hub) envelope(kind string, members map[string]any) *bus.Envelope {
	h.t.Helper()
	h.sent++
	worker, _ := h.names["$WORKER"].(string)
	all := map[string]any{
		"v": bus.Version, "id": fmt.Sprintf("hub-%d", h.sent), "type": kind, "time": 1764000000000, "source": "hub/" + hubID,
		"destination": "worker/" + worker, "task": "task-1", "owner": "alice", "replyTo": protocol.ControlAt(hubID).Name,
	}
	switch kind {
	case string(protocol.TypeWork):
		all["destination"] = "agent/" + Agent
		members = h.work(members)
	case string(protocol.TypeHub):
		for _, name := range []string{"destination", "task", "owner", "replyTo"} {
			delete(all, name)
		}
	case string(protocol.TypeGrant):
		if body, ok := members["body"].(map[string]any); ok && members["epoch"] != nil {
			h.tokens[fmt.Sprint(body["token"])] = true
		}
	}
	maps.Copy(all, members)
	text, err := json.Marshal(all)
	if err != nil {
		h.t.Fatal(err)
	}
	e := new(bus.Envelope)
	if err := json.Unmarshal(text, e); err != nil {
		h.t.Fatal(err)
	}
	return e
}

// work returns the members of work with a whole body.
func (h *hub) work(members map[string]any) map[string]any {
	body := map[string]any{
		"agent": Agent, "delivery": 1, "key": "task-1/1", "attempt": 1, "contextId": "context-1", "reports": protocol.ReportAt(hubID).Name,
	}
	if h.content != nil {
		body["large"] = protocol.BlobOf(h.content)
	} else {
		body["message"] = message(fmt.Sprint(members["text"]))
	}
	if more, ok := members["body"].(map[string]any); ok {
		maps.Copy(body, more)
	}
	maps.DeleteFunc(body, func(_ string, v any) bool { return v == nil })
	members = maps.Clone(members)
	if members == nil {
		members = map[string]any{}
	}
	delete(members, "text")
	members["body"] = body
	return members
}

func message(text string) map[string]any {
	return map[string]any{"messageId": "m1", "role": "ROLE_USER", "parts": []any{map[string]any{"text": text}}}
}

// setContent makes the next work large.
func (h *hub) setContent(s step) {
	h.t.Helper()
	n, err := strconv.Atoi(s.text)
	if err != nil {
		h.t.Fatalf("%s: %v", s.line, err)
	}
	build := func(letters int) []byte {
		text, err := json.Marshal(map[string]any{"message": message("length " + strings.Repeat("x", letters))})
		if err != nil {
			h.t.Fatal(err)
		}
		return text
	}
	letters := n - len(build(0))
	h.content = build(letters)
	h.names["$LENGTH"] = strconv.Itoa(len("length ") + letters)
}

// sendPiece sends a piece of the content.
func (h *hub) sendPiece(s step) {
	h.t.Helper()
	at, err := strconv.Atoi(s.text)
	if err != nil {
		h.t.Fatalf("%s: %v", s.line, err)
	}
	data := h.content[at:min(len(h.content), at+protocol.MaxPiece)]
	if s.actor == "damaged" {
		data = make([]byte, len(data))
	}
	body := map[string]any{"blob": protocol.BlobOf(h.content).ID, "offset": at, "data": base64.StdEncoding.EncodeToString(data)}
	h.send(step{line: s.line, actor: "hub", kind: string(protocol.TypePiece), members: map[string]any{"epoch": 1, "body": body}})
}
