package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"

	"golang.org/x/sync/errgroup"

	"github.com/parley-a2a/parley/internal/heap"
	"github.com/parley-a2a/parley/store/pgstore"
)

// Kind names a server.
type Kind string

// The servers.
const (
	// ParleySQLite is Parley with the SQLite store, which ends each commit with an fsync.
	ParleySQLite Kind = "parley-sqlite"
	// ParleyPostgres is Parley with a PostgreSQL database, used by it alone.
	ParleyPostgres Kind = "parley-postgres"
	// ParleyMemory is Parley with the memory store.
	ParleyMemory Kind = "parley-memory"
	// GoSDK is the official Go SDK with its memory store.
	GoSDK Kind = "go-sdk"
	// JSSDK is the official JavaScript SDK with its memory store, on express. Run does not
	// support it; it is the program in the folder js.
	JSSDK Kind = "js-sdk"
	// PythonSDK is the official Python SDK with its memory store, on uvicorn. Run supports neither
	// it nor the following three; they are the programs in the folders python, java, trpc and rust.
	PythonSDK Kind = "python-sdk"
	// JavaSDK is the reference server of the official Java SDK, on Quarkus, with its memory store.
	JavaSDK Kind = "java-sdk"
	// TRPC is trpc-a2a-go with its memory store.
	TRPC Kind = "trpc-a2a-go"
	// RustSDK is the crate a2a-rs with its memory store, on axum.
	RustSDK Kind = "a2a-rs"
	// Bare is a handler of package net/http that decodes the request, and encodes a completed
	// task like that of the other servers.
	Bare Kind = "bare"
	// Proxy is an httputil.ReverseProxy in front of Options.Remote.
	Proxy Kind = "httputil.ReverseProxy"
	// Worker performs the tasks of Parley that arrive over a bus.
	Worker Kind = "worker"
	// Replier answers requests at a broker with the broker's own client.
	Replier Kind = "replier"
)

// Options configure a server.
type Options struct {
	Kind Kind
	// File is the file of ParleySQLite.
	File string
	// Store is the address of the database of ParleyPostgres.
	Store string
	// MaxRuns is the largest number of concurrent runs of Parley; zero means its own default.
	MaxRuns int
	// Effects makes the agent of Parley declare that its runs have effects: their messages are
	// durable before they begin.
	Effects bool
	// Owners makes Parley read the owner of a call from a header; see OwnerHeader. By default
	// all callers are the same owner, as with the other servers and with parley serve.
	Owners bool
	// Remote, if not empty, is the URL of another server that performs the tasks of Parley.
	Remote string
	// Bus, if not empty, is the URL of the broker over which workers perform the tasks of
	// ParleySQLite. Worker and Replier connect to it.
	Bus string
	// Open lets the runs of Hold pass from the beginning.
	Open bool
}

// Peers are the servers of others that are measured beside Parley, without Bare.
func Peers() []Kind { return []Kind{GoSDK, JSSDK, PythonSDK, JavaSDK, TRPC, RustSDK} }

// server serves on a listener until ctx ends, and returns when it has stopped.
type server interface {
	Serve(ctx context.Context, l net.Listener) error
}

// Run serves until ctx or in ends, as described in the package comment.
func Run(ctx context.Context, o Options, in io.Reader, out io.Writer) (err error) {
	g := newGate(o.Open)
	s, stop, err := o.open(g)
	if err != nil {
		return fmt.Errorf("open %s: %w", o.Kind, err)
	}
	defer func() { err = errors.Join(err, stop()) }()
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return s.Serve(ctx, l) })
	group.Go(func() error {
		defer cancel()
		if err := json.NewEncoder(out).Encode(Hello{l.Addr().String()}); err != nil {
			return err
		}
		return (&control{gate: g}).obey(ctx, in, out)
	})
	return group.Wait()
}

// open creates the server, and a function that releases its resources.
func (o *Options) open(g *gate) (server, func() error, error) {
	nothing := func() error { return nil }
	switch o.Kind {
	case ParleySQLite, ParleyPostgres, ParleyMemory, Worker:
		heap.Floor(heap.Size) // like "parley serve" and "parley agent run"
	}
	switch o.Kind {
	case ParleySQLite:
		return o.onSQLite(g)
	case ParleyPostgres:
		db, err := pgstore.Open(context.Background(), o.Store, pgstore.Options{})
		if err != nil {
			return nil, nil, err
		}
		return o.hub(db.Tasks(), o.agent(g)), db.Close, nil
	case ParleyMemory:
		return o.hub(nil, o.agent(g)), nothing, nil
	case GoSDK:
		return sdkServer(g), nothing, nil
	case Bare:
		return bareServer(), nothing, nil
	case Proxy:
		p, err := proxyTo(o.Remote)
		return p, nothing, err
	case Worker:
		return o.worker(g)
	case Replier:
		return replier{o.Bus}, nothing, nil
	}
	return nil, nil, fmt.Errorf("no server %q", o.Kind)
}
