package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/client"
)

type chatCmd struct {
	target
	Skill   string `help:"The skill to request." placeholder:"ID"`
	Context string `help:"The context to continue." placeholder:"ID"`
}

// Run sends each line as a message and shows the replies until the input ends.
func (c *chatCmd) Run(ctx context.Context, o *OS) error {
	return c.call(ctx, func(cl *client.Client) error {
		talk := conversation{cmd: c, client: cl, os: o, contextID: c.Context}
		if o.Typed {
			fmt.Fprintf(o.Stderr, "Chatting with %s. Type /quit to end.\n", printable(cl.Card().Name))
		}
		lines := bufio.NewReader(o.Stdin)
		for {
			if o.Typed {
				fmt.Fprint(o.Stderr, "> ")
			}
			line, err := lines.ReadString('\n')
			if quit, failed := talk.line(ctx, strings.TrimSpace(line)); quit || failed != nil {
				return failed
			}
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return fmt.Errorf("read standard input: %w", err)
			}
		}
	})
}

// conversation is the state of a chat between lines.
type conversation struct {
	cmd       *chatCmd
	client    *client.Client
	os        *OS
	contextID string
	taskID    a2a.TaskID // the task that waits for an answer
	// shown are the parts of that task that were shown.
	shown map[a2a.ArtifactID]a2a.ContentParts
}

// line handles a line and reports whether it was the last one. Only an unreachable agent ends
// the conversation with an error.
func (t *conversation) line(ctx context.Context, line string) (quit bool, err error) {
	switch line {
	case "":
		return false, nil
	case "/quit", "/exit":
		return true, nil
	case "/new":
		t.contextID, t.taskID = "", ""
		return false, nil
	}
	err = t.send(ctx, line)
	if errors.Is(err, client.ErrUnreachable) {
		return true, err
	}
	if err != nil {
		fmt.Fprintf(t.os.Stderr, "parley chat: %s\n", printable(err.Error()))
	}
	return false, nil
}

func (t *conversation) send(ctx context.Context, text string) error {
	m := a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart(text))
	m.ContextID, m.TaskID = t.contextID, t.taskID
	if t.cmd.Skill != "" {
		m.SetMeta("skill", t.cmd.Skill)
	}
	s := newSession(t.client, newShow(t.os, &output{}, true))
	if t.taskID != "" {
		s.show.shown = t.shown
	}
	t.shown = s.show.shown
	return t.os.interruptible(ctx, func(in interrupts) error {
		err := t.cmd.send(s, in, m, t.os)
		t.remember(&s.show.fold)
		if err != nil {
			return err
		}
		if err := s.show.finish(); err != nil || t.taskID != "" {
			return err
		}
		return s.show.outcome(t.cmd.flags())
	})
}

// remember keeps the ids for the next message.
func (t *conversation) remember(f *client.Fold) {
	t.taskID = ""
	res := f.Result()
	if res == nil {
		return
	}
	info := res.TaskInfo()
	if info.ContextID != "" {
		t.contextID = info.ContextID
	}
	if f.Task != nil && client.Interrupted(f.Task.Status.State) {
		t.taskID = info.TaskID
	}
}
