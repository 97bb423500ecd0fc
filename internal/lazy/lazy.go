// Package lazy writes to maps that are made at their first write.
//
// The zero value of many types is ready to use, so that their maps are nil until something is in them.
// Reading such a map and deleting from it need no help, because Go permits both for a nil map. Like
// writes to any map, those of this package are not safe for concurrent use.
package lazy

// Put sets the value of a key in *m. It makes the map if that is nil.
func Put[M ~map[K]V, K comparable, V any](m *M, key K, value V) {
	if *m == nil {
		*m = make(M)
	}
	(*m)[key] = value
}

// Get returns the value of a key in *m. If the key is not in the map, Get puts the result of create
// there first.
func Get[M ~map[K]V, K comparable, V any](m *M, key K, create func() V) V {
	v, ok := (*m)[key]
	if !ok {
		v = create()
		Put(m, key, v)
	}
	return v
}
