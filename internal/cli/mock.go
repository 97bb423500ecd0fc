package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"

	"github.com/a2aproject/a2a-go/v2/a2a"
	a2agrpc "github.com/a2aproject/a2a-go/v2/a2agrpc/v1"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"

	"github.com/parley-a2a/parley/client"
	"github.com/parley-a2a/parley/internal/mock"
	"github.com/parley-a2a/parley/internal/server"
)

type mockCmd struct {
	File           string `arg:"" help:"The script, in YAML; - reads standard input." placeholder:"FILE"`
	Listen         string `help:"The address to listen on; port 0 takes any." default:"127.0.0.1:4190" placeholder:"ADDR"`
	GRPCListen     string `name:"grpc-listen" help:"The address for gRPC, which only the first agent has; without it, gRPC is off." placeholder:"ADDR"`
	Record         string `help:"Append the requests to this file, one JSON object a line, instead of logging them on standard error." placeholder:"FILE"`
	AllowAnonymous bool   `help:"Allow an address that other machines can reach; every caller is answered."`
}

// Run serves until it is interrupted.
func (c *mockCmd) Run(ctx context.Context, o *OS) error {
	for flag, addr := range map[string]string{"--listen": c.Listen, "--grpc-listen": c.GRPCListen} {
		if addr != "" && !c.AllowAnonymous && !client.Loopback(addr) {
			return usagef("other machines reach %s %s, and every caller is answered; set --allow-anonymous if that is intended", flag, addr)
		}
	}
	cfg, err := c.script(o)
	if err != nil {
		return err
	}
	return o.interruptible(ctx, func(in interrupts) error { return c.serve(in.soft, cfg, o) })
}

func (c *mockCmd) script(o *OS) (*mock.Config, error) {
	if c.File != "-" {
		return mock.Load(c.File)
	}
	src, err := io.ReadAll(io.LimitReader(o.Stdin, 2<<20))
	if err != nil {
		return nil, fmt.Errorf("read script: %w", err)
	}
	return mock.Parse("-", src)
}

// serve listens, prints the address, and serves until ctx ends.
func (c *mockCmd) serve(ctx context.Context, cfg *mock.Config, o *OS) (err error) {
	l, err := server.Listen(ctx, c.Listen, "--listen")
	if err != nil {
		return err
	}
	defer l.Close()
	opts := mock.Options{Record: o.Stderr}
	if c.Record != "" {
		f, err := os.OpenFile(c.Record, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
		if err != nil {
			return fmt.Errorf("record: %w", err)
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		opts.Record = f
	}
	var grpcListener net.Listener
	if c.GRPCListen != "" {
		if grpcListener, err = server.Listen(ctx, c.GRPCListen, "--grpc-listen"); err != nil {
			return err
		}
		defer grpcListener.Close()
		opts.Interfaces = []*a2a.AgentInterface{{
			URL: server.Reachable(grpcListener.Addr().(*net.TCPAddr)), ProtocolBinding: a2a.TransportProtocolGRPC, ProtocolVersion: a2a.Version,
		}}
	}
	s, err := mock.New(cfg, opts)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	url := "http://" + server.Reachable(l.Addr().(*net.TCPAddr))
	if _, err := fmt.Fprintf(o.Stdout, "%sTry:\n%s\n", s.Describe(url), s.Example(url)); err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return s.Serve(ctx, l) })
	if grpcListener != nil {
		g.Go(func() error {
			srv := grpc.NewServer()
			a2agrpc.NewHandler(s.RequestHandler("")).RegisterWith(srv)
			defer context.AfterFunc(ctx, srv.Stop)()
			if err := srv.Serve(grpcListener); ctx.Err() == nil {
				return err
			}
			return nil
		})
	}
	return g.Wait()
}
