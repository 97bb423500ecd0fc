package cli

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/url"

	"github.com/parley-a2a/parley/internal/llm"
	"github.com/parley-a2a/parley/internal/llm/hubclient"
	"github.com/parley-a2a/parley/internal/llm/hubtools"
	"github.com/parley-a2a/parley/internal/llm/mcp/endpoint"
	"github.com/parley-a2a/parley/internal/version"
)

type mcpCmd struct {
	hubFlags
	Toolbox  bool     `help:"Offer the tools to find, call and remember." default:"true" negatable:""`
	Bridge   bool     `help:"Also offer a tool for each skill of the agents."`
	Allow    []string `help:"A tool to offer, with * for any characters; without it, all are offered. May be repeated." placeholder:"NAME"`
	Block    []string `help:"A tool not to offer. May be repeated." placeholder:"NAME"`
	Session  string   `help:"The conversation that notes and results belong to; without it, each start is a new one." placeholder:"NAME"`
	LogLevel string   `name:"log-level" help:"The minimum level to log on standard error: debug, info, warn or error." enum:"debug,info,warn,error" default:"warn" placeholder:"LEVEL"`
}

// Run serves the host until it closes the pipe.
func (c *mcpCmd) Run(ctx context.Context, o *OS) error {
	choice := llm.Filter{Allow: c.Allow, Block: c.Block}
	if err := choice.Check(); err != nil {
		return usagef("%w", err)
	}
	if u, err := url.Parse(c.base()); err != nil || u.Host == "" {
		return usagef("--url %q is not a URL", c.URL)
	}
	if !c.Toolbox && !c.Bridge {
		return usagef("--no-toolbox needs --bridge; otherwise there are no tools")
	}
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.LogLevel)); err != nil {
		return usagef("--log-level: %w", err)
	}
	logger := slog.New(slog.NewTextHandler(o.Stderr, &slog.HandlerOptions{Level: level}))
	var web *http.Client // nil is the client of hubclient, which follows no redirects either
	if c.files() != nil {
		var err error
		if web, err = c.direct(); err != nil {
			return err
		}
	}
	hub := &hubclient.Hub{URL: c.base(), Key: c.APIKey, HTTP: web, Logger: logger}
	s := endpoint.NewServer(version.Version)
	s.Tools = endpoint.Offered(&hubtools.Toolbox{Hub: hub, Session: c.Session}, c.Toolbox, c.Bridge)
	s.Choice, s.Logger = choice, logger
	s.Library = &endpoint.Library{Hub: &hubclient.Hub{URL: c.base(), Key: c.APIKey, HTTP: web, Patience: -1}}
	in, ok := o.Stdin.(io.ReadCloser)
	if !ok {
		in = io.NopCloser(o.Stdin)
	}
	return o.interruptible(ctx, func(stop interrupts) error {
		err := s.Serve(stop.soft, in, o.Stdout)
		if errors.Is(err, errInterrupted) {
			return nil // a host may end the server so
		}
		return err
	})
}
