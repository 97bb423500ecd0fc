// Package stat condenses measurements: quantiles of latencies, and the median and spread of
// runs.
//
// Latencies are kept one by one, so a quantile is one of the measured values and not the bound
// of a bucket. Runs are few; their median is the result, and their spread is a measure of its
// reliability.
package stat

import (
	"slices"
	"time"
)

// Quantile returns the smallest of the durations that a share q of them does not exceed; zero
// if there are none. It sorts them.
func Quantile(d []time.Duration, q float64) time.Duration {
	if len(d) == 0 {
		return 0
	}
	slices.Sort(d)
	at := int(q*float64(len(d))+0.9999999) - 1
	return d[min(max(at, 0), len(d)-1)]
}

// Median returns the middle value, or the mean of the two in the middle; zero if
// there are none.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(values))
	n := len(s)
	if n%2 == 1 {
		return s[n/2]
	}
	return (s[n/2-1] + s[n/2]) / 2
}

// Spread returns the distance of the smallest and the largest value as a share of the
// median; zero for fewer than two values.
func Spread(values []float64) float64 {
	m := Median(values)
	if len(values) < 2 || m == 0 {
		return 0
	}
	return (slices.Max(values) - slices.Min(values)) / m
}
