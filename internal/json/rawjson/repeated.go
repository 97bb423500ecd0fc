package rawjson

import (
	"strconv"
	"strings"
)

// Repeated returns the path of a member that occurs twice in v, such as "a.b[0].c"; "" if there
// is none. Names of v's own members that differ only in case count as equal, as they do for
// encoding/json.
func Repeated(v []byte) string { return repeated(v, strings.ToLower) }

func repeated(v []byte, same func(string) string) string {
	switch KindOf(v) {
	case Object:
		seen := make(map[string]bool)
		for name, m := range Fields(v) {
			if seen[same(name)] {
				return name
			}
			seen[same(name)] = true
			if at := repeated(m, asWritten); at != "" {
				return join(name, at)
			}
		}
	case Array:
		i := 0
		for e := range Elements(v) {
			if at := repeated(e, asWritten); at != "" {
				return join("["+strconv.Itoa(i)+"]", at)
			}
			i++
		}
	}
	return ""
}

func asWritten(name string) string { return name }

func join(path, rest string) string {
	if rest[0] == '[' {
		return path + rest
	}
	return path + "." + rest
}
