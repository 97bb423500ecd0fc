package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/client"
)

type sendCmd struct {
	target
	output
	Skill   string   `help:"The skill to request." placeholder:"ID"`
	Context string   `help:"The context to use." placeholder:"ID"`
	Task    string   `help:"The id of the task to answer, or its beginning." placeholder:"ID"`
	Data    string   `help:"Structured data to send along." placeholder:"JSON"`
	File    []string `help:"A file to send along; may be repeated." placeholder:"PATH" type:"existingfile" sep:"none"`
	Stream  bool     `help:"Print the reply as it arrives."`
	Detach  bool     `help:"Do not wait: print the id of the task."`
	Text    []string `arg:"" optional:"" help:"The text of the message; \"-\" reads standard input."`
}

func (c *sendCmd) Run(ctx context.Context, o *OS) error {
	m, err := c.message(o)
	if err != nil {
		return err
	}
	return o.interruptible(ctx, func(in interrupts) error {
		if c.Task != "" {
			if err := c.resolve(in.soft, &c.Task); err != nil {
				return err
			}
			m.TaskID = a2a.TaskID(c.Task)
		}
		return c.call(in.soft, func(cl *client.Client) error {
			if c.Detach {
				return about(m, c.detach(in.soft, cl, m, o))
			}
			return about(m, c.converse(in, cl, m, o))
		})
	})
}

// about adds the id of the task to an error about a message for a task that does not exist.
func about(m *a2a.Message, err error) error {
	if m.TaskID != "" && errors.Is(err, a2a.ErrTaskNotFound) {
		return fmt.Errorf("task %s: %w", m.TaskID, err)
	}
	return err
}

// converse sends the message and waits for the reply.
func (c *sendCmd) converse(in interrupts, cl *client.Client, m *a2a.Message, o *OS) error {
	sh := newShow(o, &c.output, c.Stream)
	sh.words.open = opener(in.hard, cl)
	s := newSession(cl, sh)
	if m.TaskID != "" && !sh.format.data() {
		s.recall(in.soft, m.TaskID)
	}
	if err := c.send(s, in, m, o); err != nil {
		return err
	}
	if err := sh.finish(); err != nil {
		return err
	}
	return sh.outcome(c.flags())
}

// detach sends the message without waiting.
func (c *sendCmd) detach(ctx context.Context, cl *client.Client, m *a2a.Message, o *OS) error {
	res, err := cl.Send(ctx, &a2a.SendMessageRequest{
		Message: m, Config: &a2a.SendMessageConfig{ReturnImmediately: true},
	})
	if err != nil {
		return err
	}
	if c.data() {
		return c.encode(o.Stdout, a2a.StreamResponse{Event: res})
	}
	task, ok := res.(*a2a.Task)
	if !ok {
		sh := newShow(o, &c.output, false)
		sh.agent = cl.Card().Name
		sh.fold.Apply(res)
		return errors.Join(sh.finish(), sh.words.unsaved)
	}
	if o.Terminal {
		fmt.Fprintf(o.Stderr, "The task is %s. To follow it: parley tasks watch%s %s\n",
			stateName(task.Status.State), c.flags(), quote(printable(string(task.ID))))
	}
	_, err = fmt.Fprintln(o.Stdout, printable(string(task.ID)))
	return err
}

// message creates the message from the flags.
func (c *sendCmd) message(o *OS) (*a2a.Message, error) {
	if c.Detach && c.Stream {
		return nil, usagef("--detach cannot be combined with --stream")
	}
	parts, err := c.parts(o)
	if err != nil {
		return nil, err
	}
	if len(parts) == 0 {
		return nil, usagef("nothing to send: give a text, --data or --file")
	}
	m := a2a.NewMessage(a2a.MessageRoleUser, parts...)
	m.ContextID, m.TaskID = c.Context, a2a.TaskID(c.Task)
	if c.Skill != "" {
		m.SetMeta("skill", c.Skill)
	}
	return m, nil
}

func (c *sendCmd) parts(o *OS) ([]*a2a.Part, error) {
	var parts []*a2a.Part
	text := strings.Join(c.Text, " ")
	if text == "-" {
		var err error
		if text, err = readText(o.Stdin); err != nil {
			return nil, err
		}
	}
	if text != "" {
		parts = append(parts, a2a.NewTextPart(text))
	}
	if c.Data != "" {
		data, err := parseData(c.Data)
		if err != nil {
			return nil, err
		}
		parts = append(parts, data)
	}
	for _, path := range c.File {
		part, err := filePart(path)
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
	}
	return parts, nil
}

// readText reads a text up to its end, without a final line feed.
func readText(r io.Reader) (string, error) {
	b, err := io.ReadAll(r)
	if err != nil {
		return "", fmt.Errorf("read standard input: %w", err)
	}
	if !utf8.Valid(b) {
		return "", usagef("standard input is not UTF-8 text; send it with --file")
	}
	return strings.TrimSuffix(string(b), "\n"), nil
}

// parseData parses one JSON value. Numbers keep their digits.
func parseData(s string) (*a2a.Part, error) {
	dec := json.NewDecoder(strings.NewReader(s))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, usagef("--data is not JSON: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, usagef("--data must be a single JSON value")
	}
	return a2a.NewDataPart(v), nil
}

func filePart(path string) (*a2a.Part, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	part := a2a.NewRawPart(content)
	part.Filename = filepath.Base(path)
	part.MediaType = mime.TypeByExtension(filepath.Ext(path))
	if part.MediaType == "" {
		part.MediaType = http.DetectContentType(bytes.TrimSpace(content))
	}
	return part, nil
}
