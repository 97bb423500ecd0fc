//go:build !race

package httpfront_test

const raceEnabled = false
