package rawjson

import "strings"

// Reserved are names that are not passed on, because readers would take them for members
// of the protocol.
type Reserved []string

// Has reports whether a reader may take name for one of the names: some decoders compare
// without case, and some read snake_case as camelCase.
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
