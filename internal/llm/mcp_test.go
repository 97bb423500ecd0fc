package llm_test

import (
	"encoding/json"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/llm"
)

var mcpRows = []struct {
	name string
	part *a2a.Part
	json string
}{
	{"text", a2a.NewTextPart("hello"), `{"type":"text","text":"hello"}`},
	{"empty text", a2a.NewTextPart(""), `{"type":"text","text":""}`},
	{
		"html", with(&a2a.Part{Content: a2a.Text("a"), MediaType: "text/html", Filename: "a.html"}, "m", "x"),
		`{"type":"text","_meta":{"parley/filename":"a.html","parley/mediaType":"text/html","parley/metadata":{"m":"x"}},"text":"a"}`,
	},
	{"data", a2a.NewDataPart([]any{json.Number("1.50"), nil}), `{"type":"text","_meta":{"parley/data":true},"text":"[1.50,null]"}`},
	{"null", a2a.NewDataPart(nil), `{"type":"text","_meta":{"parley/data":true},"text":"null"}`},
	{"image", raw("image/png", "", "x"), `{"type":"image","mimeType":"image/png","data":"eA=="}`},
	{"empty sound", raw("audio/wav", "a.wav", ""), `{"type":"audio","mimeType":"audio/wav","_meta":{"parley/filename":"a.wav"},"data":""}`},
	{"file", raw("application/pdf", "a.pdf", "x"), `{"type":"resource","resource":{"uri":"parley:part/0","mimeType":"application/pdf","blob":"eA=="},"_meta":{"parley/filename":"a.pdf"}}`},
	{"empty file", raw("", "", ""), `{"type":"resource","resource":{"uri":"parley:part/0","blob":""}}`},
	{
		"link", &a2a.Part{Content: a2a.URL("https://a.example/b"), Filename: "b", MediaType: "text/csv"},
		`{"type":"resource_link","mimeType":"text/csv","uri":"https://a.example/b","name":"b","_meta":{"parley/filename":"b"}}`,
	},
	{"link without a name", a2a.NewFileURLPart("https://a.example/b", ""), `{"type":"resource_link","uri":"https://a.example/b","name":"https://a.example/b"}`},
}

// Every part converts to MCP and back unchanged.
func TestMCP(t *testing.T) {
	t.Parallel()
	for _, r := range mcpRows {
		blocks, lost := llm.ToMCP(a2a.ContentParts{r.part})
		b, err := json.Marshal(blocks)
		if err != nil || string(b) != "["+r.json+"]" || len(lost) != 0 {
			t.Errorf("%s: ToMCP = %s, lost %v, error %v, want %s", r.name, b, lost, err, r.json)
		}
		var read []llm.MCPBlock
		if err := json.Unmarshal(b, &read); err != nil {
			t.Fatal(err)
		}
		parts, lost := llm.FromMCP(read)
		if diff := cmp.Diff(a2a.ContentParts{r.part}, parts); diff != "" || len(lost) != 0 {
			t.Errorf("%s: FromMCP lost %v, mismatch (-want +got):\n%s", r.name, lost, diff)
		}
	}
}

func TestToMCPLosses(t *testing.T) {
	t.Parallel()
	blocks, lost := llm.ToMCP(a2a.ContentParts{nil, {}, a2a.NewDataPart(func() {})})
	want := []llm.Loss{gone("parts[0]", "has no content"), gone("parts[1]", "has no content"), gone("parts[2].data", "is not JSON")}
	if diff := cmp.Diff(want, lost); diff != "" || len(blocks) != 1 {
		t.Errorf("%d blocks, losses mismatch (-want +got):\n%s", len(blocks), diff)
	}
}

// Values that only MCP has are kept in the metadata of the part.
func TestFromMCP(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]*a2a.Part{
		`{"type":"text","text":"a","annotations":{"priority":1}}`: with(a2a.NewTextPart("a"), "mcp", map[string]any{"annotations": map[string]any{"priority": 1.0}}),
		`{"type":"text","text":"a","_meta":{"x":1,"parley/data":true,"parley/metadata":7}}`: with(a2a.NewTextPart("a"), "mcp",
			map[string]any{"_meta": map[string]any{"x": 1.0, "parley/data": true, "parley/metadata": 7.0}}),
		`{"type":"resource_link","uri":"u:v","name":"n","title":"t","description":"d","size":3}`: with(
			&a2a.Part{Content: a2a.URL("u:v"), Filename: "n"}, "mcp", map[string]any{"title": "t", "description": "d", "size": int64(3)}),
		`{"type":"resource","resource":{"uri":"file:///a","mimeType":"text/csv","text":"1,2","_meta":{"x":1}}}`: with(
			&a2a.Part{Content: a2a.Text("1,2"), MediaType: "text/csv"}, "mcp", map[string]any{"uri": "file:///a", "resourceMeta": map[string]any{"x": 1.0}}),
		`{"type":"image","data":"eA==","mimeType":"image/png"}`: raw("image/png", "", "x"),
	} {
		var b llm.MCPBlock
		if err := json.Unmarshal([]byte(in), &b); err != nil {
			t.Fatal(err)
		}
		parts, lost := llm.FromMCP([]llm.MCPBlock{b})
		if diff := cmp.Diff(a2a.ContentParts{want}, parts); diff != "" || len(lost) != 0 {
			t.Errorf("FromMCP(%s) lost %v, mismatch (-want +got):\n%s", in, lost, diff)
		}
	}
}

func TestFromMCPLosses(t *testing.T) {
	t.Parallel()
	meta := map[string]any{"parley/metadata": map[string]any{"mcp": 1, "a": 2}, "x": 3}
	parts, lost := llm.FromMCP([]llm.MCPBlock{
		{Type: "tool_use"}, {Type: "resource"}, {Type: "text", Text: "a", MIMEType: "text/html"}, {Type: "text", Meta: meta},
	})
	want := []llm.Loss{
		gone("content[0]", "A2A cannot carry a block of the type tool_use"), gone("content[1].resource", "is not there"),
		gone("content[2].mimeType", "a text has no media type in MCP"),
		gone("content[3]._meta.parley/metadata.mcp", "was replaced by the block's"),
	}
	if diff := cmp.Diff(want, lost); diff != "" || len(parts) != 2 {
		t.Errorf("%d parts, losses mismatch (-want +got):\n%s", len(parts), diff)
	}
	if diff := cmp.Diff(map[string]any{"a": 2, "mcp": map[string]any{"_meta": map[string]any{"x": 3}}}, parts[1].Metadata); diff != "" {
		t.Errorf("metadata mismatch (-want +got):\n%s", diff)
	}
}

func TestMCPResults(t *testing.T) {
	t.Parallel()
	object := map[string]any{"n": 1.5}
	parts := a2a.ContentParts{nil, a2a.NewTextPart("hi"), a2a.NewDataPart([]any{1.0}), a2a.NewDataPart(object), a2a.NewDataPart(map[string]any{})}
	r, lost := llm.ToMCPResult(parts, true)
	if diff := cmp.Diff(object, r.StructuredContent); diff != "" || !r.IsError || len(r.Content) != 4 || len(lost) != 1 {
		t.Errorf("ToMCPResult = %+v, lost %v, mismatch (-want +got):\n%s", r, lost, diff)
	}
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var read llm.MCPResult
	if err := json.Unmarshal(b, &read); err != nil {
		t.Fatal(err)
	}
	got, lost := llm.FromMCPResult(&read)
	if len(got) != 4 || len(lost) != 0 || !cmp.Equal(got[1].Data(), any([]any{json.Number("1")})) {
		t.Errorf("FromMCPResult = %v, lost %v", got, lost)
	}
	for _, tt := range []struct {
		in   llm.MCPResult
		want a2a.ContentParts
	}{
		{llm.MCPResult{StructuredContent: object}, a2a.ContentParts{a2a.NewDataPart(object)}},
		{llm.MCPResult{StructuredContent: object, Content: []llm.MCPBlock{{Type: "text", Text: ` {"n":1.5} `}}}, a2a.ContentParts{a2a.NewDataPart(object)}},
		{llm.MCPResult{StructuredContent: object, Content: []llm.MCPBlock{{Type: "text", Text: `{"n":2}`}}}, a2a.ContentParts{a2a.NewDataPart(object), a2a.NewTextPart(`{"n":2}`)}},
		{llm.MCPResult{Content: []llm.MCPBlock{{Type: "text", Text: `{"n":2}`}}}, a2a.ContentParts{a2a.NewTextPart(`{"n":2}`)}},
	} {
		parts, lost := llm.FromMCPResult(&tt.in)
		if diff := cmp.Diff(tt.want, parts); diff != "" || len(lost) != 0 {
			t.Errorf("FromMCPResult lost %v, mismatch (-want +got):\n%s", lost, diff)
		}
	}
	if parts, lost := llm.FromMCPResult(nil); parts != nil || lost != nil {
		t.Error("nothing gives something")
	}
}
