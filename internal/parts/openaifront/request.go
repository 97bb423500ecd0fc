package openaifront

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/parley-a2a/parley/internal/dialect"
	"github.com/parley-a2a/parley/internal/json/rawjson"
	"github.com/parley-a2a/parley/internal/llm"
)

// request is the request of a client.
type request struct {
	model    string
	messages []llm.ChatMessage
	user     string
	stream   bool
	// usage requests a last chunk with the usage.
	usage bool
	// metadata are texts by names; only task_id and context_id are used.
	metadata map[string]string
	// tuning are the parameters for the agent's own model.
	tuning map[string]json.RawMessage
}

// The names of metadata, in requests and answers.
const (
	metaTask    = "task_id"
	metaContext = "context_id"
	metaState   = "state"
)

// harmless lists the allowed values of parameters that could change the shape of an answer:
// those that do not. Other values are refused with the reason.
var harmless = map[string]struct {
	values []string
	why    string
}{
	"n":                  {[]string{"1"}, "there is one choice; send the request again for another one"},
	"tools":              {[]string{"[]"}, "agents bring their own tools"},
	"functions":          {[]string{"[]"}, "agents bring their own tools"},
	"tool_choice":        {[]string{`"none"`, `"auto"`}, "agents bring their own tools"},
	"function_call":      {[]string{`"none"`, `"auto"`}, "agents bring their own tools"},
	"logprobs":           {[]string{"false"}, "agents return no probabilities"},
	"top_logprobs":       {[]string{"0"}, "agents return no probabilities"},
	"modalities":         {[]string{`["text"]`}, "answers are text"},
	"audio":              {nil, "answers are text"},
	"response_format":    {[]string{`{"type":"text"}`}, "agents choose the form of their answers"},
	"web_search_options": {nil, "agents search as they do"},
}

// read parses the body of a request.
func read(body []byte) (*request, error) {
	r := &request{tuning: map[string]json.RawMessage{}}
	if err := new(dialect.Decoder).Members(body, r.param); err != nil {
		return nil, err
	}
	if len(r.messages) == 0 {
		return nil, invalid("messages", "must have at least one message")
	}
	return r, nil
}

func (r *request) param(name string, v []byte) error {
	switch name {
	case "model":
		return into(name, v, &r.model, "a string")
	case "messages":
		return r.readMessages(v)
	case "user":
		return into(name, v, &r.user, "a string")
	case "stream":
		return into(name, v, &r.stream, "true or false")
	case "metadata":
		return into(name, v, &r.metadata, "an object of strings")
	case "stream_options":
		var o struct {
			IncludeUsage bool `json:"include_usage"`
		}
		err := into(name, v, &o, "an object with include_usage")
		r.usage = o.IncludeUsage
		return err
	}
	h, known := harmless[name]
	if !known {
		r.tuning[name] = json.RawMessage(rawjson.AppendCompact(nil, v))
		return nil
	}
	compact := string(rawjson.AppendCompact(nil, v))
	for _, value := range h.values {
		if compact == value {
			return nil
		}
	}
	return invalid(name, "is not supported: %s", h.why)
}

// into decodes a value, which must be of the type of to.
func into(name string, v []byte, to any, want string) error {
	if at := rawjson.Repeated(v); at != "" {
		return invalid(name+"."+at, "appears twice")
	}
	if rawjson.Unmarshal(v, to) != nil {
		return invalid(name, "must be %s", want)
	}
	return nil
}

func (r *request) readMessages(v []byte) error {
	if rawjson.KindOf(v) != rawjson.Array {
		return invalid("messages", "must be a list of messages")
	}
	for raw := range rawjson.Elements(v) {
		at := fmt.Sprintf("messages[%d]", len(r.messages))
		var m llm.ChatMessage
		if twice := rawjson.Repeated(raw); twice != "" {
			return invalid(at+"."+twice, "appears twice")
		}
		if err := json.Unmarshal(raw, &m); err != nil {
			var typed *json.UnmarshalTypeError
			if errors.As(err, &typed) && typed.Field != "" {
				return invalid(at+"."+typed.Field, "must not be a %s", typed.Value)
			}
			return invalid(at, "%s", unwrapped(err))
		}
		r.messages = append(r.messages, m)
	}
	return nil
}

// unwrapped returns the text of the innermost error of package json.
func unwrapped(err error) string {
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(err) {
		err = inner
	}
	return err.Error()
}
