// Command parley is a durable hub for AI agents. It runs a hub that speaks the A2A protocol,
// and it calls agents anywhere. See "parley --help".
package main

import (
	"context"
	"os"

	"github.com/parley-a2a/parley/internal/cli"
)

func main() { os.Exit(cli.Main(context.Background(), os.Args[1:], cli.Process())) }
