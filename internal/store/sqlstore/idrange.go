package sqlstore

import "github.com/parley-a2a/parley/internal/task"

// IDRange is a range of an index of ids and owners: it begins after First and Owner, and ends
// with Last.
type IDRange struct {
	First, Last string
	Owner       int64
	// UUIDs is set for a range of packed ids; others hold texts.
	UUIDs bool
}

// IDRanges returns the ranges of the ids that begin with prefix: those of UUIDs, if there can be
// any, and of other texts.
func IDRanges(prefix string) []IDRange {
	var all []IDRange
	if len(prefix) <= uuidLen {
		first := prefix + "00000000-0000-0000-0000-000000000000"[len(prefix):]
		if _, ok := PackUUID(first); ok {
			all = append(all, IDRange{First: first, Last: prefix + "ffffffff-ffff-ffff-ffff-ffffffffffff"[len(prefix):], UUIDs: true})
		}
	}
	return append(all, IDRange{First: prefix, Last: prefix + "\U0010ffff"})
}

// IDRangesAfter returns the ranges of IDRanges that follow an id with the prefix and its owner.
func IDRangesAfter(prefix, id string, owner int64) []IDRange {
	all := IDRanges(prefix)
	if _, uuid := PackUUID(id); !uuid || !all[0].UUIDs {
		all = all[len(all)-1:]
	}
	all[0].First, all[0].Owner = id, owner
	return all
}

// ListIDs returns the first limit tasks of the ranges. Read returns the first tasks of a range, up
// to a number, and whether it ends before, because they are large.
func ListIDs(ranges []IDRange, limit int, read func(r *IDRange, limit int) ([]task.Head, bool, error)) (task.ListPage, error) {
	var found []task.Head
	for i := range ranges {
		more, cut, err := read(&ranges[i], limit+1-len(found))
		if err != nil {
			return task.ListPage{}, err
		}
		if found = append(found, more...); len(found) > limit || cut {
			return task.ListPage{Heads: found[:min(len(found), limit)], More: true}, nil
		}
	}
	return task.ListPage{Heads: found}, nil
}
