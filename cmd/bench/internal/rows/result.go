package rows

import (
	"slices"
	"time"

	"github.com/parley-a2a/parley/cmd/bench/internal/child"
	"github.com/parley-a2a/parley/cmd/bench/internal/serve"
	"github.com/parley-a2a/parley/cmd/bench/internal/stat"
)

// Result is one line of the table.
type Result struct {
	// Row is the name of the row, Case the variant in the line, such as a number of chunks;
	// Case may be empty.
	Row  string `json:"row"`
	Case string `json:"case,omitempty"`
	// Server is the measured server.
	Server serve.Kind `json:"server"`
	// Value is the result in the given Unit, the median of all runs. Spread is the difference
	// of the smallest and the largest run as a share of it.
	Value  float64 `json:"value"`
	Unit   string  `json:"unit"`
	Spread float64 `json:"spread"`
	// P50 and P99 are quantiles of the latency, each the median of all runs; zero if the row
	// has no latency.
	P50 time.Duration `json:"p50_ns,omitempty"`
	P99 time.Duration `json:"p99_ns,omitempty"`
	// CPU is the server's processor time for one operation.
	CPU time.Duration `json:"cpu_ns,omitempty"`
	// Allocs is the number of objects that the server allocated for one operation; zero if
	// unknown.
	Allocs float64 `json:"allocs,omitempty"`
	// Database is the part of CPU that the database has used.
	Database time.Duration `json:"database_cpu_ns,omitempty"`
	// Written is the number of bytes that the server and its database wrote to files for one
	// operation; zero if unknown.
	Written float64 `json:"written,omitempty"`
	// Resident is the server's memory at the end in bytes, Goroutines the number of its
	// goroutines, and File the size of its file with the write-ahead log; zero if unknown.
	Resident   int64 `json:"resident,omitempty"`
	Goroutines int   `json:"goroutines,omitempty"`
	File       int64 `json:"file,omitempty"`
	// Beside is the case of the same row that Ratio, CostRatio and Added compare with; empty
	// without one. Ratio is the value as a share of that one's, and CostRatio the processor time
	// for one operation, each the median of the ratios of runs that follow each other.
	Beside    string  `json:"beside,omitempty"`
	Ratio     float64 `json:"ratio,omitempty"`
	CostRatio float64 `json:"cost_ratio,omitempty"`
	// Ratios and CostRatios are the ratios of the single runs.
	Ratios     []float64 `json:"ratios,omitempty"`
	CostRatios []float64 `json:"cost_ratios,omitempty"`
	// AddedP50 and AddedP99 are the latencies that a gateway adds.
	AddedP50 time.Duration `json:"added_p50_ns,omitempty"`
	AddedP99 time.Duration `json:"added_p99_ns,omitempty"`
	// Runs are the values of the runs in order.
	Runs []float64 `json:"runs,omitempty"`
	// Points are the points of a curve.
	Points []Point `json:"points,omitempty"`
	// Left is the reason for a missing measurement.
	Left string `json:"left_out,omitempty"`
}

func leftOut(k serve.Kind, err error) Result { return Result{Server: k, Left: err.Error()} }

// run is the measurement of one run.
type run struct {
	// ops is the number of operations, and units the weight of each of them.
	ops, units int
	wall       time.Duration
	used       child.Usage
	mallocs    uint64
	latencies  []time.Duration
}

// rate returns the units per second of the wall clock.
func (r *run) rate() float64 { return float64(r.ops*r.units) / r.wall.Seconds() }

// perUnit returns whole divided by the number of units.
func (r *run) perUnit(whole float64) float64 { return whole / float64(r.ops*r.units) }

// summary condenses runs to a result whose value is the rate.
func summary(k serve.Kind, unit string, runs []run) Result {
	of := func(f func(*run) float64) []float64 {
		var vs []float64
		for i := range runs {
			vs = append(vs, f(&runs[i]))
		}
		return vs
	}
	quantile := func(q float64) time.Duration {
		return time.Duration(stat.Median(of(func(r *run) float64 { return float64(stat.Quantile(r.latencies, q)) })))
	}
	r := values(k, unit, of((*run).rate))
	r.P50, r.P99 = quantile(0.5), quantile(0.99)
	r.CPU = time.Duration(stat.Median(of(func(r *run) float64 { return r.perUnit(float64(r.used.CPU)) })))
	r.Allocs = stat.Median(of(func(r *run) float64 { return r.perUnit(float64(r.mallocs)) }))
	r.Database = time.Duration(stat.Median(of(func(r *run) float64 { return r.perUnit(float64(r.used.Database)) })))
	r.Written = stat.Median(of(func(r *run) float64 { return r.perUnit(float64(r.used.Written)) }))
	return r
}

// values builds a result from the values of runs.
func values(k serve.Kind, unit string, vs []float64) Result {
	return Result{Server: k, Unit: unit, Value: stat.Median(vs), Spread: stat.Spread(vs), Runs: slices.Clone(vs)}
}
