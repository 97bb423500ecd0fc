// Command trpc is trpc-a2a-go, as a client that performs steps and as the server of an agent.
//
//	trpc client <hub's URL> JSONRPC
//	trpc server
//
// The client is a driver (package driver). The server prints the URL below which its card is,
// and serves until its standard input ends.
package main

import (
	"fmt"
	"os"

	"trpc.group/trpc-go/trpc-a2a-go/log"

	"github.com/parley-a2a/parley/internal/e2e/interop/driver"
)

func main() {
	log.Default = quiet{}
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "trpc:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 3 && args[0] == "client":
		return driver.Serve(os.Stdin, os.Stdout, &peer{hub: args[1]})
	case len(args) == 1 && args[0] == "server":
		return serve(os.Stdin, os.Stdout)
	}
	return fmt.Errorf("do not know what to do with %q", args)
}

// quiet logs nothing: the library logs to standard output, which carries the answers.
type quiet struct{}

func (quiet) Debug(...any)          {}
func (quiet) Debugf(string, ...any) {}
func (quiet) Info(...any)           {}
func (quiet) Infof(string, ...any)  {}
func (quiet) Warn(...any)           {}
func (quiet) Warnf(string, ...any)  {}
func (quiet) Error(...any)          {}
func (quiet) Errorf(string, ...any) {}
func (quiet) Fatal(...any)          {}
func (quiet) Fatalf(string, ...any) {}
