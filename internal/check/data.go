package check

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/parley-a2a/parley/internal/check/wire"
)

// finding checks one value in an answer, and returns a description of the problem; empty if
// there is none.
type finding func(path string, v any) string

// answersAll returns a check of all answers of the interface. It first requests each kind of
// answer.
func answersAll(f finding) func(context.Context, *probe) error {
	return func(ctx context.Context, p *probe) error {
		for _, b := range []behaviour{completes, asks, answers, rejects, givesText, givesFile, givesURL, givesData} {
			x := p.once("data "+b.text, func() *wire.Exchange { return p.send(ctx, b) })
			if s := text(x.Result, "task", "status", "state"); interrupted(s) {
				p.open[text(x.Result, "task", "id")] = true
			}
		}
		if p.declares("streaming") {
			p.stream(ctx, streams)
			p.stream(ctx, sendsChunks)
		}
		return p.judgeSeen(f)
	}
}

// judgeSeen applies f to all results and events so far.
func (p *probe) judgeSeen(f finding) error {
	found := false
	for _, x := range p.seen {
		values := []any{x.Result}
		for _, e := range x.Events {
			values = append(values, e.Value)
		}
		for _, v := range values {
			found = found || v != nil
			wrong := ""
			walk(v, func(path string, v any) bool {
				if wrong != "" || p.run.isTainted(v) {
					return false
				}
				wrong = f(path, v)
				return true
			})
			if wrong != "" {
				return failf(x, "%s", wrong)
			}
		}
	}
	if !found {
		return notOffered("there is no answer to check")
	}
	return nil
}

// snake matches names that are one word in JSON and two in the protocol definition.
var snake = regexp.MustCompile(`^(context_id|task_id|message_id|artifact_id|status_update|artifact_update|last_chunk|media_type|` +
	`reference_task_ids|next_page_token|page_size|total_size|push_notification_config|task_push_notification_config|` +
	`supported_interfaces|protocol_binding|protocol_version|default_input_modes|default_output_modes|security_schemes|` +
	`security_requirements|push_notifications|extended_agent_card|documentation_url|icon_url|input_modes|output_modes)$`)

// field returns the last name of a path, and the name above it.
func field(path string) (name, above string) {
	names := strings.Split(strings.ReplaceAll(path, "[]", ""), ".")
	name = names[len(names)-1]
	if len(names) > 1 {
		above = names[len(names)-2]
	}
	return name, above
}

func dataCamelCase(path string, _ any) string {
	if name, _ := field(path); snake.MatchString(name) {
		return "there is a field " + strings.TrimPrefix(path, ".")
	}
	return ""
}

// dataStates returns a finding of the states that are not known.
func dataStates(known []string) finding {
	return func(path string, v any) string {
		name, above := field(path)
		if s, _ := v.(string); name == "state" && above == "status" && !slices.Contains(known, s) {
			return "the state is " + compact(v)
		}
		return ""
	}
}

// dataRoles returns a finding of the roles that are neither user nor agent.
func dataRoles(user, agent string) finding {
	return func(path string, v any) string {
		if name, _ := field(path); name == "role" && v != user && v != agent {
			return "the role is " + compact(v)
		}
		return ""
	}
}

func dataTimestamps(path string, v any) string {
	if name, _ := field(path); name != "timestamp" {
		return ""
	}
	s, _ := v.(string)
	if _, err := time.Parse(time.RFC3339Nano, s); err != nil || !strings.HasSuffix(s, "Z") {
		return "the timestamp is " + compact(v)
	}
	return ""
}

// isTask reports whether v, the value at path, is a task.
func isTask(path string, v any) bool {
	name, _ := field(path)
	_, object := v.(map[string]any)
	return object && (name == "task" || name == "tasks" || name == "" && has(v, "status"))
}

func dataTask(path string, v any) string {
	if isTask(path, v) && (text(v, "id") == "" || text(v, "status", "state") == "") {
		return "a task lacks its id or its state"
	}
	return ""
}

func dataMessage(path string, v any) string {
	name, above := field(path)
	_, object := v.(map[string]any)
	if !object || name != "message" && name != "history" || above == "error" {
		return ""
	}
	if text(v, "messageId") == "" || text(v, "role") == "" || len(list(v, "parts")) == 0 {
		return "the message at " + strings.TrimPrefix(path, ".") + " lacks messageId, role or parts"
	}
	return ""
}

func dataArtifact(path string, v any) string {
	name, _ := field(path)
	if name == "artifact" && (text(v, "artifactId") == "" || len(list(v, "parts")) == 0) {
		return "an artifact lacks its artifactId or parts"
	}
	if name != "artifacts" {
		return ""
	}
	ids := map[string]bool{}
	for _, a := range list(v) {
		id := text(a, "artifactId")
		if id == "" || len(list(a, "parts")) == 0 {
			return "an artifact lacks its artifactId or parts"
		}
		if ids[id] {
			return "two artifacts of a task have the id " + id
		}
		ids[id] = true
	}
	return ""
}

// isPart reports whether v, the value at path, is a part.
func isPart(path string, v any) bool {
	_, object := v.(map[string]any)
	return object && strings.HasSuffix(path, ".parts[]")
}

func dataPart(path string, v any) string {
	if !isPart(path, v) {
		return ""
	}
	if got := arms(v, "text", "raw", "url", "data"); len(got) != 1 {
		return "the part " + compact(v) + " does not have exactly one content"
	}
	return ""
}

var base64Text = regexp.MustCompile(`^[A-Za-z0-9+/_-]*={0,2}$`)

func dataRaw(path string, v any) string {
	if !isPart(path, v) || !has(v, "raw") || base64Text.MatchString(text(v, "raw")) && text(v, "raw") != "" {
		return ""
	}
	return "raw is not base64: " + compact(at(v, "raw"))
}

func dataKind(path string, v any) string {
	if (isTask(path, v) || isPart(path, v)) && has(v, "kind") {
		return "there is a field kind, which belongs to v0.3"
	}
	return ""
}
