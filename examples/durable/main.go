// Command durable keeps its tasks in a file. Kill it with "kill -9" in the middle of a task and
// start it again: the agent is declared idempotent, so the hub repeats the run, and the caller
// gets the answer.
package main

import (
	"context"
	"flag"
	"log"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/store/sqlitestore"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:4100", "the address to listen on")
	path := flag.String("db", "durable.db", "the file that keeps the tasks")
	work := flag.Duration("work", 30*time.Second, "how long a report takes")
	flag.Parse()
	if err := run(*listen, *path, reporter{*work}); err != nil {
		log.Fatal(err)
	}
}

func run(listen, path string, r reporter) error {
	db, err := sqlitestore.Open(path, sqlitestore.Options{})
	if err != nil {
		return err
	}
	defer db.Close()
	hub := parley.Hub{Store: db.Tasks()}
	hub.Handle(&a2a.AgentCard{Name: "reporter"}, r)

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	log.Printf("serving http://%s", l.Addr())
	return hub.Serve(ctx, l)
}
