package aguifront

import (
	"encoding/json"
	"fmt"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/json/rawjson"
)

// input is a RunAgentInput.
type input struct {
	threadID, runID string
	messages        []message
	resume          []resumption
	// rest are the members for the agent: tools, context, state, forwardedProps.
	rest map[string]json.RawMessage
}

// message is a message of a thread.
type message struct {
	ID         string          `json:"id"`
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	Name       string          `json:"name"`
	ToolCalls  []toolCall      `json:"toolCalls"`
	ToolCallID string          `json:"toolCallId"`
	Error      string          `json:"error"`
}

type toolCall struct {
	ID       string `json:"id"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// resumption answers an interrupt.
type resumption struct {
	InterruptID string          `json:"interruptId"`
	Status      string          `json:"status"`
	Payload     json.RawMessage `json:"payload"`
}

func invalid(field, format string, args ...any) error {
	return apierror.Field(a2a.ErrInvalidParams, field, format, args...)
}

// read parses the body of a request.
func read(body []byte) (*input, error) {
	in := &input{rest: map[string]json.RawMessage{}}
	if err := new(dialect.Decoder).Members(body, in.member); err != nil {
		return nil, err
	}
	if in.threadID == "" {
		return nil, invalid("threadId", "is required")
	}
	if in.runID == "" {
		return nil, invalid("runId", "is required")
	}
	return in, nil
}

func (in *input) member(name string, v []byte) error {
	switch name {
	case "threadId":
		return into(name, v, &in.threadID, "a string")
	case "runId":
		return into(name, v, &in.runID, "a string")
	case "messages":
		return each(name, v, &in.messages)
	case "resume":
		if err := each(name, v, &in.resume); err != nil {
			return err
		}
		for i, r := range in.resume {
			if r.Status != "resolved" && r.Status != "cancelled" {
				return invalid(fmt.Sprintf("resume[%d].status", i), "must be resolved or cancelled")
			}
		}
		return nil
	case "tools", "context", "state", "forwardedProps":
		in.rest[name] = json.RawMessage(rawjson.AppendCompact(nil, v))
	}
	return nil
}

func into(field string, v []byte, to any, want string) error {
	if rawjson.Unmarshal(v, to) != nil {
		return invalid(field, "must be %s", want)
	}
	return nil
}

// each decodes a list of objects.
func each[T any](field string, v []byte, to *[]T) error {
	if rawjson.KindOf(v) != rawjson.Array {
		return invalid(field, "must be a list")
	}
	for raw := range rawjson.Elements(v) {
		var item T
		if at := rawjson.Repeated(raw); at != "" {
			return invalid(fmt.Sprintf("%s[%d].%s", field, len(*to), at), "appears twice")
		}
		if err := json.Unmarshal(raw, &item); err != nil {
			return invalid(fmt.Sprintf("%s[%d]", field, len(*to)), "has members of wrong types")
		}
		*to = append(*to, item)
	}
	return nil
}

// last returns the index of the last message of the assistant, or -1.
func (in *input) last() int {
	for i := len(in.messages) - 1; i >= 0; i-- {
		if in.messages[i].Role == "assistant" {
			return i
		}
	}
	return -1
}

// silent reports whether the run has neither a message nor an answer.
func (in *input) silent() bool {
	if len(in.resume) > 0 {
		return false
	}
	for _, m := range in.messages[in.last()+1:] {
		if m.Role == "user" || m.Role == "tool" {
			return false
		}
	}
	return true
}
