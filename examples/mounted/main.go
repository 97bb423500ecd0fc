// Command mounted is a web shop with an agent: the hub is a handler in a mux that has other
// routes, too. When the shop is asked to stop, it completes the running answers first.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"golang.org/x/sync/errgroup"

	"github.com/parley-a2a/parley"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:4100", "the address to listen on")
	thinking := flag.Duration("thinking", time.Second, "how long the agent takes for an answer")
	flag.Parse()

	var hub parley.Hub
	hub.Handle(&a2a.AgentCard{Name: "advisor"}, advisor{*thinking})
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "Welcome to the shop.") })
	for _, path := range []string{"/a2a", "/a2a/", "/v1/a2a/", "/.well-known/"} {
		mux.Handle(path, hub.Handler())
	}

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	l, err := net.Listen("tcp", *listen)
	if err != nil {
		log.Fatal(err)
	}
	log.Printf("serving http://%s", l.Addr())
	if err := serve(ctx, l, mux, &hub); err != nil {
		log.Fatal(err)
	}
}

// serve serves until ctx ends. The server is shut down last, so that callers get the results of
// the runs that the hub completes.
func serve(ctx context.Context, l net.Listener, mux http.Handler, hub *parley.Hub) error {
	srv := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	group.Go(func() error {
		runErr := hub.Run(ctx)
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		return errors.Join(runErr, srv.Shutdown(ctx))
	})
	return group.Wait()
}
