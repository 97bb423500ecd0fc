// Command go03 is the official Go SDK of v0.3, as a client that performs steps and as the
// server of an agent.
//
//	go03 client <hub's URL> <JSONRPC | GRPC>
//	go03 server
//
// The client is a driver (package driver). The server prints the URL below which its card is,
// and serves until its standard input ends.
package main

import (
	"fmt"
	"os"

	"github.com/parley-a2a/parley/internal/e2e/interop/driver"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "go03:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 3 && args[0] == "client":
		return driver.Serve(os.Stdin, os.Stdout, &peer{hub: args[1], binding: args[2]})
	case len(args) == 1 && args[0] == "server":
		return serve(os.Stdin, os.Stdout)
	}
	return fmt.Errorf("do not know what to do with %q", args)
}
