package llm_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/llm"
)

// chatRow is a part, its JSON in a chat, and the losses of the conversion.
type chatRow struct {
	name string
	part *a2a.Part
	json string
	lost []llm.Loss
	// oneWay parts change when they are converted back.
	oneWay bool
}

func raw(mediaType, name, bytes string) *a2a.Part {
	return &a2a.Part{Content: a2a.Raw(bytes), MediaType: mediaType, Filename: name}
}

func gone(field, problem string) llm.Loss {
	return llm.Loss{Field: field, Problem: problem, Gone: true}
}

func reshaped(field, problem string) llm.Loss {
	return llm.Loss{Field: field, Problem: problem}
}

func with(p *a2a.Part, name string, v any) *a2a.Part {
	p.SetMeta(name, v)
	return p
}

var chatRows = []chatRow{
	{name: "text", part: a2a.NewTextPart("hello"), json: `"hello"`},
	{name: "empty text", part: a2a.NewTextPart(""), json: `""`},
	{
		name: "html with a name", part: &a2a.Part{Content: a2a.Text("<p>"), MediaType: "text/html", Filename: "a.html"}, json: `"\u003cp\u003e"`,
		lost:   []llm.Loss{gone("parts[0].filename", "a text has no name there"), gone("parts[0].mediaType", "a text has no media type there")},
		oneWay: true,
	},
	{
		name: "metadata", part: with(with(a2a.NewTextPart("a"), "b", 1), "a", 2), json: `"a"`, oneWay: true,
		lost: []llm.Loss{gone("parts[0].metadata.a", "a chat completion has no metadata"), gone("parts[0].metadata.b", "a chat completion has no metadata")},
	},
	{name: "refusal", part: with(a2a.NewTextPart("no"), "refusal", true), json: `[{"type":"refusal","refusal":"no"}]`},
	{name: "image", part: raw("image/png", "", "\x89PNG"), json: `[{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw=="}}]`},
	{
		name: "image with detail and name", part: with(raw("image/png", "a.png", "x"), "detail", "high"), oneWay: true,
		json: `[{"type":"image_url","image_url":{"url":"data:image/png;base64,eA==","detail":"high"}}]`,
		lost: []llm.Loss{gone("parts[0].filename", "an image has no name there")},
	},
	{name: "sound", part: raw("audio/wav", "", "RIFF"), json: `[{"type":"input_audio","input_audio":{"data":"UklGRg==","format":"wav"}}]`},
	{name: "mp3", part: raw("audio/mpeg", "", "ID3"), json: `[{"type":"input_audio","input_audio":{"data":"SUQz","format":"mp3"}}]`},
	{name: "other sound", part: raw("audio/ogg", "a.ogg", "x"), json: `[{"type":"file","file":{"file_data":"data:audio/ogg;base64,eA==","filename":"a.ogg"}}]`},
	{name: "file", part: raw("application/pdf", "a.pdf", "%PDF"), json: `[{"type":"file","file":{"file_data":"data:application/pdf;base64,JVBERg==","filename":"a.pdf"}}]`},
	{name: "bytes of no type", part: raw("", "", "x"), json: `[{"type":"file","file":{"file_data":"data:application/octet-stream;base64,eA=="}}]`, oneWay: true},
	{
		name: "no media type", part: raw("a,b", "", "x"), json: `[{"type":"file","file":{"file_data":"data:application/octet-stream;base64,eA=="}}]`,
		lost: []llm.Loss{gone("parts[0].mediaType", "is not a media type")}, oneWay: true,
	},
	{name: "image at a URL", part: a2a.NewFileURLPart("https://a.example/b.jpg?c", "image/jpeg"), json: `[{"type":"image_url","image_url":{"url":"https://a.example/b.jpg?c"}}]`},
	{name: "some image at a URL", part: a2a.NewFileURLPart("https://a.example/b", "image/*"), json: `[{"type":"image_url","image_url":{"url":"https://a.example/b"}}]`},
	{name: "image by its name", part: a2a.NewFileURLPart("https://a.example/b.PNG", ""), json: `[{"type":"image_url","image_url":{"url":"https://a.example/b.PNG"}}]`, oneWay: true},
	{
		name: "image of another type at a URL", part: a2a.NewFileURLPart("https://a.example/b", "image/tiff"), json: `[{"type":"image_url","image_url":{"url":"https://a.example/b"}}]`,
		lost: []llm.Loss{gone("parts[0].mediaType", "an image at a URL has no media type there")}, oneWay: true,
	},
	{name: "image in a URL", part: a2a.NewFileURLPart("data:image/png;base64,eA==", "image/png"), json: `[{"type":"image_url","image_url":{"url":"data:image/png;base64,eA=="}}]`, oneWay: true},
	{
		name: "file at a URL", part: &a2a.Part{Content: a2a.URL("https://a.example/b.pdf"), Filename: "b.pdf", MediaType: "application/pdf"}, json: `"b.pdf: https://a.example/b.pdf"`, oneWay: true,
		lost: []llm.Loss{gone("parts[0].mediaType", "a text has no media type there"), reshaped("parts[0].url", "is a text, because only images may be at a URL")},
	},
	{
		name: "data", part: a2a.NewDataPart(map[string]any{"n": json.Number("1.50"), "a": nil}), json: `"{\"a\":null,\"n\":1.50}"`, oneWay: true,
		lost: []llm.Loss{reshaped("parts[0].data", "is JSON as a text")},
	},
	{
		name: "data that is none", part: a2a.NewDataPart(func() {}), json: `"null"`, oneWay: true,
		lost: []llm.Loss{reshaped("parts[0].data", "is JSON as a text"), gone("parts[0].data", "is not JSON")},
	},
	{name: "nothing", part: &a2a.Part{}, json: `null`, lost: []llm.Loss{gone("parts[0]", "has no content")}, oneWay: true},
	{name: "nil", part: nil, json: `null`, lost: []llm.Loss{gone("parts[0]", "has no content")}, oneWay: true},
	{name: "empty URL", part: a2a.NewFileURLPart("", "image/png"), json: `null`, lost: []llm.Loss{gone("parts[0]", "has no content")}, oneWay: true},
}

func TestToChat(t *testing.T) {
	t.Parallel()
	for _, r := range chatRows {
		c, lost := llm.ToChat(a2a.ContentParts{r.part})
		b, err := json.Marshal(c)
		if err != nil || string(b) != r.json {
			t.Errorf("%s: ToChat = %s, %v, want %s", r.name, b, err, r.json)
		}
		if !r.sameLosses(t, lost) || r.oneWay {
			continue
		}
		var read llm.ChatContent
		if err := json.Unmarshal(b, &read); err != nil {
			t.Fatal(err)
		}
		parts, lost, err := llm.FromChat(read)
		if diff := cmp.Diff(a2a.ContentParts{r.part}, parts); diff != "" || err != nil || len(lost) != 0 {
			t.Errorf("%s: FromChat lost %v, error %v, mismatch (-want +got):\n%s", r.name, lost, err, diff)
		}
	}
}

func (r *chatRow) sameLosses(t *testing.T, lost []llm.Loss) bool {
	t.Helper()
	diff := cmp.Diff(r.lost, lost)
	if diff != "" {
		t.Errorf("%s: losses mismatch (-want +got):\n%s", r.name, diff)
	}
	return diff == ""
}

func TestToChatText(t *testing.T) {
	t.Parallel()
	parts := a2a.ContentParts{
		a2a.NewTextPart("a"), with(raw("image/png", "b.png", "xyz"), "m", 1), raw("", "", "x"),
		{Content: a2a.URL("https://a.example/b"), Filename: "b"},
		a2a.NewDataPart([]any{1}),
	}
	c, lost := llm.ToChatText(parts)
	want := "a\n[b.png: image/png, 3 bytes]\n[application/octet-stream, 1 bytes]\nb: https://a.example/b\n[1]"
	if got := c.Text(); got != want {
		t.Errorf("text is %q, want %q", got, want)
	}
	wantLost := []llm.Loss{
		gone("parts[1].raw", "such a message holds text alone"), gone("parts[1].metadata.m", "a chat completion has no metadata"),
		gone("parts[2].raw", "such a message holds text alone"), reshaped("parts[3].url", "is a text"), reshaped("parts[4].data", "is JSON as a text"),
	}
	if diff := cmp.Diff(wantLost, lost); diff != "" {
		t.Errorf("losses mismatch (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(wantLost[:3], llm.Gone(lost)); diff != "" {
		t.Errorf("Gone mismatch (-want +got):\n%s", diff)
	}
}

// Content that no chat can have is rejected with the name of the field.
func TestFromChatRefuses(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`[{"text":"a"}]`:    "content[0].type: is required",
		`[{"type":"film"}]`: `content[0].type: "film" must be text, image_url, input_audio, file or refusal`,
		`["a"]`:             "",
		`7`:                 "",
		`{}`:                "",
		`[{"type":"text","text":"a"},{"type":"image_url"}]`:                       "content[1].image_url.url: is required",
		`[{"type":"image_url","image_url":{"url":"data:image/png,a"}}]`:           "content[0].image_url.url: is a data URL that is not in base64",
		`[{"type":"image_url","image_url":{"url":"data:image/png"}}]`:             "content[0].image_url.url: is a data URL without a comma",
		`[{"type":"image_url","image_url":{"url":"data:image/png;base64,!"}}]`:    "content[0].image_url.url: is not valid base64",
		`[{"type":"image_url","image_url":{"url":"data:text/html;base64,eA=="}}]`: `content[0].image_url.url: "text/html" is not an image media type`,
		`[{"type":"input_audio"}]`:                                                "content[0].input_audio: is required",
		`[{"type":"input_audio","input_audio":{"data":"!","format":"wav"}}]`:      "content[0].input_audio.data: is not valid base64",
		`[{"type":"input_audio","input_audio":{"data":"eA==","format":"opus"}}]`:  `content[0].input_audio.format: "opus" must be wav or mp3`,
		`[{"type":"file"}]`:           "content[0].file: is required",
		`[{"type":"file","file":{}}]`: "content[0].file.file_data: is required",
		`[{"type":"file","file":{"file_data":"https://a.example/"}}]`: "content[0].file.file_data: is not a data URL",
	} {
		var c llm.ChatContent
		err := json.Unmarshal([]byte(in), &c)
		if err == nil {
			_, _, err = llm.FromChat(c)
		}
		var bad *llm.ContentError
		if errors.As(err, &bad) != (want != "") || err == nil || want != "" && err.Error() != want {
			t.Errorf("FromChat(%s) = %v, want %q", in, err, want)
		}
	}
}

func TestFromChatFileOfProvider(t *testing.T) {
	t.Parallel()
	parts, lost, err := llm.FromChat(llm.ChatContent{{Type: "file", File: &llm.ChatFile{ID: "file-1"}}})
	want := []llm.Loss{gone("content[0].file.file_id", "is a file that its provider alone can read")}
	if diff := cmp.Diff(want, lost); diff != "" || len(parts) != 0 || err != nil {
		t.Errorf("FromChat = %v, %v, losses mismatch (-want +got):\n%s", parts, err, diff)
	}
}

// A conversation with tools as a chat, and the same in A2A.
const toolTalk = `[
	{"role":"user","content":"weather?","name":"ann"},
	{"role":"assistant","content":"May I?","tool_calls":[{"id":"c1","type":"function","function":{"name":"look","arguments":"{\"at\":1.50}"}}]},
	{"role":"tool","content":"{\"sky\":\"blue\"}","tool_call_id":"c1"},
	{"role":"tool","content":"7","tool_call_id":"c2"},
	{"role":"assistant","content":[{"type":"text","text":"Blue."},{"type":"refusal","refusal":"No more."}]}
]`

func toolMessages() []*a2a.Message {
	look := a2a.NewTextPart("")
	look.Metadata = map[string]any{"tool_call_id": "c1", "tool_name": "look", "tool_args": map[string]any{"at": json.Number("1.50")}}
	sky := a2a.NewTextPart("")
	sky.Metadata = map[string]any{"tool_call_id": "c1", "tool_result": map[string]any{"sky": "blue"}}
	seven := a2a.NewTextPart("")
	seven.Metadata = map[string]any{"tool_call_id": "c2", "tool_result": "7"}
	return []*a2a.Message{
		{Role: a2a.MessageRoleUser, Parts: a2a.ContentParts{a2a.NewTextPart("weather?")}, Metadata: map[string]any{"name": "ann"}},
		{Role: a2a.MessageRoleAgent, Parts: a2a.ContentParts{a2a.NewTextPart("May I?"), look}},
		{Role: a2a.MessageRoleUser, Parts: a2a.ContentParts{sky}},
		{Role: a2a.MessageRoleUser, Parts: a2a.ContentParts{seven}},
		{Role: a2a.MessageRoleAgent, Parts: a2a.ContentParts{a2a.NewTextPart("Blue."), with(a2a.NewTextPart("No more."), "refusal", true)}},
	}
}

func TestChatMessages(t *testing.T) {
	t.Parallel()
	var chat []llm.ChatMessage
	if err := json.Unmarshal([]byte(toolTalk), &chat); err != nil {
		t.Fatal(err)
	}
	msgs, lost, err := llm.FromChatMessages(chat)
	if err != nil || len(lost) != 0 {
		t.Fatalf("FromChatMessages lost %v, error %v", lost, err)
	}
	for _, m := range msgs {
		if m.ID == "" {
			t.Error("a message has no id")
		}
		m.ID = ""
	}
	if diff := cmp.Diff(toolMessages(), msgs); diff != "" {
		t.Errorf("FromChatMessages mismatch (-want +got):\n%s", diff)
	}
	back, lost := llm.ToChatMessages(msgs...)
	if diff := cmp.Diff(chat, back); diff != "" || len(lost) != 0 {
		t.Errorf("ToChatMessages lost %v, mismatch (-want +got):\n%s", lost, diff)
	}
}

func TestToChatMessagesLosses(t *testing.T) {
	t.Parallel()
	call := (&llm.ClientCall{ID: "c", Name: "t", Consent: "May I?"}).Part()
	call.Filename = "x"
	refused := (&llm.ClientResult{ID: "c", Rejected: true, Reason: "private"}).Part()
	result := &a2a.Part{Content: a2a.Raw("x"), Metadata: map[string]any{"tool_call_id": "d", "tool_result": nil, "more": 1}}
	chat, lost := llm.ToChatMessages(
		nil, &a2a.Message{Role: a2a.MessageRoleAgent},
		&a2a.Message{Role: a2a.MessageRoleAgent, Parts: a2a.ContentParts{call}, Extensions: []string{"e"}, ReferenceTasks: []a2a.TaskID{"r"}},
		&a2a.Message{Role: a2a.MessageRoleUser, Parts: a2a.ContentParts{refused, result}, Metadata: map[string]any{"m": 1}},
	)
	want := []llm.ChatMessage{
		{
			Role: "assistant", Content: llm.ChatText("May I?"),
			ToolCalls: []llm.ChatToolCall{{ID: "c", Type: "function", Function: llm.ChatFunction{Name: "t", Arguments: "{}"}}},
		},
		{Role: "tool", Content: llm.ChatText("The call was rejected: private"), ToolCallID: "c"},
		{Role: "tool", Content: llm.ChatText("null"), ToolCallID: "d"},
	}
	if diff := cmp.Diff(want, chat); diff != "" {
		t.Errorf("messages mismatch (-want +got):\n%s", diff)
	}
	wantLost := []llm.Loss{
		gone("messages[0]", "there is no message"), gone("messages[1]", "has nothing to show"),
		gone("messages[2].extensions[0]", "a chat completion has no extensions"), gone("messages[2].referenceTaskIds[0]", "a chat completion knows no tasks"),
		gone("messages[2].parts[0].filename", "a tool's part has no name there"),
		gone("messages[3].metadata.m", "a chat completion has no metadata"),
		reshaped("messages[3].parts[0].metadata.rejected", "is a text of the tool"),
		gone("messages[3].parts[1]", "has a tool's metadata, beside which there is room for text alone"),
		gone("messages[3].parts[1].metadata.more", "a chat completion has no metadata"),
	}
	if diff := cmp.Diff(wantLost, lost); diff != "" {
		t.Errorf("losses mismatch (-want +got):\n%s", diff)
	}
}

func TestFromChatMessages(t *testing.T) {
	t.Parallel()
	msgs, lost, err := llm.FromChatMessages([]llm.ChatMessage{
		{Role: "system", Content: llm.ChatText("Be kind.")},
		{Role: "user"},
		{Role: "user", Content: llm.ChatText("a"), ToolCallID: "x"},
		{Role: "assistant", Refusal: "no", ToolCalls: []llm.ChatToolCall{{ID: "c", Function: llm.ChatFunction{Name: "t", Arguments: "{"}}}},
	})
	want := []llm.Loss{
		reshaped("messages[0].role", "is the caller's, because A2A has no other for system"),
		gone("messages[1]", "has no content"), gone("messages[2].tool_call_id", "belongs to messages of the role tool"),
		reshaped("messages[3].tool_calls[0].function.arguments", "are not JSON, and so a string"),
	}
	if diff := cmp.Diff(want, lost); diff != "" || err != nil || len(msgs) != 3 {
		t.Fatalf("FromChatMessages = %v, %v, losses mismatch (-want +got):\n%s", msgs, err, diff)
	}
	if c, ok := llm.ClientCallOf(msgs[2].Parts[1]); !ok || c.Args != "{" {
		t.Errorf("the call is %+v, %v", c, ok)
	}
	for want, m := range map[string]llm.ChatMessage{
		"messages[0].role: is required": {},
		`messages[0].role: "owner" must be developer, system, user, assistant or tool`: {Role: "owner"},
		"messages[0].tool_call_id: is required":                                        {Role: "tool"},
		"messages[0].content[0]: a tool gives text":                                    {Role: "tool", ToolCallID: "c", Content: llm.ChatContent{{Type: "image_url"}}},
		"messages[0].tool_calls: belong to messages of the role assistant":             {Role: "user", ToolCalls: make([]llm.ChatToolCall, 1)},
		"messages[0].tool_calls[0].id: is required":                                    {Role: "assistant", ToolCalls: make([]llm.ChatToolCall, 1)},
		"messages[0].tool_calls[0].function.name: is required":                         {Role: "assistant", ToolCalls: []llm.ChatToolCall{{ID: "c"}}},
		`messages[0].tool_calls[0].type: "custom" is not function`:                     {Role: "assistant", ToolCalls: []llm.ChatToolCall{{Type: "custom"}}},
		"messages[0].content[0].type: is required":                                     {Role: "user", Content: make(llm.ChatContent, 1)},
	} {
		if _, _, err := llm.FromChatMessages([]llm.ChatMessage{m}); err == nil || err.Error() != want {
			t.Errorf("error is %v, want %s", err, want)
		}
	}
}

func TestToolParts(t *testing.T) {
	t.Parallel()
	call := &llm.ClientCall{ID: "c", Name: "t", Args: map[string]any{"a": 1.0}, Consent: "May I?"}
	if got, ok := llm.ClientCallOf(call.Part()); !ok || !cmp.Equal(call, got) || call.Part().Text() != "May I?" {
		t.Errorf("ClientCallOf = %+v, %v", got, ok)
	}
	for _, r := range []*llm.ClientResult{{ID: "c", Result: "x"}, {ID: "c"}, {ID: "c", Rejected: true}, {ID: "c", Rejected: true, Reason: "no"}} {
		if got, ok := llm.ClientResultOf(r.Part()); !ok || !cmp.Equal(r, got) {
			t.Errorf("ClientResultOf = %+v, %v, want %+v", got, ok, r)
		}
		if _, ok := llm.ClientCallOf(r.Part()); ok {
			t.Error("a result is taken for a call")
		}
	}
	for _, p := range []*a2a.Part{nil, a2a.NewTextPart("a"), with(a2a.NewTextPart("a"), "tool_result", 1), with(a2a.NewTextPart("a"), "tool_call_id", 1)} {
		if _, ok := llm.ClientResultOf(p); ok {
			t.Errorf("%+v is taken for a result", p)
		}
	}
}

func TestKindOf(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]llm.Kind{
		"image/png": llm.KindImage, " IMAGE/PNG ; q=1": llm.KindImage, "audio/wav": llm.KindAudio, "video/mp4": llm.KindVideo,
		"text/plain": llm.KindText, "application/json": llm.KindFile, "": llm.KindFile,
	} {
		if got := llm.KindOf(in); got != want {
			t.Errorf("KindOf(%q) = %v, want %v", in, got, want)
		}
	}
}

func TestReply(t *testing.T) {
	t.Parallel()
	text := a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart("said"))
	task := &a2a.Task{Status: a2a.TaskStatus{Message: text}}
	if got := llm.Reply(task); len(got) != 1 || got[0].Text() != "said" {
		t.Errorf("Reply = %v", got)
	}
	task.Artifacts = []*a2a.Artifact{nil, {Parts: a2a.ContentParts{a2a.NewTextPart("a")}}, {Parts: a2a.ContentParts{a2a.NewTextPart("b")}}}
	if got := llm.Reply(task); len(got) != 2 || got[1].Text() != "b" {
		t.Errorf("Reply = %v", got)
	}
	if llm.Reply(nil) != nil || llm.Reply(&a2a.Task{}) != nil {
		t.Error("there is a reply of nothing")
	}
}
