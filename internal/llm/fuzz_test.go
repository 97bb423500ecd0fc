package llm_test

import (
	"encoding/json"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/parley-a2a/parley/internal/llm"
)

// same compares parts; it treats empty and nil values as equal.
var same = cmp.Options{cmpopts.EquateEmpty()}

// FuzzChat checks that accepted messages convert to A2A, and that the result converts to a chat
// and back without a further loss.
func FuzzChat(f *testing.F) {
	f.Add([]byte(toolTalk))
	for _, r := range chatRows {
		f.Add([]byte(`[{"role":"user","content":` + r.json + `}]`))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var in []llm.ChatMessage
		if json.Unmarshal(b, &in) != nil {
			return
		}
		msgs, _, err := llm.FromChatMessages(in)
		if err != nil {
			return
		}
		chat, lost := llm.ToChatMessages(msgs...)
		if len(lost) > 0 {
			return // for example an image of an agent
		}
		wire, err := json.Marshal(chat)
		if err != nil {
			t.Fatalf("%s gives no JSON: %v", b, err)
		}
		var read []llm.ChatMessage
		if err := json.Unmarshal(wire, &read); err != nil {
			t.Fatalf("%s gives %s: %v", b, wire, err)
		}
		if _, lost, err := llm.FromChatMessages(read); err != nil || len(lost) != 0 {
			t.Fatalf("%s gives %s, which loses %v, error %v", b, wire, lost, err)
		}
	})
}

// FuzzParts checks that parts convert to every format without a panic. Parts without a Loss in
// the chat convert back unchanged; MCP restores all of them.
func FuzzParts(f *testing.F) {
	for _, r := range chatRows {
		if b, err := json.Marshal(r.part); err == nil {
			f.Add(b)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var p a2a.Part
		if json.Unmarshal(b, &p) != nil {
			return
		}
		parts := a2a.ContentParts{&p}
		llm.ToChatText(parts)
		llm.ToChatMessages(&a2a.Message{Role: a2a.MessageRoleUser, Parts: parts}, &a2a.Message{Role: a2a.MessageRoleAgent, Parts: parts})
		if c, lost := llm.ToChat(parts); len(lost) == 0 {
			if _, lost, err := llm.FromChat(c); err != nil || len(lost) != 0 {
				t.Fatalf("%s gives %+v, which loses %v, error %v", b, c, lost, err)
			}
		}
		blocks, lost := llm.ToMCP(parts)
		if len(lost) != 0 {
			t.Fatalf("%s loses %v in MCP", b, lost)
		}
		wire, err := json.Marshal(blocks)
		if err != nil {
			t.Fatal(err)
		}
		var read []llm.MCPBlock
		if err := json.Unmarshal(wire, &read); err != nil {
			t.Fatalf("%s gives %s: %v", b, wire, err)
		}
		back, lost := llm.FromMCP(read)
		if diff := cmp.Diff(plain(t, parts), plain(t, back), same); diff != "" || len(lost) != 0 {
			t.Fatalf("%s gives %s, which loses %v, mismatch (-want +got):\n%s", b, wire, lost, diff)
		}
	})
}

// plain returns parts decoded as generic JSON values.
func plain(t *testing.T, parts a2a.ContentParts) (v []any) {
	t.Helper()
	b, err := json.Marshal(parts)
	if err == nil {
		err = json.Unmarshal(b, &v)
	}
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// FuzzMCP checks that any block converts without a panic, and that its parts convert to blocks
// again.
func FuzzMCP(f *testing.F) {
	for _, r := range mcpRows {
		f.Add([]byte(`{"content":[` + r.json + `],"structuredContent":{"a":1}}`))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var r llm.MCPResult
		if json.Unmarshal(b, &r) != nil {
			return
		}
		parts, _ := llm.FromMCPResult(&r)
		if _, lost := llm.ToMCPResult(parts, r.IsError); len(lost) != 0 {
			t.Fatalf("%s gives parts that lose %v", b, lost)
		}
	})
}
