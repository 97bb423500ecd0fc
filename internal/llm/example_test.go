package llm_test

import (
	"encoding/json"
	"fmt"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/llm"
)

func ExampleToChat() {
	parts := a2a.ContentParts{
		a2a.NewTextPart("What is this?"),
		{Content: a2a.Raw("\x89PNG"), MediaType: "image/png", Filename: "cat.png"},
	}
	chat, lost := llm.ToChat(parts)
	b, _ := json.Marshal(chat)
	fmt.Println(string(b))
	fmt.Println("lost:", lost)
	// Output:
	// [{"type":"text","text":"What is this?"},{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw=="}}]
	// lost: [parts[1].filename: an image has no name there]
}
