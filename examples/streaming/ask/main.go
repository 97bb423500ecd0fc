// Command ask sends a text to an agent and prints the answer as it comes.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/client"
)

func main() {
	url := flag.String("url", "http://127.0.0.1:4100", "where the agent is")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := ask(ctx, *url, strings.Join(flag.Args(), " ")); err != nil {
		log.Fatal(err)
	}
}

func ask(ctx context.Context, url, text string) error {
	c, err := client.Dial(ctx, url, client.Options{})
	if err != nil {
		return err
	}
	defer c.Close()
	question := a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart(text))
	var reply client.Fold
	for event, err := range c.Stream(ctx, &a2a.SendMessageRequest{Message: question}) {
		if err != nil {
			return err
		}
		reply.Apply(event)
		switch e := event.(type) {
		case *a2a.Message:
			show(e.Parts)
		case *a2a.TaskArtifactUpdateEvent:
			show(e.Artifact.Parts)
		}
	}
	fmt.Println()
	if t := reply.Task; t != nil && t.Status.State != a2a.TaskStateCompleted {
		return fmt.Errorf("task %s is %s", t.ID, t.Status.State)
	}
	return nil
}

func show(parts a2a.ContentParts) {
	for _, p := range parts {
		fmt.Print(p.Text())
	}
}
