package mock_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/parley-a2a/parley/internal/testing/mocktest"
)

// post calls the first agent of a server by JSON-RPC and returns the received part of the
// answer.
func post(ctx context.Context, t *testing.T, s *mocktest.Server, method, params string) (status int, body string, err error) {
	t.Helper()
	message := fmt.Sprintf(`{"jsonrpc":"2.0","id":"mine","method":%q,"params":%s}`, method, params)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL()+"/a2a", strings.NewReader(message))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	if !strings.Contains(method, "/") {
		r.Header.Set("A2A-Version", "1.0")
	}
	r.Close = true
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b), err
}

func sendParams(text string) string {
	return fmt.Sprintf(`{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":%q}]}}`, text)
}

const faults = `
a2a_agents:
  - name: faulty
    responses:
      - {match: {equals: reset}, fault: reset}
      - {match: {equals: hang}, fault: hang}
      - {match: {equals: garbage}, fault: garbage}
      - {match: {equals: slow}, fault: slow, response: fine}
      - {match: {equals: truncated}, fault: truncated, response: fine}
      - {match: {equals: wrong_dialect}, fault: wrong_dialect, response: fine}
      - {match: {equals: wrong_id}, fault: wrong_id, response: fine}
      - {match: {equals: late}, latency: 1ms, response: fine}
      - match: {equals: mid reset}
        steps: [{artifact: one}, {fault: reset}, {artifact: two}]
      - match: {equals: mid garbage}
        steps: [{artifact: one}, {fault: garbage}, {artifact: two}]
      - match: {equals: mid truncated}
        steps: [{artifact: one}, {fault: truncated}, {artifact: two}]
      - match: {equals: mid close}
        steps: [{artifact: one}, {fault: close}, {artifact: two}]
      - match: {equals: mid hang}
        steps: [{artifact: one}, {fault: hang}, {artifact: two}]
`

func TestFaultsInsteadOfAnAnswer(t *testing.T) {
	t.Parallel()
	s := mocktest.Start(t, faults)
	for _, method := range []string{"SendMessage", "SendStreamingMessage"} {
		if _, body, err := post(t.Context(), t, s, method, sendParams("reset")); !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, io.EOF) {
			t.Errorf("%s reset: %q, %v, want that the connection breaks", method, body, err)
		}
		_, body, err := post(t.Context(), t, s, method, sendParams("garbage"))
		if err != nil || json.Valid([]byte(body)) || body == "" {
			t.Errorf("%s garbage: %q, %v, want bytes that are no JSON", method, body, err)
		}
	}
	seen := len(s.Requests())
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("the caller goes away")
	stop := make(chan error, 1)
	go func() { // ends with the request
		_, err := s.Wait(t.Context(), seen+1)
		cancel(gone)
		stop <- err
	}()
	if _, body, err := post(ctx, t, s, "SendMessage", sendParams("hang")); !errors.Is(err, context.Canceled) && !errors.Is(err, gone) {
		t.Errorf("hang: %q, %v, want nothing until the caller goes away", body, err)
	}
	if err := <-stop; err != nil {
		t.Error(err)
	}
}

func TestFaultsDoneToAnAnswer(t *testing.T) {
	t.Parallel()
	s := mocktest.Start(t, faults)
	const wantTask = `"state":"TASK_STATE_COMPLETED"`
	for _, tt := range []struct {
		text  string
		check func(body string, err error) bool
	}{
		{"slow", func(b string, err error) bool {
			return err == nil && json.Valid([]byte(b)) && strings.Contains(b, wantTask)
		}},
		{"late", func(b string, err error) bool { return err == nil && strings.Contains(b, wantTask) }},
		{"truncated", func(b string, err error) bool {
			return errors.Is(err, io.ErrUnexpectedEOF) && strings.HasPrefix(b, `{"jsonrpc"`) && !json.Valid([]byte(b))
		}},
		{"wrong_dialect", func(b string, err error) bool {
			return err == nil && strings.Contains(b, `"kind":"task"`) && strings.Contains(b, `"state":"completed"`)
		}},
		{"wrong_id", func(b string, err error) bool {
			return err == nil && strings.Contains(b, `"id":"not-your-request"`) && strings.Contains(b, wantTask)
		}},
	} {
		if _, body, err := post(t.Context(), t, s, "SendMessage", sendParams(tt.text)); !tt.check(body, err) {
			t.Errorf("%s: %q, %v", tt.text, body, err)
		}
	}
	old := `{"message":{"kind":"message","messageId":"m","role":"user","parts":[{"kind":"text","text":"wrong_dialect"}]}}`
	if _, body, err := post(t.Context(), t, s, "message/send", old); err != nil || !strings.Contains(body, wantTask) {
		t.Errorf("wrong_dialect for v0.3: %q, %v, want v1.0", body, err)
	}
	if _, body, err := post(t.Context(), t, s, "SendStreamingMessage", sendParams("truncated")); err == nil || !strings.HasPrefix(body, "data: ") {
		t.Errorf("truncated stream: %q, %v", body, err)
	}
	if _, body, err := post(t.Context(), t, s, "SendStreamingMessage", sendParams("slow")); err != nil || strings.Count(body, "data: ") != 4 {
		t.Errorf("slow stream: %q, %v, want four frames", body, err)
	}
}

// A fault among the steps affects one follower, once; the task continues.
func TestFaultsAmongTheSteps(t *testing.T) {
	t.Parallel()
	s := mocktest.Start(t, faults)
	for _, tt := range []struct {
		text  string
		check func(body string, err error) bool
	}{
		{"mid reset", func(b string, err error) bool { return err != nil }},
		{"mid garbage", func(b string, err error) bool {
			return err == nil && strings.Contains(b, "<!doctype") && !strings.Contains(b, "COMPLETED")
		}},
		{"mid truncated", func(b string, err error) bool { return err != nil && strings.HasSuffix(b, `{"stat`) }},
		{"mid close", func(b string, err error) bool { return err == nil && !strings.Contains(b, "COMPLETED") }},
	} {
		_, body, err := post(t.Context(), t, s, "SendStreamingMessage", sendParams(tt.text))
		// Data sent just before a reset may be lost.
		whole := tt.text == "mid reset" || strings.Contains(body, `"text":"one"`)
		if !tt.check(body, err) || !whole || strings.Contains(body, `"text":"two"`) {
			t.Errorf("%s in a stream: %q, %v", tt.text, body, err)
		}
	}
	for _, text := range []string{"mid reset", "mid garbage", "mid truncated", "mid close"} {
		_, body, err := post(t.Context(), t, s, "SendMessage", sendParams(text))
		if err == nil && json.Valid([]byte(body)) {
			t.Errorf("%s in an answer: %q, %v, want no answer", text, body, err)
		}
	}
	_, body, err := post(t.Context(), t, s, "GetTask", `{"id":"mock-task-1"}`)
	if err != nil || !strings.Contains(body, `"text":"two"`) {
		t.Errorf("the task did not continue: %q, %v", body, err)
	}
}

func TestHangingStreamEndsWithTheServer(t *testing.T) {
	t.Parallel()
	s := mocktest.Start(t, faults)
	done := make(chan string, 1)
	go func() { // ends with the server
		_, body, _ := post(context.WithoutCancel(t.Context()), t, s, "SendStreamingMessage", sendParams("mid hang"))
		done <- body
	}()
	if _, err := s.Wait(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if body := <-done; strings.Contains(body, "COMPLETED") {
		t.Errorf("the stream: %q, want that it does not end in good order", body)
	}
}

func TestRequests(t *testing.T) {
	t.Parallel()
	s := mocktest.Start(t, faults)
	if _, _, err := post(t.Context(), t, s, "SendMessage", sendParams("late")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := post(t.Context(), t, s, "SendMessage", `{"message":{"metadata":{"skill":"x"}}}`); err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, s.URL()+"/nowhere?a=b", strings.NewReader("not read"))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer secret")
	r.Close = true
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	got := s.Requests()
	if len(got) != 3 {
		t.Fatalf("Requests() = %d requests, want 3", len(got))
	}
	first := got[0]
	if first.Number != 1 || first.Agent != "faulty" || first.Binding != "JSONRPC" || first.Dialect != "v1.0" || first.Operation != "SendMessage" ||
		first.HTTP != "POST /a2a" || first.Text != "late" || first.Context != "mock-context-1" || first.Turn != 1 || first.Rule != 8 ||
		first.Problem != "" || time.Since(first.At) < 0 || !strings.Contains(string(first.Body), `"SendMessage"`) {
		t.Errorf("the first request is %+v", first)
	}
	if got[1].Problem == "" || got[1].Rule != 0 {
		t.Errorf("the second request is %+v, want a problem", got[1])
	}
	if got[2].Header.Get("Authorization") != "Bearer secret" || got[2].HTTP != "PUT /nowhere?a=b" || got[2].Problem == "" {
		t.Errorf("the third request is %+v", got[2])
	}
	if b, err := json.Marshal(got[2]); err != nil || strings.Contains(string(b), "secret") {
		t.Errorf("the JSON of a request is %s, %v, want no secret in it", b, err)
	}
	if calls := s.Calls("SendMessage"); len(calls) != 2 {
		t.Errorf("Calls(SendMessage) = %d requests, want 2", len(calls))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Wait(ctx, 4); !errors.Is(err, context.Canceled) {
		t.Errorf("Wait(4) = %v, want the context's error", err)
	}
	if q, err := s.Wait(ctx, 2); err != nil || q.Number != 2 {
		t.Errorf("Wait(2) = %+v, %v", q, err)
	}
}
