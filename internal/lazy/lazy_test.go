package lazy_test

import (
	"testing"

	"github.com/parley-a2a/parley/internal/lazy"
)

func TestPut(t *testing.T) {
	t.Parallel()
	var m map[string]int
	lazy.Put(&m, "a", 1)
	lazy.Put(&m, "b", m["b"]+2)
	lazy.Put(&m, "a", 3)
	if len(m) != 2 || m["a"] != 3 || m["b"] != 2 {
		t.Errorf("the map is %v, want a: 3 and b: 2", m)
	}
}

func TestGet(t *testing.T) {
	t.Parallel()
	var m map[string]*int
	created := 0
	create := func() *int { created++; return new(int) }
	first := lazy.Get(&m, "a", create)
	if again := lazy.Get(&m, "a", create); again != first || created != 1 || m["a"] != first {
		t.Errorf("the value was created %d times, want once", created)
	}
	if lazy.Get(&m, "b", create) == first || len(m) != 2 {
		t.Errorf("the map is %v, want two values", m)
	}
}
