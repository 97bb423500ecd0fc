package hostile

import (
	"encoding/json"
	"fmt"
	"strings"
)

// answer is the result of a hostile request.
type answer struct {
	// outcome is set if the result is more than one HTTP answer: for gRPC, and for no answer.
	outcome string
	// status is the HTTP status.
	status int
	head   []byte
	body   []byte
	// closed is set if the hub closed the connection after the answer.
	closed bool
}

// String summarizes the answer: the status; the code, reason and field in the form of the
// surface; and whether the connection was closed.
func (a *answer) String() string {
	s := a.outcome
	if s == "" {
		s = strings.TrimSpace(fmt.Sprintf("%d %s", a.status, errorOf(a.body)))
	}
	if a.closed {
		s += ", closed"
	}
	return s
}

// failure is the error of any surface.
type failure struct {
	Error json.RawMessage `json:"error"`
	// A job has its error at the top level.
	Code    json.RawMessage `json:"code"`
	Message string          `json:"message"`
}

// inner is the content of an error.
type inner struct {
	Code    json.RawMessage `json:"code"`
	Type    string          `json:"type"`
	Param   *string         `json:"param"`
	Message string          `json:"message"`
	Details json.RawMessage `json:"details"`
	Data    json.RawMessage `json:"data"`
}

type detail struct {
	Reason          string `json:"reason"`
	FieldViolations []struct {
		Field       string `json:"field"`
		Description string `json:"description"`
	} `json:"fieldViolations"`
}

// errorOf returns code, reason and field of an error.
func errorOf(body []byte) string {
	body = lastEvent(body)
	var batch []json.RawMessage
	if json.Unmarshal(body, &batch) == nil {
		return fmt.Sprintf("batch of %d", len(batch))
	}
	var f failure
	if err := json.Unmarshal(body, &f); err != nil {
		return "" // a page, or no body
	}
	if len(f.Error) == 0 {
		if f.Message != "" && len(f.Code) > 0 {
			return "job " + unquoted(f.Code)
		}
		if strings.Contains(string(body), `"isError":true`) {
			return "tool error"
		}
		return "ok"
	}
	var in inner
	if err := json.Unmarshal(f.Error, &in); err != nil {
		return "error in another shape"
	}
	var words []string
	if in.Message == "" {
		words = append(words, "without a message")
	}
	if code := unquoted(in.Code); strings.HasPrefix(code, "-") || in.Type != "" {
		words = append(words, code)
	}
	if in.Type != "" {
		words = append(words, in.Type)
	}
	if in.Param != nil {
		words = append(words, *in.Param)
	}
	for _, list := range []json.RawMessage{in.Details, in.Data} {
		var ds []detail
		if json.Unmarshal(list, &ds) != nil {
			continue
		}
		for _, d := range ds {
			if d.Reason != "" {
				words = append(words, d.Reason)
			}
			for _, v := range d.FieldViolations {
				words = append(words, v.Field)
				if v.Description == "" {
					words = append(words, "without a description")
				}
			}
		}
	}
	return strings.Join(words, " ")
}

func unquoted(raw json.RawMessage) string { return strings.Trim(string(raw), `"`) }

// lastEvent returns the data of the last server-sent event if the body is an event stream, and
// otherwise the body.
func lastEvent(body []byte) []byte {
	text := string(body)
	if !strings.HasPrefix(text, "data:") && !strings.HasPrefix(text, "event:") && !strings.HasPrefix(text, "id:") && !strings.HasPrefix(text, ":") {
		return body
	}
	last := ""
	for line := range strings.Lines(text) {
		if data, ok := strings.CutPrefix(line, "data:"); ok && strings.HasPrefix(strings.TrimSpace(data), "{") {
			last = strings.TrimSpace(data)
		}
	}
	return []byte(last)
}
