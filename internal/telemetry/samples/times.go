package samples

import (
	"math"
	"time"
)

const (
	// shortest is the upper bound of the first class of durations; each of the following is
	// wider by a factor of 2^(1/4), so that the last one ends after more than a year.
	shortest = 50 * time.Microsecond
	classes  = 160
)

// times counts durations by their classes. The zero times are empty.
type times struct {
	counts [classes]uint32
	n      uint64
}

func (t *times) add(d time.Duration) {
	class := 0
	if d > shortest {
		class = min(int(math.Ceil(4*math.Log2(float64(d)/float64(shortest)))), classes-1)
	}
	t.counts[class]++
	t.n++
}

// quantile returns the middle of the class with a quantile, in seconds; NaN without durations.
func (t *times) quantile(q float64) float32 {
	if t.n == 0 {
		return float32(math.NaN())
	}
	rank := uint64(math.Ceil(q * float64(t.n)))
	for class, seen := 0, uint64(0); class < classes; class++ {
		if seen += uint64(t.counts[class]); seen >= rank {
			return float32(shortest.Seconds() * math.Exp2((float64(class)-.5)/4))
		}
	}
	return float32(math.NaN()) // not reached: the ranks end at n
}
