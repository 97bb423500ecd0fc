package yamlfile

import "time"

// longest is the longest time that a number of milliseconds stands for: it can be doubled,
// and added to a date.
const longest = 100 * 365 * 24 * time.Hour

// Millis returns a time that is written as a number of milliseconds, or a century for a
// number that is larger still.
func Millis(n int) time.Duration {
	return time.Duration(min(int64(n), longest.Milliseconds())) * time.Millisecond
}
