package cluster

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/parley-a2a/parley/internal/cluster"
)

// strike is one planned fault.
type strike struct {
	kind string
	// hub is the index of the hub that the fault concerns.
	hub int
	// pick chooses the database, and the owner, that the fault concerns.
	pick int
	// lasts is the duration of a fault that ends by itself: often longer than a lease.
	lasts time.Duration
	// jump is the difference between a moved clock and the real one.
	jump time.Duration
	// wait is the pause before the next fault.
	wait time.Duration
}

// planOf returns n faults of the given kinds: first each kind once, then at random by weight. It is
// a pure function.
func planOf(seed uint64, n int, kinds []faultKind) (all []strike) {
	r := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // to be repeated
	sum := 0
	for _, k := range kinds {
		sum += k.weight
	}
	once := r.Perm(len(kinds))
	for i := range n {
		at, k := r.IntN(sum), 0
		for at -= kinds[k].weight; at >= 0; at -= kinds[k].weight {
			k++
		}
		if i < len(once) {
			k = once[i]
		}
		s := strike{
			kind: kinds[k].name, hub: r.IntN(hubs), pick: r.IntN(1 << 16), lasts: time.Duration(300+r.IntN(3000)) * time.Millisecond,
			jump: []time.Duration{time.Hour, -time.Hour}[r.IntN(2)], wait: time.Duration(100+r.IntN(700)) * time.Millisecond,
		}
		if r.IntN(2) == 0 || kinds[k].long {
			s.lasts += cluster.DefaultLease
		}
		all = append(all, s)
	}
	return all
}

// TestPlan: equal seeds give equal plans, other seeds other plans, and each kind occurs.
func TestPlan(t *testing.T) {
	t.Parallel()
	n := 3 * len(faultKinds)
	one, again, other := planOf(7, n, faultKinds), planOf(7, n, faultKinds), planOf(8, n, faultKinds)
	if !slices.Equal(one, again) || slices.Equal(one, other) {
		t.Error("the plan is not a function of the seed")
	}
	if longer := planOf(7, 2*n, faultKinds); !slices.Equal(one, longer[:n]) {
		t.Error("a longer plan begins with other faults")
	}
	for _, k := range faultKinds {
		if !slices.ContainsFunc(one[:len(faultKinds)], func(s strike) bool { return s.kind == k.name }) {
			t.Errorf("%q is not among the first faults", k.name)
		}
	}
}
