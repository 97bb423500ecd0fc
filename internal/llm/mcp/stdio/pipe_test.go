package stdio_test

import (
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/parley-a2a/parley/internal/llm/mcp/stdio"
	"github.com/parley-a2a/parley/internal/membudget"
)

// A connection that ends with a large line releases the memory of it.
func TestErrorsReleaseMemory(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	cutOff := errors.New("cut off")
	large := strings.Repeat("x", 1<<20)
	for name, tt := range map[string]struct {
		in   io.Reader
		want error
	}{
		"a rejected line": {strings.NewReader(large + large + "\n"), cutOff},
		"a broken line":   {io.MultiReader(strings.NewReader(large), iotest.ErrReader(broken)), broken},
	} {
		b := &membudget.Budget{Max: 64 << 20}
		used := int64(0)
		p := stdio.NewPipe(io.NopCloser(tt.in), io.Discard, stdio.Options{
			Limit: 3 << 19, Memory: b, Bad: func(*stdio.Fault) error { return cutOff }, Ended: func() { used = b.Stats().Used },
		})
		var run sync.WaitGroup
		run.Go(p.Run)
		if _, err := p.Read(t.Context()); !errors.Is(err, tt.want) {
			t.Errorf("%s: Read = %v, want %v", name, err, tt.want)
		}
		if tt.want == broken && used < 4<<20 {
			t.Errorf("%s: %d bytes are used for it", name, used)
		}
		if used := b.Stats().Used; used != 0 {
			t.Errorf("%s: %d bytes are used after it", name, used)
		}
		_ = p.Close()
		run.Wait()
	}
}
