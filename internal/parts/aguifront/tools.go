package aguifront

import (
	"encoding/json"

	"github.com/parley-a2a/parley/internal/json/rawjson"
)

// call reports a tool call with its arguments, once.
func (s *eventWriter) call(id, name string, args []byte) {
	if s.tools[id] {
		return
	}
	s.tools[id] = true
	s.event("TOOL_CALL_START", object{"toolCallId": id, "toolCallName": name})
	if len(args) > 0 {
		s.event("TOOL_CALL_ARGS", object{"toolCallId": id, "delta": string(args)})
	}
	s.event("TOOL_CALL_END", object{"toolCallId": id})
}

// frame reports the content of a part of the extension tool-call-v1; it returns false if the
// part is not valid.
func (s *eventWriter) frame(raw []byte) bool {
	var f struct {
		ID     string          `json:"toolCallId"`
		Name   string          `json:"name"`
		Phase  string          `json:"phase"`
		Args   json.RawMessage `json:"args"`
		Result json.RawMessage `json:"result"`
		Error  json.RawMessage `json:"error"`
	}
	if json.Unmarshal(raw, &f) != nil || f.ID == "" || f.Name == "" {
		return false
	}
	result := f.Result
	switch f.Phase {
	case "started":
		s.call(f.ID, f.Name, f.Args)
		return true
	case "failed":
		result = f.Error
	case "completed":
	default:
		return false
	}
	s.call(f.ID, f.Name, f.Args)
	text, ok := rawjson.String(result)
	if !ok {
		text = string(result)
	}
	s.event("TOOL_CALL_RESULT", object{"messageId": f.ID + ":result", "toolCallId": f.ID, "content": text, "role": "tool"})
	return true
}
