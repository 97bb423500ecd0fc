package tools_test

import (
	"context"
	"fmt"

	"github.com/parley-a2a/parley/tools"
)

// A program gives its model the tools of a hub, and calls them with the arguments that the model has
// written.
func ExampleHub_Toolbox() {
	hub := &tools.Hub{URL: "http://127.0.0.1:4100"}
	list, err := hub.Toolbox(tools.Options{Session: "my-conversation"}).Tools(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	for i := range list {
		if list[i].Name == "chat_with_agent" {
			fmt.Println(list[i].Repeatable)
		}
	}
	// Output: true
}
