package shards

import (
	"math"

	"github.com/parley-a2a/parley/internal/cluster"
	"github.com/parley-a2a/parley/internal/task"
)

// keyBits is the number of bits of a key in its shard; stores use one less.
const keyBits = 40

// MaxShards is the largest number of shards.
const MaxShards = 256

// local splits a key into the number of its shard and the key there.
func local(key task.Key) (number int, inside task.Key) {
	return int(key >> keyBits), key & (1<<keyBits - 1)
}

// global returns the key of a task in a shard; zero stays zero.
func (s *shard) global(key task.Key) task.Key {
	if key == 0 {
		return 0
	}
	return task.Key(s.number)<<keyBits | key
}

// inside returns a key in the shard that has the tasks with keys above after in the shard above it.
func (s *shard) inside(after task.Key) task.Key {
	switch number, key := local(after); {
	case number == s.number:
		return key
	case number < s.number:
		return 0
	}
	return math.MaxInt64
}

func (s *shard) head(h task.Head) task.Head {
	h.Key = s.global(h.Key)
	return h
}

func (s *shard) heads(all []task.Head) []task.Head {
	for i := range all {
		all[i].Key = s.global(all[i].Key)
	}
	return all
}

func (s *shard) hooked(h task.Hooked) task.Hooked {
	h.Task, h.Head = s.global(h.Task), s.head(h.Head)
	return h
}

func (s *shard) hookeds(all []task.Hooked) []task.Hooked {
	for i := range all {
		all[i] = s.hooked(all[i])
	}
	return all
}

// lineage returns a lineage with keys of the shard, or with global ones.
func lineage(kind task.SidecarKind, data []byte, convert func(task.Key) task.Key) []byte {
	if kind != task.SidecarLineage || data == nil {
		return data
	}
	l, err := task.DecodeLineage(data)
	if err != nil {
		return data // its reader finds the damage
	}
	l.Parent, l.Root = convert(l.Parent), convert(l.Root)
	return l.Encode()
}

func keyInside(key task.Key) task.Key {
	_, key = local(key)
	return key
}

// hint returns a hint of another hub with global keys. The members of a shard mean nothing.
func (s *shard) hint(h cluster.Hint) cluster.Hint {
	h.Members = false
	h.Keys, h.Cancels = s.globals(h.Keys), s.globals(h.Cancels)
	return h
}

func (s *shard) globals(keys []task.Key) []task.Key {
	all := make([]task.Key, len(keys))
	for i, key := range keys {
		all[i] = s.global(key)
	}
	return all
}
