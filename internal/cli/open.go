package cli

import (
	"context"
	"fmt"
	"net/url"
	"os/exec"
	"runtime"

	"github.com/parley-a2a/parley/internal/adminjson"
	"github.com/parley-a2a/parley/internal/front/console"
)

type openCmd struct {
	hubFlags
	Print bool `help:"Print the address and open nothing."`
	format
	Task string `arg:"" optional:"" help:"The id of a task, or its beginning; without it, the overview."`
}

func (c *openCmd) Run(in interrupts, o *OS) error {
	at, err := c.address(in.soft)
	if err != nil {
		return err
	}
	if c.data() {
		return c.encode(o.Stdout, map[string]string{"url": at})
	}
	if _, err := fmt.Fprintln(o.Stdout, at); err != nil || c.Print || !o.Terminal {
		return err
	}
	words := desktop(runtime.GOOS, o)
	if words == nil {
		return nil
	}
	if err := exec.CommandContext(in.soft, words[0], append(words[1:], at)...).Run(); err != nil {
		return fmt.Errorf("open %s: %w", at, err)
	}
	return nil
}

// address returns the address of the page.
func (c *openCmd) address(ctx context.Context) (string, error) {
	if c.Task == "" {
		return c.base() + console.Root, nil
	}
	id, err := (&lookup{hubFlags: &c.hubFlags}).id(ctx, c.Task)
	if err != nil {
		return "", err
	}
	q := url.Values{"id": {id}}
	var own adminjson.TaskInfo
	missing := c.ask(ctx, "GET "+taskPath(id), nil, &own) // the console reports other errors
	if other, _ := c.ofOthers(ctx, id, missing); other != nil {
		q = url.Values{"id": {string(other.TaskID)}, "scope": {"all"}, "owner": {other.Owner}}
	}
	return c.base() + console.Root + "task?" + q.Encode(), nil
}

// desktop returns the command that opens an address on a desktop, or nil if there is no desktop.
func desktop(system string, o *OS) []string {
	switch system {
	case "darwin":
		return []string{"open"}
	case "windows":
		return []string{"rundll32", "url.dll,FileProtocolHandler"}
	}
	for _, name := range []string{"WAYLAND_DISPLAY", "DISPLAY"} {
		if o.LookupEnv == nil {
			break
		}
		if v, ok := o.LookupEnv(name); ok && v != "" {
			return []string{"xdg-open"}
		}
	}
	return nil
}
