package crash

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// strike is one planned fault.
type strike struct {
	kind string
	// pick selects the victim among those that exist when the fault happens.
	pick int
	// lasts is the duration of a fault that ends by itself.
	lasts time.Duration
	// jump is the difference between a moved clock and the real one.
	jump time.Duration
	// wait is the pause before the next fault.
	wait time.Duration
}

// jumps are the positions of moved clocks. Their largest distance is less than a day: messages may
// wait for a worker, and notifications for their webhook, for that long.
var jumps = []time.Duration{
	0, -11 * time.Hour, 11 * time.Hour, -time.Hour, time.Hour, -90 * time.Second, 90 * time.Second, -2 * time.Second, 2 * time.Second,
}

// planOf returns n faults of the given kinds: first each kind once, then at random by weight. It is
// a pure function.
func planOf(seed uint64, n int, kinds []faultKind) []strike {
	r := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // to be repeated
	sum := 0
	for _, k := range kinds {
		sum += k.weight
	}
	once := r.Perm(len(kinds))
	var all []strike
	for i := range n {
		at, k := r.IntN(sum), 0
		for at -= kinds[k].weight; at >= 0; at -= kinds[k].weight {
			k++
		}
		if i < len(once) {
			k = once[i]
		}
		all = append(all, strike{
			kind: kinds[k].name, pick: r.IntN(1 << 20), jump: jumps[r.IntN(len(jumps))],
			lasts: time.Duration(200+r.IntN(4000)) * time.Millisecond,
			wait:  time.Duration(20+r.IntN(300)) * time.Millisecond,
		})
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
