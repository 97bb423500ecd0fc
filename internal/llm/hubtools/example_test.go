package hubtools_test

import (
	"context"
	"fmt"
	"log"

	"github.com/parley-a2a/parley/internal/llm/hubclient"
	"github.com/parley-a2a/parley/internal/llm/hubtools"
)

// The tools of a hub, offered by a program that runs a model.
func Example() {
	ctx := context.Background()
	hub := &hubclient.Hub{URL: "http://127.0.0.1:4100"}
	tools, err := (&hubtools.Toolbox{Hub: hub, Session: "my-conversation"}).Tools(ctx)
	if err != nil {
		log.Fatal(err)
	}
	for _, tool := range tools {
		fmt.Println(tool.Name, string(tool.Input))
	}
}
