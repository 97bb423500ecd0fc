// Command streaming is an agent that repeats a text word by word. Command ask, in the folder
// below, prints the words as they come.
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
)

func main() {
	listen := flag.String("listen", "127.0.0.1:4100", "the address to listen on")
	pause := flag.Duration("pause", 200*time.Millisecond, "the time between two words")
	flag.Parse()

	var hub parley.Hub
	hub.Handle(&a2a.AgentCard{Name: "speaker"}, speaker{*pause})
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	l, err := net.Listen("tcp", *listen)
	if err != nil {
		log.Fatal(err)
	}
	log.Printf("serving http://%s", l.Addr())
	if err := hub.Serve(ctx, l); err != nil {
		log.Fatal(err)
	}
}
