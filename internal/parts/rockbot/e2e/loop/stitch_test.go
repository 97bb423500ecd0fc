package loop

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/parts/rockbot/e2e/rockbotpeer"
	"github.com/parley-a2a/parley/internal/testing/hubtest"
)

// TestStitched: a request on RockBot's exchange continues the trace of its sender, under the ids of
// the wire, and so does the request that the hub sends for it to another agent of RockBot. Each of
// the hub's spans has the exact four ids.
func TestStitched(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	const trace, sender = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	at, c := broker(t), collect(t)
	agent := rockbotpeer.StartAgent(t, at, &rockbotpeer.Agent{Name: agentName, Handle: func(task *rockbotpeer.Task) (*rockbotpeer.Result, error) {
		return task.Result(rockbotpeer.Completed, "done"), nil
	}})
	alice := rockbotpeer.StartCaller(t, at, "Alice")
	hubtest.Start(t, hubtest.Options{
		Config: fmt.Sprintf("rockbot: {url: %q, name: hub, serve: [hub]}\nagents:\n  - {name: extraction, rockbot: ExtractionAgent, skills: [{id: dig}]}\n", at),
		Env:    []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + c.URL, "OTEL_BSP_SCHEDULE_DELAY=50"},
	})
	alice.Card() // its queue exists
	in := &rockbotpeer.Request{
		TaskID: rockbotpeer.Ptr("wire-task"), ContextID: rockbotpeer.Ptr("wire-context"), Skill: rockbotpeer.Ptr("dig"),
		Message:  &rockbotpeer.Message{Role: rockbotpeer.Ptr("user"), Parts: []rockbotpeer.Part{rockbotpeer.TextPart("go")}},
		Metadata: map[string]string{"sessionId": "wire-session"},
	}
	alice.Publish(&rockbotpeer.Wire{
		Topic: rockbotpeer.TaskTopic + "hub", Type: "RockBot.A2A.AgentTaskRequest", CorrelationID: "wire-correlation",
		ReplyTo: rockbotpeer.ReplyTopic + "Alice", Body: rockbotpeer.Encode(in),
		Headers: map[string]string{"traceparent": "00-" + trace + "-" + sender + "-01", "tracestate": "vendor=1"},
	})
	want := func(of string, s *span, ids ...string) {
		t.Helper()
		got := []string{s.trace, s.attributes["task_id"], s.attributes["context_id"], s.attributes["correlation_id"], s.attributes["session_id"]}
		if diff := cmp.Diff(append([]string{trace}, ids...), got); diff != "" {
			t.Errorf("the ids of %s (-want +got):\n%s", of, diff)
		}
	}
	served := c.find(ctx, "request", func(s *span) bool { return s.parent == sender })
	want("the request", &served, "wire-task", "wire-context", "wire-correlation", "wire-session")
	run := c.find(ctx, "invoke", func(s *span) bool { return s.trace == trace })
	want("the run", &run, "wire-task", "wire-context", "wire-correlation", "wire-session")

	out := agent.Next()
	sent := c.find(ctx, "queue_dispatch", func(s *span) bool { return s.trace == trace })
	want("the request to the agent", &sent, rockbotpeer.Val(out.TaskID), rockbotpeer.Val(out.ContextID), out.Envelope.CorrelationID, "wire-session")
	if sent.parent != run.id {
		t.Errorf("the parent of the request to the agent is %s, want the run %s", sent.parent, run.id)
	}
	if got, want := out.Envelope.Headers["traceparent"], "00-"+trace+"-"+sent.id+"-01"; got != want || out.Envelope.Headers["tracestate"] != "vendor=1" {
		t.Errorf("the agent gets the headers %v, want the trace context %s", out.Envelope.Headers, want)
	}
	reply := alice.Reply()
	if reply.Result == nil || reply.Result.State != rockbotpeer.Completed || reply.Envelope.CorrelationID != "wire-correlation" ||
		!strings.HasPrefix(reply.Envelope.Headers["traceparent"], "00-"+trace+"-"+served.id) {
		t.Errorf("the reply is %+v with %+v", reply.Result, reply.Envelope)
	}
}
