package task

// ClashingMemory returns a Memory in whose indexes many names have the same hash.
func ClashingMemory() *Memory {
	few := func(a, b string) uint64 { return uint64(len(a)+len(b)) % 2 }
	return &Memory{ids: roster{hash: few}, alone: roster{hash: few}}
}
