package yamlfile

import "time"

// longest is the longest duration that Millis returns: it can be doubled, and added to a date.
const longest = 100 * 365 * 24 * time.Hour

// Millis returns a duration of n milliseconds, or a century if n is larger than that.
func Millis(n int) time.Duration {
	return time.Duration(min(int64(n), longest.Milliseconds())) * time.Millisecond
}
