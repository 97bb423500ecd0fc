package rows

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/parley-a2a/parley/cmd/bench/internal/serve"
)

// Prepare builds the programs and makes the files of all rows, which would otherwise be made during the
// first run. It logs the requirements that are missing.
func (b *Bench) Prepare(ctx context.Context) error {
	for _, k := range serve.Peers() {
		b.Log("prepare %s", k)
		if err := b.prepare(ctx, k); err != nil {
			b.Log("%s: %v", k, err)
		}
	}
	for _, k := range []serve.Kind{liteLLM, contextForge} {
		if _, err := b.venv(k); err != nil {
			b.Log("%s: %v", k, err)
		}
	}
	for _, tool := range []string{"strace", "psql", "rabbitmqctl"} {
		if _, err := exec.LookPath(tool); err != nil {
			b.Log("%v", err)
		}
	}
	if _, err := b.build(ctx); err != nil {
		return err
	}
	if _, err := b.buildNATS(ctx); err != nil {
		return err
	}
	for n := fewest; n <= slices.Max(b.Sizes); n *= 10 {
		if _, err := b.seed(ctx, n); err != nil {
			return err
		}
	}
	return nil
}

// buildNATS builds the server of NATS at the version of the main module, and returns its path.
func (b *Bench) buildNATS(ctx context.Context) (string, error) {
	path, err := filepath.Abs(filepath.Join(b.Work, "nats-server"))
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-o", path, "github.com/nats-io/nats-server/v2")
	cmd.Dir = b.Root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build nats-server: %w: %s", err, out)
	}
	return path, nil
}
