package protoworkstacean

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// quinnSkills is the document's entry of quinn.
const quinnSkills = `
    skills:
      - name: pr_review
        description: Review PRs and submit formal APPROVE/REQUEST_CHANGES
      - name: bug_triage
        description: Triage bugs and file on the board
      - name: security_triage
        description: CVE/vulnerability triage and escalation
`

// TestCallsWithoutACard: an agent of the document has only a message/send endpoint. It gets the
// document's literal request at the configured URL, and the hub uses its ids.
func TestCallsWithoutACard(t *testing.T) {
	t.Parallel()
	quinn := startAgent(t, fake{Key: "ava-secret"})
	h := startHub(t, settings{
		Agents: "agents:\n  - name: quinn\n    url: \"${QUINN_BASE_URL}/a2a\"\n    apiKeyEnv: AVA_API_KEY" + quinnSkills +
			"\n  - name: broken\n    url: \"${NOT_THERE}/a2a\"\n",
		Env: []string{"QUINN_BASE_URL=" + quinn.URL, "AVA_API_KEY=ava-secret"},
	})
	first := h.chat(map[string]any{"agent": "quinn", "message": "input-required which PR?", "skill": "pr_review"})
	t.Run("first turn", func(t *testing.T) {
		r := quinn.last(t)
		if p := &r.Call.Params; p.ContextID != nil || p.Message.ContextID != nil || p.Message.TaskID != nil {
			t.Errorf("the first message has ids: %+v", p)
		}
		if diff := cmp.Diff("POST /a2a message/send", r.Method+" "+r.Path+" "+r.Call.Method); diff != "" || r.Refused != "" {
			t.Errorf("request (-want +got):\n%s\nrefused: %s", diff, r.Refused)
		}
		if first.State != "input-required" || first.Reply != "which PR?" || first.ContextID == "" || first.TaskID == "" {
			t.Errorf("the reply is %+v", first)
		}
	})
	t.Run("headers", func(t *testing.T) {
		r := quinn.last(t)
		if got := r.Header.Get("X-Api-Key"); got != "ava-secret" {
			t.Errorf("X-API-Key: %q", got)
		}
		if id := r.Header.Get("X-Correlation-Id"); id == "" || r.Call.Params.Metadata.CorrelationID != id {
			t.Errorf("X-Correlation-Id is %q, metadata.correlationId %q", id, r.Call.Params.Metadata.CorrelationID)
		}
		if got := r.Header.Get("Content-Type"); got != "application/json" {
			t.Errorf("Content-Type: %q", got)
		}
	})
	t.Run("skill hint", func(t *testing.T) {
		if got := quinn.last(t).Call.Params.Metadata.SkillHint; got != "pr_review" {
			t.Errorf("metadata.skillHint is %q", got)
		}
	})
	ids := map[string]any{"agent": "quinn", "message": "number 7", "contextId": first.ContextID, "taskId": first.TaskID}
	second := h.chat(ids)
	t.Run("follow-up", func(t *testing.T) {
		r := quinn.last(t)
		p := &r.Call.Params
		if p.ContextID == nil || *p.ContextID != "thread-1" || p.Message.TaskID == nil || *p.Message.TaskID != "task-1" || r.Refused != "" {
			t.Errorf("the follow-up is %+v, refused: %s", p, r.Refused)
		}
		if second.State != "completed" || second.Reply != "re: number 7" || second.TaskID != first.TaskID {
			t.Errorf("the reply is %+v", second)
		}
	})
	t.Run("conversation", func(t *testing.T) {
		// The task has ended, but the agent's own context continues, also after a restart.
		h.Restart()
		third := h.chat(map[string]any{"agent": "quinn", "message": "and now?", "contextId": first.ContextID, "done": true})
		r := quinn.last(t)
		if p := &r.Call.Params; p.ContextID == nil || *p.ContextID != "thread-1" || p.Message.TaskID != nil || r.Refused != "" {
			t.Errorf("the message is %+v, refused: %s", p, r.Refused)
		}
		if third.ContextID != "" || third.TaskID != "" || third.State != "completed" {
			t.Errorf("with done the reply is %+v, want no ids", third)
		}
		// The agent does not accept the end: its question is the last reply.
		last := h.tool("chat_with_agent", map[string]any{
			"agent": "quinn", "message": "input-required anything else?", "contextId": first.ContextID, "done": true,
		})
		var members map[string]any
		if err := json.Unmarshal([]byte(last), &members); err != nil || len(members) != 3 || members["state"] != "input-required" {
			t.Errorf("with done a question is %s, want agent, reply and state alone", last)
		}
	})
	t.Run("listed", func(t *testing.T) {
		out := h.parley("agents", "list")
		for _, line := range strings.Split(out, "\n") {
			if f := strings.Split(line, "\t"); f[0] == "quinn" && (f[2] != "up" || f[3] != "3" || !strings.Contains(line, "no agent card")) {
				t.Errorf("agents list has %q", line)
			}
		}
		if !strings.Contains(out, "quinn\t") || strings.Contains(out, "broken\t") {
			t.Errorf("agents list is\n%s", out)
		}
		if _, err := h.Parley(t.Context(), "agents", "list"); err != nil || !strings.Contains(h.Output(), "NOT_THERE") {
			t.Errorf("the variable that is not set is not in the log: %v", err)
		}
	})
	t.Run("by skill", func(t *testing.T) {
		got := h.call("/a2a", `{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"role":"user","parts":[{"kind":"text","text":"x"}]},"metadata":{"skillHint":"bug_triage"}}}`)
		if got := quinn.last(t).Call.Params.Metadata.SkillHint; got != "bug_triage" {
			t.Errorf("the agent gets the skill %q", got)
		}
		if member(got, "result", "artifacts", 0, "parts", 0, "text") != "re: x" {
			t.Errorf("the answer is %v", got)
		}
		unknown := h.call("/a2a", `{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"role":"user","parts":[{"kind":"text","text":"x"}]},"metadata":{"skillHint":"cook"}}}`)
		if text, _ := member(unknown, "error", "message").(string); !strings.Contains(text, "bug_triage") {
			t.Errorf("an unknown skill is answered with %v", unknown)
		}
	})
	for _, r := range quinn.requests(http.MethodPost) {
		if r.Path != "/a2a" || r.Refused != "" {
			t.Errorf("POST %s %s was refused: %s", r.Path, r.Call.Method, r.Refused)
		}
	}
}

// TestStates: each state of the document is reported, and final states accept no further
// message.
func TestStates(t *testing.T) {
	t.Parallel()
	quinn := startAgent(t, fake{})
	h := startHub(t, settings{Agents: "agents:\n  - {name: quinn, url: \"" + quinn.URL + "/a2a\"}\n"})
	for _, state := range []string{"failed", "canceled", "rejected", "completed"} {
		t.Run(state, func(t *testing.T) {
			got := h.chat(map[string]any{"agent": "quinn", "message": state + " because"})
			if got.State != state || got.Reply != "because" {
				t.Errorf("the reply is %+v", got)
			}
			sent := len(quinn.requests(http.MethodPost))
			again := h.call("/a2a/quinn", `{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"role":"user","taskId":"`+got.TaskID+
				`","parts":[{"kind":"text","text":"more"}]}}}`)
			if member(again, "error", "code") != -32004.0 || len(quinn.requests(http.MethodPost)) != sent {
				t.Errorf("another message is answered with %v, and the agent has got %d requests more", again, len(quinn.requests(http.MethodPost))-sent)
			}
		})
	}
}

// TestCorrelation: the trace id reaches the agent in the header and in the metadata, from every
// caller.
func TestCorrelation(t *testing.T) {
	t.Parallel()
	quinn := startAgent(t, fake{})
	h := startHub(t, settings{Agents: "agents:\n  - {name: quinn, url: \"" + quinn.URL + "/a2a\"}\n"})
	alike := func(t *testing.T, want, parent string) {
		t.Helper()
		r := quinn.last(t)
		id := r.Header.Get("X-Correlation-Id")
		if id == "" || want != "" && id != want || r.Call.Params.Metadata.CorrelationID != id {
			t.Errorf("X-Correlation-Id is %q, metadata %v, want %q", id, r.Call.Params.Metadata, want)
		}
		if got := r.Header.Get("X-Parent-Id"); got != parent || r.Call.Params.Metadata.ParentID != parent {
			t.Errorf("X-Parent-Id is %q, metadata %v, want %q", got, r.Call.Params.Metadata, parent)
		}
	}
	send := func(t *testing.T, metadata string, header ...string) {
		t.Helper()
		h.call("/a2a/quinn", `{"jsonrpc":"2.0","method":"message/send","params":{"message":{"role":"user","parts":[{"kind":"text","text":"x"}]}`+metadata+`}}`, header...)
	}
	t.Run("command", func(t *testing.T) {
		h.parley("send", "--agent", "quinn", "hello")
		alike(t, "", "")
	})
	t.Run("tool", func(t *testing.T) {
		h.chat(map[string]any{"agent": "quinn", "message": "hello"})
		alike(t, "", "")
	})
	t.Run("chat completions", func(t *testing.T) {
		h.call("/v1/chat/completions", `{"model":"quinn","messages":[{"role":"user","content":"hello"}]}`)
		alike(t, "", "")
	})
	t.Run("header", func(t *testing.T) {
		send(t, "", "X-Correlation-Id", "hdr-1", "X-Parent-Id", "span-1")
		alike(t, "hdr-1", "span-1")
	})
	t.Run("metadata", func(t *testing.T) {
		send(t, `,"metadata":{"correlationId":"meta-1","parentId":"span-2"}`)
		alike(t, "meta-1", "span-2")
	})
	t.Run("header before metadata", func(t *testing.T) {
		send(t, `,"metadata":{"correlationId":"meta-c","parentId":"meta-p"}`, "X-Correlation-Id", "hdr-c", "X-Parent-Id", "hdr-p")
		alike(t, "hdr-c", "hdr-p")
	})
}

// TestReplies: the cascade of the document: the texts of all parts of all artifacts, each on lines of its
// own like in protoWorkstacean, the result's message, which protoWorkstacean declares as a string, and a
// placeholder. The status may be a string, too.
func TestReplies(t *testing.T) {
	t.Parallel()
	task := func(members string) string { return `{"id":"ID","contextId":"CONTEXT",` + members + `}` }
	const artifacts = `"artifacts":[{"artifactId":"a","parts":[{"kind":"text","text":"one "},{"kind":"text","text":"two"}]},{"artifactId":"b","parts":[{"kind":"text","text":"three"}]}]`
	results := map[string]struct{ result, want string }{
		"artifacts":   {task(`"status":{"state":"completed"},` + artifacts), "one \ntwo\nthree"},
		"precedence":  {task(`"status":{"state":"completed"},"message":"beside",` + artifacts), "one \ntwo\nthree"},
		"string":      {task(`"status":{"state":"completed"},"message":"beside the status"`), "beside the status"},
		"empty":       {task(`"status":{"state":"completed"},"artifacts":[],"message":"no artifact"`), "no artifact"},
		"status":      {task(`"status":"completed","message":"a word for a state"`), "a word for a state"},
		"alone":       {`{"message":"ok"}`, "ok"},
		"without ids": {`{"status":"completed","message":"no ids"}`, "no ids"},
		"object":      {task(`"status":{"state":"completed"},"message":{"messageId":"m","role":"agent","parts":[{"kind":"text","text":"an object"},{"kind":"text","text":"of two parts"}]}`), "an object\nof two parts"},
		"in status":   {task(`"status":{"state":"completed","message":{"messageId":"m","role":"agent","parts":[{"kind":"text","text":"several words,"},{"kind":"text","text":"and more"}]}}`), "several words,\nand more"},
		"nothing":     {task(`"status":{"state":"completed"},"artifacts":[]`), "quinn: completed"},
		"state alone": {task(`"status":"completed"`), "quinn: completed"},
	}
	quinn := startAgent(t, fake{Reply: func(p *sendParams, id, context string) string {
		return strings.NewReplacer("ID", id, "CONTEXT", context).Replace(results[p.Message.text()].result)
	}})
	h := startHub(t, settings{Agents: "agents:\n  - {name: quinn, url: \"" + quinn.URL + "/a2a\"}\n"})
	for word, tt := range results {
		t.Run(word, func(t *testing.T) {
			if got := h.chat(map[string]any{"agent": "quinn", "message": word}); got.Reply != tt.want {
				t.Errorf("chat_with_agent replies %q, want %q", got.Reply, tt.want)
			}
			if got := strings.TrimSuffix(h.parley("send", "--agent", "quinn", word), "\n"); got != tt.want {
				t.Errorf("parley send prints %q, want %q", got, tt.want)
			}
			got := h.call("/v1/chat/completions", `{"model":"quinn","messages":[{"role":"user","content":"`+word+`"}]}`)
			if text := member(got, "choices", 0, "message", "content"); text != tt.want {
				t.Errorf("the chat completion is %q, want %q", text, tt.want)
			}
		})
	}
}
