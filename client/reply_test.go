package client_test

import (
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/client"
	"github.com/parley-a2a/parley/internal/testing/dialecttest"
	"github.com/parley-a2a/parley/internal/testing/mocktest"
)

func parts(texts ...string) a2a.ContentParts {
	var list a2a.ContentParts
	for _, s := range texts {
		list = append(list, a2a.NewTextPart(s))
	}
	return list
}

func TestFoldText(t *testing.T) {
	t.Parallel()
	status := &a2a.Message{Parts: parts("status", "words")}
	var chunks client.Fold
	for i, texts := range [][]string{{"one", "tw"}, {"o, ", "thr"}, {"ee"}} {
		chunks.Apply(&a2a.TaskArtifactUpdateEvent{TaskID: "t", Artifact: &a2a.Artifact{ID: "a", Parts: parts(texts...)}, Append: i > 0})
	}
	task := func(s a2a.TaskState, m *a2a.Message, artifacts ...*a2a.Artifact) client.Fold {
		return client.Fold{Task: &a2a.Task{Status: a2a.TaskStatus{State: s, Message: m}, Artifacts: artifacts}}
	}
	tests := map[string]struct {
		fold client.Fold
		want string
	}{
		"artifacts":         {task(a2a.TaskStateCompleted, status, &a2a.Artifact{Parts: parts("one", "two")}, nil, &a2a.Artifact{Parts: parts("three")}), "one\ntwo\nthree"},
		"chunks":            {chunks, "one\ntwo, \nthree"},
		"artifacts of data": {task(a2a.TaskStateCompleted, status, &a2a.Artifact{Parts: a2a.ContentParts{a2a.NewDataPart(1), nil}}), "status\nwords"},
		"a message":         {client.Fold{Message: &a2a.Message{Parts: parts("hi")}}, "hi"},
		"the status":        {task(a2a.TaskStateFailed, status), "status\nwords"},
		"nothing said":      {task(a2a.TaskStateInputRequired, nil), "bob: input-required"},
		"an empty message":  {client.Fold{Message: &a2a.Message{}}, "bob: completed"},
		"nothing":           {client.Fold{}, "bob: no answer"},
	}
	for name, tt := range tests {
		if got := tt.fold.Text("bob"); got != tt.want {
			t.Errorf("%s: Text() = %q, want %q", name, got, tt.want)
		}
	}
}

func TestUpdateOf(t *testing.T) {
	t.Parallel()
	artifact := func(more, last bool) a2a.Event {
		return &a2a.TaskArtifactUpdateEvent{Artifact: &a2a.Artifact{Parts: parts("x")}, Append: more, LastChunk: last}
	}
	status := a2a.TaskStatus{State: a2a.TaskStateWorking, Message: &a2a.Message{Parts: parts("busy")}}
	tests := []struct {
		event a2a.Event
		want  client.Update
	}{
		{&a2a.Task{Status: status}, client.Update{Type: "status", Text: "busy", State: "working"}},
		{&a2a.TaskStatusUpdateEvent{Status: a2a.TaskStatus{State: a2a.TaskStateAuthRequired}}, client.Update{Type: "status", State: "auth-required"}},
		{&a2a.Message{Parts: parts("hi")}, client.Update{Type: "message", Text: "hi"}},
		{artifact(false, true), client.Update{Type: "artifact", Text: "x"}},
		{artifact(false, false), client.Update{Type: "artifact_chunk", Text: "x"}},
		{artifact(true, false), client.Update{Type: "artifact_chunk", Text: "x"}},
		{artifact(true, true), client.Update{Type: "artifact_complete", Text: "x"}},
		{&a2a.TaskArtifactUpdateEvent{LastChunk: true}, client.Update{Type: "artifact"}},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, client.UpdateOf(tt.event)); diff != "" {
			t.Errorf("UpdateOf(%T) (-want +got):\n%s", tt.event, diff)
		}
	}
}

// TestConversation checks that the ids are kept for the caller, and dropped when the
// conversation is done.
func TestConversation(t *testing.T) {
	t.Parallel()
	for _, serve := range []string{"jsonrpc", "rest", "v0.3", dialecttest.Derived} {
		t.Run(serve, func(t *testing.T) {
			t.Parallel()
			s := mocktest.Start(t, `
a2a_agents:
  - name: weather
    serve: ["`+serve+`"]
    responses:
      - steps:
          - ask: Which city?
          - complete: Sunny in {{text}}.
`)
			c := dial(t, s.URL(), client.Options{})
			talk := &client.Conversation{Client: c}
			send := func(text string) *client.Fold {
				t.Helper()
				var reply client.Fold
				for e, err := range talk.SendParts(t.Context(), a2a.NewTextPart(text)) {
					if err != nil {
						t.Fatalf("Say(%q) = %v", text, err)
					}
					reply.Apply(e)
				}
				return &reply
			}
			asked := send("weather")
			if got := asked.Text("weather"); got != "Which city?" || talk.TaskID != asked.Task.ID || talk.ContextID == "" {
				t.Fatalf("first %q, then task %q in context %q", got, talk.TaskID, talk.ContextID)
			}
			kept := talk.ContextID
			if got := send("Oslo").Text("weather"); got != "Sunny in Oslo." || talk.TaskID != "" || talk.ContextID != kept {
				t.Errorf("then %q, then task %q in context %q, want none in %q", got, talk.TaskID, talk.ContextID, kept)
			}
			talk.Done()
			if talk.ContextID != "" || talk.TaskID != "" {
				t.Errorf("after Done: task %q in context %q", talk.TaskID, talk.ContextID)
			}
		})
	}
}
