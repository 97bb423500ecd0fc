// Package notify notifies the owner of a hub of new items of the inbox, by a request to an
// address, a program, or both. It tries once for each item, one item after the other. Items
// without a notification are in the inbox all the same, including those that came while the hub
// was down.
package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"os/exec"
	"time"

	"github.com/parley-a2a/parley/internal/childenv"
	"github.com/parley-a2a/parley/internal/inbox"
)

const (
	// timeout limits a request and a program.
	timeout = 30 * time.Second
	// waitDelay is the time for which the output of a program is read after its end.
	waitDelay = time.Second
)

// Notifier sends notifications. Its fields must not change once it is in use.
type Notifier struct {
	// Inbox is required.
	Inbox *inbox.Inbox
	// URL gets each item as JSON by POST. If empty, no request is made.
	URL string
	// Command is a program with its arguments; it reads the item as JSON from its standard
	// input. If empty, none is run.
	Command []string
	// Env is added to the environment of childenv.Base for Command, as "name=value".
	Env []string
	// Logger gets a record of each failed notification. It is required.
	Logger *slog.Logger
}

// Run notifies until ctx ends or the inbox stops. It returns nil.
func (n *Notifier) Run(ctx context.Context) error {
	client := &http.Client{
		Transport:     http.DefaultTransport.(*http.Transport).Clone(),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	defer client.CloseIdleConnections()
	for n.follow(ctx, client, n.Inbox.Watch(ctx)) {
	}
	return nil
}

// follow notifies of items as they come; it reports whether it was too slow.
func (n *Notifier) follow(ctx context.Context, client *http.Client, items iter.Seq2[inbox.Item, error]) (behind bool) {
	for it, err := range items {
		switch {
		case err != nil:
			return errors.Is(err, inbox.ErrBehind)
		case it.State == inbox.Open:
			n.notify(ctx, client, &it)
		}
	}
	return false
}

func (n *Notifier) notify(ctx context.Context, client *http.Client, it *inbox.Item) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	body, err := json.Marshal(it)
	if err == nil && n.URL != "" {
		err = n.post(ctx, client, body)
	}
	if len(n.Command) > 0 {
		err = errors.Join(err, n.run(ctx, it, body))
	}
	if err != nil {
		n.Logger.Warn("the owner is not notified of an item of the inbox", "item", it.ID, "error", err)
	}
}

func (n *Notifier) post(ctx context.Context, client *http.Client, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, n.URL, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10)) // so that the connection can be reused
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("the address answers %s", resp.Status)
	}
	return nil
}

// run runs the program. No content of the item is in its arguments, where a shell or the
// program could interpret it.
func (n *Notifier) run(ctx context.Context, it *inbox.Item, body []byte) error {
	cmd := exec.CommandContext(ctx, n.Command[0], n.Command[1:]...)
	cmd.Stdin, cmd.WaitDelay = bytes.NewReader(body), waitDelay
	cmd.Env = append(append(childenv.Base(), n.Env...), "PARLEY_ITEM="+string(it.ID), "PARLEY_ITEM_KIND="+string(it.Kind))
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("run %s: %w", n.Command[0], err)
	}
	return nil
}
