// Package registry has the parts of a program: features that it can be built without, such as support
// for another system.
//
// A part is a folder of internal/parts. It registers itself when it is imported, and cmd/parley
// imports those that the program has. A part adds values of types that the packages which use them
// declare, such as config.Keys; a package finds them with [Added]. It thus names no part.
//
// Only init functions may call [Register]. All other functions are safe for concurrent use after them.
package registry

import (
	"maps"
	"slices"
)

// registered are the parts by name.
var registered = make(map[string][]any)

// Register adds a part to the program. It is called by init functions, of which each package of a part
// may have one.
func Register(name string, adds ...any) {
	registered[name] = append(registered[name], adds...)
}

// Names returns the names of the program's parts, in the order of the alphabet.
func Names() []string { return slices.Sorted(maps.Keys(registered)) }

// Added returns what the parts of the program add of one type, in the order of their names.
func Added[T any]() []T {
	var all []T
	for _, name := range Names() {
		for _, v := range registered[name] {
			if t, ok := v.(T); ok {
				all = append(all, t)
			}
		}
	}
	return all
}
