package hubtools

import (
	"encoding/json"
	"strings"
)

// JSON Schemas of the results: the members of the data part. A member whose name ends in "?" is
// optional.
const (
	text   = `{"type":"string"}`
	texts  = `{"type":"array","items":{"type":"string"}}`
	number = `{"type":"number"}`
	flag   = `{"type":"boolean"}`
	moment = `{"type":"string","format":"date-time"}`
	// waiting is not an enumeration: a hub of a later version may have further reasons.
	waiting = `{"type":"string","description":"Why the task waits, such as no-worker or agent-paused."}`
)

var (
	reportMembers = []string{
		"agent", text, "task_id?", text, "context_id?", text, "state", text, "waiting?", waiting, "result?", text,
		"progress?", text, "data?", text, "next?", text,
	}
	invokeOutput = append([]string{"working_memory_key", text, "working_memory_data_key?", text}, reportMembers...)
	chatOutput   = []string{
		"agent", text, "reply", text, "state", text, "contextId?", text, "taskId?", text, "progress?", text, "working_memory_key?", text, "data?", text, "next?", text,
	}
	taskOutput  = []string{"tasks", listOf(taskMembers), "next_page_token?", text}
	taskMembers = []string{"agent", text, "task_id", text, "context_id?", text, "state", text, "waiting?", waiting, "updated?", moment}

	skillMembers = []string{"id", text, "description?", text}
	agentMembers = []string{"name", text, "description", text, "lastSeen?", text, "skills", listOf(skillMembers)}
	agentsOutput = []string{"agents", listOf(agentMembers), "note?", text}
	cardOutput   = []string{"name", text, "lastSeen?", text, "card", text}
	foundMembers = []string{"id", text, "type", `{"enum":["a2a","mcp"]}`, "summary", text, "relevance_score", number, "top_skills?", texts, "top_tools?", texts}
	foundOutput  = []string{"results", listOf(foundMembers), "note?", text}

	noteMembers = []string{
		"key", text, "about?", text, "value?", text, "preview?", text, "size", number, "category?", text, "tags?", texts,
		"updated?", moment, "expires?", moment, "relevance_score?", number,
	}
	readOutput       = append([]string{"offset?", number, "next_offset?", number, "next?", text}, noteMembers...)
	notesOutput      = []string{"notes", listOf(noteMembers), "note?", text}
	deletedOutput    = []string{"deleted", text}
	refreshedOutput  = []string{"agent", text, "status", text, "skills", listOf(skillMembers), "error?", text}
	unregisterOutput = []string{"unregistered", text}
	answerOutput     = []string{"answered", flag, "answer?", text, "next?", text}
	updateOutput     = []string{"sent", flag, "note?", text}
)

// members returns the schema of an object with these members.
func members(pairs []string) string {
	var properties, required []string
	for i := 0; i < len(pairs); i += 2 {
		name, optional := strings.CutSuffix(pairs[i], "?")
		properties = append(properties, `"`+name+`":`+pairs[i+1])
		if !optional {
			required = append(required, `"`+name+`"`)
		}
	}
	return `{"type":"object","properties":{` + strings.Join(properties, ",") + `},"required":[` + strings.Join(required, ",") + `]}`
}

func listOf(pairs []string) string { return `{"type":"array","items":` + members(pairs) + `}` }

func schemaOf(pairs []string) json.RawMessage { return json.RawMessage(members(pairs)) }
