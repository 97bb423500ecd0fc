package reading_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
	"github.com/parley-a2a/parley/internal/testing/jsonvalues"
)

// oddModel is a model whose answers have one odd chunk among good ones: the one with the number that is
// the last message of the user. After a call of a tool it says goodbye.
type oddModel struct{ chunks []jsonvalues.Variant }

func (m *oddModel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var call struct {
		Messages []struct {
			Role    string
			Content json.RawMessage
		}
	}
	_ = json.Unmarshal(body, &call)
	n, again := 0, false
	for _, msg := range call.Messages {
		digits := strings.Trim(string(msg.Content), `"`)
		if i, err := strconv.Atoi(digits); err == nil && msg.Role == "user" {
			n = i
		}
		again = again || msg.Role == "tool" || msg.Role == "assistant"
	}
	w.Header().Set("Content-Type", "text/event-stream")
	say := func(text string) {
		fmt.Fprintf(w, `data: {"choices":[{"index":0,"delta":{"content":%q}}]}`+"\n\n", text)
	}
	if again {
		say("goodbye")
	} else {
		say("before ")
		fmt.Fprintf(w, "data: %s\n\n", m.chunks[n].JSON)
		say(" after")
	}
	fmt.Fprint(w, `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":2}}`+"\n\ndata: [DONE]\n\n")
}

// TestEveryValueFromModels lets a model send every JSON value in the place of every member of a chunk. Each
// task ends: completed with the text around it, or failed with the model's name and a reason.
func TestEveryValueFromModels(t *testing.T) {
	t.Parallel()
	m := &oddModel{jsonvalues.Variants(t, `{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"finish_reason":null,"logprobs":null,`+
		`"delta":{"role":"assistant","content":"odd","refusal":"no","tool_calls":[{"index":0,"id":"call","type":"function","function":{"name":"nothing","arguments":"{}"}}]}}],`+
		`"usage":{"prompt_tokens":1,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":1}},"error":null}`)}
	model := httptest.NewServer(m)
	t.Cleanup(model.Close)
	hub := hubtest.Start(t, hubtest.Options{Config: fmt.Sprintf("model_providers: [{name: odd, base_url: %q}]\n"+
		"agents: [{name: far, model: {model: m, system_prompt: Be brief., forgetful: true}}]\n", model.URL)})
	n := &near{url: hub.URL()}
	var wg sync.WaitGroup
	free := make(chan struct{}, 64)
	for i, v := range m.chunks {
		free <- struct{}{}
		wg.Go(func() {
			defer func() { <-free }()
			_, out := n.do(t, http.MethodPost, "/a2a/far", "1.0", fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"%d"}]}}}`, i))
			var answer struct{ Result struct{ Task result } }
			_ = json.Unmarshal(out, &answer)
			got := &answer.Result.Task
			text := got.parts() + got.says()
			switch {
			case got.Status.State == "TASK_STATE_COMPLETED" && (strings.Contains(text, "before ") && strings.Contains(text, " after") || strings.Contains(text, "goodbye")):
			case got.Status.State == "TASK_STATE_FAILED" && strings.Contains(got.says(), "odd/m: it answered with"):
			default:
				t.Errorf("%s = %s: %.600s", v.Path, v.Value, out)
			}
		})
	}
	wg.Wait()
	if out := hub.Output(); strings.Contains(out, "panic") {
		t.Errorf("the hub's log: %s", out)
	}
}
