package rawjson

import "strings"

// Reserved are names that are not passed on, because readers would interpret them as members of
// the protocol.
type Reserved []string

// Has reports whether a reader may treat name as one of the names: some decoders ignore case,
// and some read snake_case as camelCase.
func (r Reserved) Has(name string) bool {
	if strings.ContainsAny(name, "_-") {
		name = strings.NewReplacer("_", "", "-", "").Replace(name)
	}
	for _, known := range r {
		if strings.EqualFold(name, known) {
			return true
		}
	}
	return false
}
