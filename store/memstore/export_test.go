package memstore

// NewColliding returns a Store in whose indexes many names have the same hash.
func NewColliding() *Store {
	few := func(a, b string) uint64 { return uint64(len(a)+len(b)) % 2 }
	return &Store{ids: nameIndex{hash: few}, singles: nameIndex{hash: few}}
}
