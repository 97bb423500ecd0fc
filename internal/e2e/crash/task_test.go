package crash

import (
	"encoding/json"
	"fmt"
	"strings"
)

// taskJSON contains the members of a task that the tests read.
type taskJSON struct {
	ID, ContextID string
	History       []messageJSON
	Artifacts     []artifactJSON
	Status        statusJSON
}

type statusJSON struct {
	State     string
	Message   messageJSON
	Timestamp string
}

type messageJSON struct {
	ID    string `json:"messageId"`
	Role  string
	Parts parts
}

type artifactJSON struct{ Parts parts }

type parts []struct {
	Text string
	Data struct {
		Agreed     *bool
		Start, End string
	}
}

// frame is an event of a stream.
type frame struct {
	Task           *taskJSON
	StatusUpdate   *struct{ Status statusJSON }
	ArtifactUpdate *struct {
		Artifact artifactJSON
		Append   bool
	}
}

func (p parts) text() string {
	var b strings.Builder
	for i := range p {
		b.WriteString(p[i].Text)
	}
	return b.String()
}

func (m *messageJSON) text() string { return m.Parts.text() }

// state returns the state without the prefix of the protocol, such as "COMPLETED".
func (s *statusJSON) state() string { return strings.TrimPrefix(s.State, "TASK_STATE_") }

func (t *taskJSON) state() string { return t.Status.state() }

func (t *taskJSON) ended() bool { return ended(t.state()) }

func ended(state string) bool {
	return state == "COMPLETED" || state == "FAILED" || state == "CANCELED" || state == "REJECTED"
}

// text returns the text of all artifacts.
func (t *taskJSON) text() string {
	var b strings.Builder
	for i := range t.Artifacts {
		b.WriteString(t.Artifacts[i].Parts.text())
	}
	return b.String()
}

// reply returns the result of a completed task, else the text of its status.
func (t *taskJSON) reply() string {
	if text := t.text(); text != "" && t.state() == "COMPLETED" {
		return text
	}
	return t.Status.Message.text()
}

// sending is a message to send. Empty members are omitted.
type sending struct {
	task, context, id, text, session string
	// hook is the URL of a webhook.
	hook string
	// waits makes the hub answer with the first question or at the end of the task.
	waits bool
	// padding is the number of bytes of metadata in the message.
	padding int
}

func (s sending) body() string {
	message := map[string]any{"messageId": s.id, "role": "ROLE_USER", "parts": []any{map[string]string{"text": s.text}}}
	if s.padding > 0 {
		message["metadata"] = map[string]string{"padding": strings.Repeat("x", s.padding)}
	}
	for name, value := range map[string]string{"taskId": s.task, "contextId": s.context} {
		if value != "" {
			message[name] = value
		}
	}
	request := map[string]any{"message": message}
	configuration := map[string]any{}
	if !s.waits {
		configuration["returnImmediately"] = true
	}
	if s.hook != "" {
		configuration["taskPushNotificationConfig"] = map[string]string{"url": s.hook}
	}
	if len(configuration) > 0 {
		request["configuration"] = configuration
	}
	if s.session != "" {
		request["metadata"] = map[string]string{"sessionId": s.session}
	}
	b, err := json.Marshal(request)
	if err != nil {
		panic(fmt.Sprintf("message %+v: %v", s, err)) // cannot happen with strings alone
	}
	return string(b)
}
