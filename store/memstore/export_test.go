package memstore

// Clashing returns a Store in whose indexes many names have the same hash.
func Clashing() *Store {
	few := func(a, b string) uint64 { return uint64(len(a)+len(b)) % 2 }
	return &Store{ids: nameIndex{hash: few}, alone: nameIndex{hash: few}}
}
