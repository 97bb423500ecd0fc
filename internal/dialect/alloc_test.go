//go:build !race

package dialect_test

import (
	"testing"

	"github.com/parley-a2a/parley/internal/dialect"
)

// allocs is the number of objects that an operation allocates. The test
// fails above 1.5 times that number. The race detector also allocates, so it is not built with it.
var allocs = map[string]float64{
	"decode call":   0,
	"decode send":   8,
	"encode answer": 0,
	"encode frame":  0,
}

// TestAllocations does not run in parallel with other tests, because it counts the allocations
// of the whole process.
func TestAllocations(t *testing.T) {
	in := []byte(typicalCall)
	call, err := dec.Call(in)
	if err != nil {
		t.Fatal(err)
	}
	a := answer(t, true)
	env := dialect.NewEnvelope([]byte(`"42"`))
	frame := []byte(`{"artifactUpdate":{"taskId":"t","contextId":"c","artifact":` + result + `,"append":true}}`)
	out := make([]byte, 0, 4096)
	for name, f := range map[string]func() error{
		"decode call": func() error {
			c, err := dec.Call(in)
			if err == nil {
				_, err = dialect.Lookup(c.Method)
			}
			return err
		},
		"decode send": func() error {
			_, err := dec.Send(call.Params)
			return err
		},
		"encode answer": func() error {
			out = env.Close(dialect.AppendSendResponse(env.Open(out[:0]), &a, dialect.RPC))
			return nil
		},
		"encode frame": func() error {
			out = env.Append(out[:0], frame)
			return nil
		},
	} {
		want, ok := allocs[name]
		got := testing.AllocsPerRun(100, func() {
			if err := f(); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		})
		if !ok || got > 1.5*want { // an alarm for mistakes, not a bar
			t.Errorf("%s allocates %v objects; it was %v", name, got, want)
		}
	}
}
