package hostile

import (
	"encoding/json"
	"fmt"
	"strings"
)

// answer is what came of a hostile request.
type answer struct {
	// outcome is set where there is more to say than one answer of HTTP: by gRPC, and where
	// nothing was answered.
	outcome string
	// status is that of HTTP.
	status int
	head   []byte
	body   []byte
	// closed says that the connection was ended after the answer.
	closed bool
}

// String says in few words what the caller was told: the status, then the code, the reason
// and the field in the shape of the surface, then whether the connection was ended.
func (a *answer) String() string {
	s := a.outcome
	if s == "" {
		s = strings.TrimSpace(fmt.Sprintf("%d %s", a.status, told(a.body)))
	}
	if a.closed {
		s += ", closed"
	}
	return s
}

// failure is the error of any surface.
type failure struct {
	Error json.RawMessage `json:"error"`
	// A job of RockBot has its error on the top.
	Code    json.RawMessage `json:"code"`
	Message string          `json:"message"`
}

// inner is what an error says.
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

// told takes an error apart.
func told(body []byte) string {
	body = lastEvent(body)
	var batch []json.RawMessage
	if json.Unmarshal(body, &batch) == nil {
		return fmt.Sprintf("batch of %d", len(batch))
	}
	var f failure
	if err := json.Unmarshal(body, &f); err != nil {
		return "" // a page, or nothing
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

// lastEvent is the data of the last server-sent event, if the body is a stream of those.
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
