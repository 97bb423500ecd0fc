package httpfront_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/internal/front/httpfront"
)

// inChunks asks once, and then answers with pieces as chunks of an artifact, and no message.
func inChunks(pieces []string) agent.Func {
	return func(_ context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		if strings.Contains(agent.Text(ec.Message), "ask") {
			yield(a2a.NewArtifactEvent(ec, a2a.NewTextPart("a question?")), nil)
			yield(agent.Status(ec, a2a.TaskStateInputRequired, a2a.NewTextPart("a question?")), nil)
			return
		}
		yield(agent.Status(ec, a2a.TaskStateWorking), nil)
		for i, text := range pieces {
			ev := a2a.NewArtifactUpdateEvent(ec, "answer", a2a.NewTextPart(text))
			ev.Append = i > 0
			if !yield(ev, nil) {
				return
			}
		}
		yield(agent.Status(ec, a2a.TaskStateCompleted), nil)
	}
}

// places collects the texts of the parts of a result by where they are: in the message of the
// status, in a message, or in artifacts.
func places(t *testing.T, body string) map[string][]string {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(body), &v); err != nil {
		t.Fatalf("%v: %.300s", err, body)
	}
	all := map[string][]string{}
	var walk func(v any, place string)
	walk = func(v any, place string) {
		switch v := v.(type) {
		case []any:
			for _, e := range v {
				walk(e, place)
			}
		case map[string]any:
			if text, ok := v["text"].(string); ok {
				all[place] = append(all[place], text)
			}
			for name, e := range v {
				switch name {
				case "history":
					continue
				case "status", "message", "artifacts", "artifact":
					walk(e, strings.TrimSpace(place+" "+name))
				default:
					walk(e, place)
				}
			}
		}
	}
	walk(v, "")
	return all
}

// TestAnswersOnce checks where each kind of caller finds an answer that the agent has given as
// chunks of an artifact: whole, as one part, in the artifact alone; callers that read messages
// get it as a message, too, without the question of an earlier turn. Streams keep the chunks.
func TestAnswersOnce(t *testing.T) {
	t.Parallel()
	pieces := []string{"one ", "two ", strings.Repeat("ä", 70_000)}
	whole := strings.Join(pieces, "")
	plain := startHub(t, httpfront.Config{}, newAgent("chunks", inChunks(pieces)))
	messages := startHub(t, httpfront.Config{Choices: httpfront.Choices{Messages: true}}, newAgent("chunks", inChunks(pieces)))
	const (
		v03     = `{"message":{"kind":"message","messageId":"m","role":"user","parts":[{"kind":"text","text":"go"}]}}`
		derived = `{"message":{"messageId":"m","role":"user","parts":[{"text":"go"}]},"configuration":{"blocking":true}}`
		gateway = `{"message":{"messageId":"m","role":"user","parts":[{"text":"go"}]}}`
	)
	for name, tt := range map[string]struct {
		hub                      *hub
		path, send, stream, then string
		headers                  []string
		message                  string // the place of the message; empty for none
	}{
		"v1.0 JSON-RPC":        {plain, "/a2a", rpc("SendMessage", message("go")), rpc("SendStreamingMessage", message("go")), "GetTask", []string{v1}, ""},
		"v1.0 HTTP+JSON":       {plain, "/v1/a2a", message("go"), message("go"), "", []string{v1}, ""},
		"v0.3":                 {plain, "/", rpc("message/send", v03), rpc("message/stream", v03), "tasks/get", nil, ""},
		"derived":              {plain, "/a2a", rpc("message/send", derived), rpc("message/stream", derived), "tasks/get", nil, ""},
		"gateway":              {plain, "/", rpc("SendMessage", gateway), rpc("SendStreamingMessage", gateway), "", nil, "message"},
		"with Messages":        {messages, "/v1/a2a", message("go"), message("go"), "", []string{v1}, "status message"},
		"v1.0 beside Messages": {messages, "/a2a", rpc("SendMessage", message("go")), rpc("SendStreamingMessage", message("go")), "GetTask", []string{v1}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			send, stream := tt.path, tt.path
			if tt.path == "/v1/a2a" {
				send, stream = "/v1/a2a/message:send", "/v1/a2a/message:stream"
			}
			check := func(what string, body string, chunks bool) {
				t.Helper()
				all := places(t, body)
				artifacts := append(all["artifacts"], all["artifact"]...)
				if got := strings.Join(artifacts, ""); got != whole && !(got == "" && tt.message == "message") || !chunks && len(artifacts) > 1 {
					t.Errorf("%s: %d parts with %d of %d bytes in artifacts", what, len(artifacts), len(got), len(whole))
				}
				for _, place := range []string{"message", "status message"} {
					want := ""
					if place == tt.message {
						want = whole
					}
					if got := strings.Join(all[place], ""); got != want {
						t.Errorf("%s: %d bytes in %s, want %d", what, len(got), place, len(want))
					}
				}
			}
			sent := tt.hub.do("POST", send, tt.send, tt.headers...)
			check("send", sent.body, false)
			events := tt.hub.do("POST", stream, tt.stream, tt.headers...)
			var data []string
			for line := range strings.SplitSeq(events.body, "\n") {
				if v, ok := strings.CutPrefix(line, "data: "); ok {
					data = append(data, v)
				}
			}
			check("stream", "["+strings.Join(data, ",")+"]", true)
			if tt.then != "" {
				id := taskIDOf(t, sent.body)
				check("get", tt.hub.do("POST", tt.path, rpc(tt.then, `{"id":"`+id+`"}`), tt.headers...).body, false)
			}
		})
	}
	t.Run("a question before", func(t *testing.T) {
		t.Parallel()
		var asked, done struct {
			Task struct {
				ID     string
				Status struct{ State string }
			}
		}
		got := messages.do("POST", "/v1/a2a/message:send", message("ask"), v1)
		if err := json.Unmarshal([]byte(got.body), &asked); err != nil {
			t.Fatal(err)
		}
		got = messages.do("POST", "/v1/a2a/message:send", withTask(asked.Task.ID, message("go")), v1)
		if err := json.Unmarshal([]byte(got.body), &done); err != nil || done.Task.Status.State != "TASK_STATE_COMPLETED" {
			t.Fatalf("%v: %.300s", err, got.body)
		}
		if all := places(t, got.body)["task status message"]; len(all) != 1 || all[0] != whole {
			if all = places(t, got.body)["status message"]; len(all) != 1 || all[0] != whole {
				t.Errorf("the message has %d parts, want the answer alone: %.200q", len(all), all)
			}
		}
	})
}

// taskIDOf returns the id of the task in the answer to a send.
func taskIDOf(t *testing.T, body string) string {
	t.Helper()
	var v struct {
		Result struct {
			ID   string
			Task struct{ ID string }
		}
	}
	if err := json.Unmarshal([]byte(body), &v); err != nil {
		t.Fatal(err)
	}
	return v.Result.ID + v.Result.Task.ID
}
