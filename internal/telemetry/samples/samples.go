// Package samples keeps measurements of a hub of the last hour in memory, for curves without a
// collector of metrics.
//
// A Ring takes a sample of each Series every Step and keeps the last Kept ones. Durations are
// counted between two samples and end in the next one as quantiles.
//
// # Guarantees
//
// The memory of a Ring is fixed: less than 48 KiB, whatever the hub does. Ended and Stored take
// constant time and allocate nothing.
//
// # Non-guarantees
//
// Samples end with the process. Quantiles are exact to a twelfth of their value.
package samples

import (
	"context"
	"math"
	"sync"
	"time"
)

const (
	// Step is the time between two samples.
	Step = 10 * time.Second
	// Kept is the number of samples that a Ring keeps: those of an hour.
	Kept = 360
)

// A Series is one curve.
type Series uint8

// The series.
const (
	// Ended is the number of tasks that ended in a second, Failed the number of those that
	// failed or were rejected.
	Ended Series = iota
	Failed
	// LatencyP50 and LatencyP99 are quantiles of the time from the creation of a task to its
	// end, in seconds.
	LatencyP50
	LatencyP99
	// Submitted, Working, InputRequired and AuthRequired are the numbers of open tasks.
	Submitted
	Working
	InputRequired
	AuthRequired
	// Runs is the number of runs, Queued the number of tasks that wait for a run, and AtWorkers
	// the number of tasks that wait for a worker of their agent.
	Runs
	Queued
	AtWorkers
	// Webhooks is the number of webhooks with notifications to deliver.
	Webhooks
	// DeadLetters is the number of stored dead letters of queues.
	DeadLetters
	// StoreP50 and StoreP99 are quantiles of the time that the store took for a change of a
	// task, in seconds.
	StoreP50
	StoreP99
	// Hubs is the number of hubs on the store that are alive.
	Hubs
	// Count is the number of series.
	Count
)

// Values are the values of one sample. A value that is not known is NaN.
type Values [Count]float32

// Set sets a value.
func (v *Values) Set(s Series, n int) { v[s] = float32(n) }

// Sample has the values at a time.
type Sample struct {
	// At is the time in milliseconds since 1970, in UTC.
	At     int64
	Values Values
}

// Ring keeps the samples of the last hour. The zero Ring has no samples and is ready to use. Its
// field must not change after the first use.
type Ring struct {
	// Read sets the values of a sample that the Ring does not measure itself. A value that it
	// does not set is not known. If nil, all of them are unknown. Calls do not overlap.
	Read func(ctx context.Context, v *Values)

	mu            sync.Mutex // guards the fields below
	kept          [Kept]Sample
	next          int // place of the next sample
	n             int // number of samples
	ended, failed int
	took, stored  times
	last          time.Time
}

// Ended counts a task that has ended after a time.
func (r *Ring) Ended(took time.Duration, failed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended++
	if failed {
		r.failed++
	}
	r.took.add(took)
}

// Stored counts a change for which the store took a time.
func (r *Ring) Stored(took time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stored.add(took)
}

// Run takes samples until ctx ends.
func (r *Ring) Run(ctx context.Context) error {
	r.mu.Lock()
	r.last = time.Now()
	r.mu.Unlock()
	tick := time.NewTicker(Step)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			r.sample(ctx)
		}
	}
}

// sample takes one sample.
func (r *Ring) sample(ctx context.Context) {
	var v Values
	for i := range v {
		v[i] = float32(math.NaN())
	}
	if r.Read != nil {
		r.Read(ctx, &v)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	seconds := max(now.Sub(r.last), time.Millisecond).Seconds()
	v[Ended], v[Failed] = float32(float64(r.ended)/seconds), float32(float64(r.failed)/seconds)
	v[LatencyP50], v[LatencyP99] = r.took.quantile(.5), r.took.quantile(.99)
	v[StoreP50], v[StoreP99] = r.stored.quantile(.5), r.stored.quantile(.99)
	r.kept[r.next] = Sample{now.UnixMilli(), v}
	r.next, r.n = (r.next+1)%Kept, min(r.n+1, Kept)
	r.ended, r.failed, r.took, r.stored, r.last = 0, 0, times{}, times{}, now
}

// After returns the samples after a time in milliseconds since 1970, the oldest first.
func (r *Ring) After(ms int64) []Sample {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]Sample, 0, r.n)
	for i := range r.n {
		if s := &r.kept[(r.next-r.n+i+Kept)%Kept]; s.At > ms {
			all = append(all, *s)
		}
	}
	return all
}
