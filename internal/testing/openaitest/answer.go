package openaitest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"unicode/utf8"

	"github.com/parley-a2a/parley/internal/backoff"
)

// exchange is a request with its turn.
type exchange struct {
	server  *Server
	request *Request
	turn    *Turn
}

func (s *Server) answer(ctx context.Context, w http.ResponseWriter, x *exchange) {
	f := &x.turn.Fault
	if backoff.Sleep(ctx, f.Wait) != nil {
		return
	}
	if f.RetryAfter != "" {
		w.Header().Set("Retry-After", f.RetryAfter)
	}
	switch {
	case f.Status != 0 && f.Body != "":
		w.WriteHeader(f.Status)
		_, _ = w.Write([]byte(f.Body))
	case f.Status != 0:
		writeError(w, f.Status, fmt.Sprintf("The server answers %d.", f.Status), "")
	case x.request.Stream:
		x.stream(ctx, w)
	default:
		x.whole(w)
	}
}

// whole writes the answer without a stream.
func (x *exchange) whole(w http.ResponseWriter) {
	t := x.turn
	if t.At != nil {
		t.At(0, 1)
	}
	if t.Fault.Nonsense != "" {
		_, _ = w.Write([]byte(t.Fault.Nonsense))
		return
	}
	message := map[string]any{"role": "assistant", "content": t.Text}
	if len(t.Calls) > 0 {
		message["tool_calls"] = t.toolCalls()
		if t.Text == "" {
			message["content"] = nil
		}
	}
	choices := []any{map[string]any{"index": 0, "message": message, "finish_reason": t.finish(), "logprobs": nil}}
	if t.Fault.NoChoices {
		choices = []any{}
	} else {
		x.server.recordSent(t)
	}
	writeJSON(w, http.StatusOK, x.frame("chat.completion", map[string]any{"choices": choices, "usage": t.usage(x.request)}))
}

// frame returns an object with the members that all objects have, and members.
func (x *exchange) frame(object string, members map[string]any) map[string]any {
	out := map[string]any{
		"id": "chatcmpl-test", "object": object, "created": 1700000000,
		"model": x.request.Model, "system_fingerprint": "fp_test",
	}
	for k, v := range members {
		out[k] = v
	}
	return out
}

// chunks returns the chunks of a stream without the end mark, and the index of the last chunk
// of the turn.
func (x *exchange) chunks() (out []string, last int) {
	t, w := x.turn, x.server.config.Wire
	delta := func(d map[string]any, finish any) {
		choice := map[string]any{"index": 0, "delta": d, "finish_reason": finish, "logprobs": nil}
		out = append(out, x.chunk([]any{choice}, nil))
	}
	delta(map[string]any{"role": "assistant", "content": ""}, nil)
	for _, piece := range split(t.Text, w.chunk()) {
		delta(map[string]any{"content": piece}, nil)
	}
	for _, d := range x.callDeltas() {
		delta(map[string]any{"tool_calls": []any{d}}, nil)
	}
	if !t.Fault.NoFinish {
		delta(map[string]any{}, t.finish())
	}
	last = len(out) - 1
	if x.request.Usage {
		out = append(out, x.chunk([]any{}, t.usage(x.request)))
	}
	return out, last
}

// callDeltas returns the pieces of calls: first the names, then the arguments, one piece of
// each call in turn.
func (x *exchange) callDeltas() []map[string]any {
	t, w := x.turn, x.server.config.Wire
	var out []map[string]any
	piece := func(i int, members map[string]any) {
		if !w.NoIndex || len(t.Calls) > 1 {
			members["index"] = i
		}
		out = append(out, members)
	}
	var rest [][]string
	for i, c := range t.Calls {
		piece(i, map[string]any{"id": c.ID, "type": "function", "function": map[string]any{"name": c.Name, "arguments": ""}})
		rest = append(rest, split(c.Arguments, w.chunk()))
	}
	for left := true; left; {
		left = false
		for i := range rest {
			if len(rest[i]) == 0 {
				continue
			}
			piece(i, map[string]any{"function": map[string]any{"arguments": rest[i][0]}})
			rest[i] = rest[i][1:]
			left = true
		}
	}
	return out
}

func (x *exchange) chunk(choices []any, used *usage) string {
	members := map[string]any{"choices": choices}
	if x.request.Usage {
		members["usage"] = used
	}
	b, err := json.Marshal(x.frame("chat.completion.chunk", members))
	if err != nil {
		panic(err)
	}
	return string(b)
}

// split cuts s into pieces of at most n bytes, between characters.
func split(s string, n int) []string {
	var out []string
	for len(s) > 0 {
		end := min(n, len(s))
		for end < len(s) && !utf8.RuneStart(s[end]) {
			end++
		}
		out, s = append(out, s[:end]), s[end:]
	}
	return out
}
