package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"github.com/parley-a2a/parley/internal/check"
	"github.com/parley-a2a/parley/internal/check/acts"
	"github.com/parley-a2a/parley/internal/check/wire"
	"github.com/parley-a2a/parley/internal/file/textfile"
	"github.com/parley-a2a/parley/internal/outbound/caller"
	"github.com/parley-a2a/parley/internal/version"
)

type checkCmd struct {
	target
	Server string   `arg:"" optional:"" name:"server" as:"url" help:"The URL of the agent; the same as --url."`
	Only   []string `help:"Check only requirements with these ids or prefixes of ids, such as push." placeholder:"ID"`
	All    bool     `help:"Also show requirements that passed or are not offered."`
	List   bool     `help:"List the requirements, and check nothing."`
	Suite  string   `help:"Run the ACTS files of a folder instead of Parley's own checks." placeholder:"DIR" type:"path"`
	Known  string   `help:"The accepted failures; exit code 0 then means exactly these." placeholder:"FILE" type:"path"`
	format
	JUnit   string        `name:"junit" help:"Also write the report as JUnit XML." placeholder:"FILE" type:"path"`
	Timeout time.Duration `help:"The timeout of one call; 10s by default, 30s in a suite." placeholder:"DURATION"`
	Listen  string        `help:"The address to receive webhooks on; by default on loopback, if the agent is there." placeholder:"ADDRESS"`
	Webhook string        `help:"The URL under which the agent reaches --listen." placeholder:"URL"`
}

func (c *checkCmd) Run(in interrupts, o *OS) error {
	if c.List {
		return c.list(o.Stdout)
	}
	if c.Server != "" {
		c.URL = c.Server
	}
	known, documents, err := c.files()
	if err != nil {
		return err
	}
	options, err := c.checkOptions()
	if err != nil {
		return err
	}
	var r *check.Report
	var suites []*acts.Report
	if documents != nil {
		r, suites, err = check.Suite(in.soft, documents, options, o.LookupEnv)
	} else {
		r, err = check.Run(in.soft, options)
	}
	switch {
	case errors.Is(err, check.ErrUnreachable):
		return c.advise(&exit{exitUnreachable, err})
	case r == nil:
		return err
	case len(r.Results) == 0 && err == nil:
		return usagef("unknown requirement %q; --list shows the requirements", c.Only)
	}
	if known != nil {
		r.Accept(known)
	}
	return errors.Join(err, c.report(o, r, suites))
}

// list prints the requirements.
func (c *checkCmd) list(w io.Writer) error {
	for _, q := range check.Requirements() {
		if _, err := fmt.Fprintf(w, "%-24s %-6s %s (%s)\n", q.ID, q.Level, q.Text, q.Section); err != nil {
			return err
		}
	}
	return nil
}

// files reads the files that the flags name. Known failures are nil without the flag.
func (c *checkCmd) files() (known []check.Known, documents []*acts.Document, err error) {
	if c.Known != "" {
		data, err := textfile.Read(c.Known)
		if err != nil {
			return nil, nil, usagef("%w", err)
		}
		if known, err = check.ReadKnown(data); err != nil {
			return nil, nil, usagef("%s: %w", c.Known, err)
		}
		if known == nil {
			known = []check.Known{}
		}
	}
	if c.Suite != "" {
		if documents, err = acts.Load(c.Suite); err != nil {
			return nil, nil, usagef("%w", err)
		}
	}
	return known, documents, nil
}

// checkOptions creates the options, and listens for webhooks.
func (c *checkCmd) checkOptions() (check.Options, error) {
	transport, err := c.transport()
	if err != nil {
		return check.Options{}, err
	}
	transport.DisableKeepAlives = true
	o := check.Options{
		URL: c.at(), Only: c.Only, Webhook: c.Webhook,
		Wire: wire.Options{
			HTTP: transport, Key: c.APIKey, Timeout: c.Timeout, UserAgent: "parley/" + version.Version,
			Dial: func(ctx context.Context, url string) (wire.Conn, error) {
				config, err := c.config()
				if err != nil {
					return nil, err
				}
				return caller.ConnectTLS(ctx, url, config)
			},
		},
	}
	if c.Binding != "" {
		o.Bindings = []wire.Binding{wire.Binding(c.Binding)}
	}
	if _, err := check.CardURL(o.URL); err != nil {
		return o, usagef("%w", err)
	}
	if c.Listen == "" {
		if c.Webhook != "" {
			return o, usagef("--webhook needs --listen")
		}
		return o, nil
	}
	l, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return o, usagef("listen for webhooks: %w", err)
	}
	o.Listener = l
	return o, nil
}

// report writes the report in all requested forms, and returns the exit code for its result.
func (c *checkCmd) report(o *OS, r *check.Report, suites []*acts.Report) error {
	if c.JUnit != "" {
		if err := writeFile(c.JUnit, r.JUnit); err != nil {
			return err
		}
	}
	var err error
	switch {
	case !c.data():
		err = r.Text(&escaped{w: o.Stdout}, c.All)
	case suites == nil && c.yaml():
		err = c.encode(o.Stdout, r)
	case suites == nil:
		err = r.JSON(o.Stdout)
	default:
		for _, s := range suites {
			err = errors.Join(err, c.encode(o.Stdout, s))
		}
	}
	if err == nil && !r.OK() {
		err = &exit{code: exitFailed}
	}
	return err
}

// writeFile creates a file with the output of f.
func writeFile(path string, f func(io.Writer) error) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(f(file), file.Close())
}
