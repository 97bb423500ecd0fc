package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/parley-a2a/parley/internal/llm/mcp/stdio"
)

// Serve serves one host, one message per line, until the host closes in, reading from in fails,
// or ctx ends. It closes in. It then cancels running calls, which have ended when Serve
// returns. The error is nil if the host has closed its pipe.
func (s *Server) Serve(ctx context.Context, in io.ReadCloser, out io.Writer) error {
	svc := s.open(ctx)
	defer svc.close()
	pipe := stdio.NewPipe(in, out, stdio.Options{Limit: svc.Limits.Message, Ended: svc.cancel})
	ss, err := svc.mcp.Connect(ctx, pipe, nil)
	if err != nil {
		return fmt.Errorf("serve a host: %w", err)
	}
	go pipe.Run() // ends with in, or with the program if reading cannot be interrupted
	ended := make(chan error, 1)
	svc.wg.Go(func() { ended <- ss.Wait() })
	select {
	case err = <-ended:
	case <-ctx.Done():
		err = context.Cause(ctx)
		_ = pipe.Close()
	}
	if err == nil || errors.Is(err, io.EOF) {
		return nil
	}
	return fmt.Errorf("serve a host: %w", err)
}
