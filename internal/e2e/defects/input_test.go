package defects

import (
	"strings"
	"testing"
)

// fixtures are tasks that bad input refers to: $done and $asked belong to ann, $foreign to bob.
type fixtures struct {
	*hub
	names *strings.Replacer
}

func (h *hub) fixtures() fixtures {
	h.t.Helper()
	asked := h.to("ann", "ask", sendParams("hi"))
	return fixtures{h, strings.NewReplacer(
		"$done", h.to("ann", "echo", sendParams("hi")).ID,
		"$asked", asked.ID,
		"$context", asked.ContextID,
		"$foreign", h.to("bob", "ask", sendParams("hi")).ID,
	)}
}

// leavesNoTrace runs do and fails the test if anything was stored meanwhile, or if ann's tasks
// have changed.
func (f fixtures) leavesNoTrace(t *testing.T, do func()) {
	t.Helper()
	appends, total := f.store.appends.Load(), f.total("ann")
	do()
	if n := f.store.appends.Load() - appends; n != 0 {
		t.Errorf("%d changes were stored, want none", n)
	}
	if now := f.total("ann"); now != total {
		t.Errorf("ann has %d tasks, want the %d from before", now, total)
	}
}

// nested returns JSON that is nested depth deep.
func nested(depth int) string {
	return strings.Repeat(`{"a":`, depth) + "1" + strings.Repeat("}", depth)
}

// part returns a message with one part of the given JSON.
func part(json string) string {
	return `{"message":{"messageId":"m","role":"ROLE_USER","parts":[` + json + `]}}`
}

// badInputs are hostile requests; package hostile has more. The hub of that package has lower
// limits than these requests need, and has extended cards.
var badInputs = []struct {
	name, method, path, body string
	want                     fault
}{
	{"skill of 64 KiB", "POST", "/a2a", envelope("SendMessage", longSkill), fault{200, -32602, "INVALID_PARAMS", "metadata.skill"}},
	{"skill of 64 KiB, stream", "POST", "/a2a", envelope("SendStreamingMessage", longSkill), fault{200, -32602, "INVALID_PARAMS", "metadata.skill"}},
	{"skill of 64 KiB, HTTP+JSON", "POST", "/v1/a2a/message:send", longSkill, fault{400, 400, "INVALID_PARAMS", "metadata.skill"}},
	{"skill of 64 KiB, stream of HTTP+JSON", "POST", "/v1/a2a/message:stream", longSkill, fault{400, 400, "INVALID_PARAMS", "metadata.skill"}},
	{"nested a million deep", "POST", "/a2a", strings.Repeat("[", 1_000_000), fault{200, -32700, "PARSE_ERROR", ""}},
	{"method of 64 KiB", "POST", "/a2a", envelope(strings.Repeat("M", 64<<10), `{}`), fault{200, -32601, "METHOD_NOT_FOUND", ""}},
	{"tenant of 64 KiB", "POST", "/a2a/ask", envelope("SendMessage", `{"tenant":"`+strings.Repeat(`\u0001`, 64<<10)+`",`+sendParams("hi")[1:]), fault{200, -32602, "INVALID_PARAMS", "tenant"}},
	{"media type of 64 KiB", "POST", "/a2a/text", envelope("SendMessage", part(`{"text":"a","mediaType":"`+strings.Repeat("m", 64<<10)+`"}`)), fault{200, -32005, "CONTENT_TYPE_NOT_SUPPORTED", "message.parts[0]"}},
	{"id of 64 KiB", "POST", "/a2a", envelope("GetTask", `{"id":"`+strings.Repeat("x", 64<<10)+`"}`), rpcNotFound},
	{"extended card undeclared", "POST", "/a2a", envelope("GetExtendedAgentCard", `{}`), fault{200, -32004, "UNSUPPORTED_OPERATION", ""}},
	{"extended card missing", "POST", "/a2a", envelope("GetExtendedAgentCard", `{"tenant":"promising"}`), fault{200, -32007, "EXTENDED_AGENT_CARD_NOT_CONFIGURED", ""}},
	{"extended card undeclared, HTTP+JSON", "GET", "/v1/a2a/extendedAgentCard", "", fault{501, 501, "UNSUPPORTED_OPERATION", ""}},
	{"extended card missing, HTTP+JSON", "GET", "/v1/a2a/promising/extendedAgentCard", "", fault{400, 400, "EXTENDED_AGENT_CARD_NOT_CONFIGURED", ""}},
}

var longSkill = sendParams("a", `"metadata":{"skill":"`+strings.Repeat(`\u0001`, 64<<10)+`"}`)

// Every hostile request over HTTP gets exactly its error, before anything is stored.
func TestHostileInput(t *testing.T) {
	onEachStore(t, func(t *testing.T, h *hub) {
		f := h.fixtures()
		for _, c := range badInputs {
			t.Run(c.name, func(t *testing.T) {
				f.leavesNoTrace(t, func() { wantFault(t, c.want, faultOf(t, h.do(call{"ann", c.method, c.path, c.body, nil}))) })
			})
		}
		h.alive("ann")
	})
}

// Odd input that is legal must not be refused, lost or changed.
func TestOddButLegal(t *testing.T) {
	onEachStore(t, func(t *testing.T, h *hub) {
		for name, text := range map[string]string{
			"NUL": "a\x00b", "astral": "😀", "separators": "a\u2028b\u2029c", "quotes": `"\"`, "html": "</script><!--",
			"direction": "\u202eabc", "lines": "data: x\n\nid: 99\n\nevent: y\r\n\r\n", "empty": "",
		} {
			want := "> " + text
			w := h.to("ann", "echo", sendParams(text))
			if len(w.Artifacts) != 1 || w.Artifacts[0].Parts[0].Text != want {
				t.Errorf("%s: echo answers %+v, want %q", name, w.Artifacts, want)
			}
			resp := h.stream(t.Context(), call{"ann", "POST", "/echo/message:stream", sendParams(text), nil})
			all := h.read(resp.Body).rest()
			gapless(t, 0, all)
			if len(all) != 4 || all[2].frame(t).ArtifactUpdate.Artifact.Parts[0].Text != want {
				t.Errorf("%s: the stream has %v", name, all)
			}
		}
		for name, members := range map[string]string{
			"huge number": `"metadata":{"n":1e999,"m":-123456789012345678901234567890.5}`,
			"deep":        `"metadata":` + nested(90),
			"unknown":     `"x":{"y":[null,1e999]}`,
			"free names":  `"metadata":{"":1,"__proto__":{"a":1,"a":2}}`,
		} {
			w := h.to("ann", "echo", sendParams("hi", members))
			if w.Status.State != "TASK_STATE_COMPLETED" {
				t.Errorf("%s: the task is %s: %s", name, w.Status.State, w.statusText())
			}
			if got := string(w.History[0]); !strings.Contains(got, members) {
				t.Errorf("%s: the message is %s, want it to contain %s", name, got, members)
			}
		}
		w := h.to("ann", "echo", strings.TrimSuffix(sendParams("hi"), "}")+`,"metadata":{"n":1e999}}`)
		if w.Status.State != "TASK_STATE_COMPLETED" {
			t.Errorf("huge number beside the message: the task is %s: %s", w.Status.State, w.statusText())
		}
		w = h.to("ann", "echo", part(`{"data":1e999}`))
		if w.Status.State != "TASK_STATE_COMPLETED" {
			t.Errorf("huge number as data: the task is %s: %s", w.Status.State, w.statusText())
		}
	})
}
