// Command promptkit is the A2A client, the executor, the bridge and the mock of PromptKit.
//
//	promptkit client <hub's URL> JSONRPC
//	promptkit mock <a2a_agents file> <name>
//	promptkit server
//
// The client is a driver (package driver) with two more steps: tools lists the tools that the
// bridge creates from an agent's card, and execute makes the executor call one of them. The
// mock serves an agent of the file, and the server serves a foreign agent. Both print their URL
// and serve until their standard input ends.
package main

import (
	"fmt"
	"io"
	"os"

	"github.com/parley-a2a/parley/internal/e2e/interop/driver"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "promptkit:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 3 && args[0] == "client":
		p := newPeer(args[1])
		defer p.executor.Close()
		return driver.Serve(os.Stdin, os.Stdout, p)
	case len(args) == 3 && args[0] == "mock":
		return serve(args[1], args[2], os.Stdin, os.Stdout)
	case len(args) == 1 && args[0] == "server":
		return serve("testdata/stranger.yaml", "stranger", os.Stdin, os.Stdout)
	}
	return fmt.Errorf("do not know what to do with %q", args)
}

// wait waits until in ends.
func wait(in io.Reader) error {
	_, err := io.Copy(io.Discard, in)
	return err
}
