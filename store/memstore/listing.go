package memstore

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/parley-a2a/parley/task"
)

// listing holds the listed tasks of an owner or of a context, grouped by agent and state and
// sorted by these. Every list of the protocol is a merge of a few of its groups, and every
// total a sum of their lengths.
type listing []group

type group struct {
	agent task.Agent
	state task.State
	tasks sortedSet
}

// listKey is the position of a task in a listing. The zero listKey is none.
type listKey struct {
	agent task.Agent
	state task.State
	at    task.Cursor
}

// listKeyOf returns the position at which h is listed.
func listKeyOf(h *task.Head) listKey {
	if h.Key == 0 || h.Visibility != task.Visible {
		return listKey{}
	}
	return listKey{h.Agent, h.State, task.Cursor{At: h.StatusAt, Key: h.Key}}
}

func (s listing) find(agent task.Agent, state task.State) (int, bool) {
	return slices.BinarySearchFunc(s, listKey{agent: agent, state: state}, func(g group, p listKey) int {
		if c := strings.Compare(string(g.agent), string(p.agent)); c != 0 {
			return c
		}
		return cmp.Compare(g.state, p.state)
	})
}

// move moves a task from one position to another.
func (s *listing) move(was, is listKey) {
	if was == is {
		return
	}
	if was.at.Key != 0 {
		s.remove(was)
	}
	if is.at.Key != 0 {
		s.insert(is)
	}
}

func (s *listing) insert(p listKey) {
	i, ok := s.find(p.agent, p.state)
	if !ok {
		*s = slices.Insert(*s, i, group{agent: p.agent, state: p.state})
	}
	(*s)[i].tasks.insert(p.at)
}

func (s *listing) remove(p listKey) {
	i, ok := s.find(p.agent, p.state)
	if !ok {
		return
	}
	(*s)[i].tasks.remove(p.at)
	if (*s)[i].tasks.n == 0 {
		*s = slices.Delete(*s, i, i+1)
	}
}

// choose returns the sets of the groups whose agent (if not empty) and state match; a nil match
// accepts every state.
func (s listing) choose(agent task.Agent, match func(task.State) bool) []*sortedSet {
	from, to := 0, len(s)
	if agent != "" {
		from, _ = s.find(agent, 0)
		to, _ = s.find(agent, math.MaxUint8)
	}
	chosen := make([]*sortedSet, 0, 8)
	for i := from; i < to; i++ {
		if match == nil || match(s[i].state) {
			chosen = append(chosen, &s[i].tasks)
		}
	}
	return chosen
}

// total returns the number of cursors in the sets that are not before since.
func total(sets []*sortedSet, since task.Millis) int {
	n := 0
	for _, o := range sets {
		if since == 0 {
			n += o.n
		} else {
			n += o.since(since, task.MaxTotal)
		}
	}
	if since != 0 {
		return min(n, task.MaxTotal+1)
	}
	return n
}

// merge calls yield for the cursors of the sets below c, newest first, until yield returns
// false.
func merge(sets []*sortedSet, c task.Cursor, yield func(task.Cursor) bool) {
	iters := make([]reverseIter, len(sets))
	for i, o := range sets {
		iters[i] = o.below(c)
	}
	for {
		newest, from := task.Cursor{}, -1
		for i := range iters {
			if c, ok := iters[i].peek(); ok && (from < 0 || compareCursors(c, newest) > 0) {
				newest, from = c, i
			}
		}
		if from < 0 || !yield(newest) {
			return
		}
		iters[from].step()
	}
}
