package task

import (
	"cmp"
	"slices"
	"strings"
)

// shelf holds the listed tasks of an owner or of a context, apart by agent and
// state and sorted by these. Every list of the protocol is a merge of a few of its
// groups, and every total a sum of their lengths.
type shelf []group

type group struct {
	agent Agent
	state State
	tasks order
}

// slot is the place of a task on a shelf. Its zero value is none.
type slot struct {
	agent Agent
	state State
	at    Cursor
}

// slotOf returns where h is listed.
func slotOf(h *Head) slot {
	if h.Key == 0 || h.Shown != ToCaller {
		return slot{}
	}
	return slot{h.Agent, h.State, Cursor{h.StatusAt, h.Key}}
}

func (s shelf) find(agent Agent, state State) (int, bool) {
	return slices.BinarySearchFunc(s, slot{agent: agent, state: state}, func(g group, p slot) int {
		if c := strings.Compare(string(g.agent), string(p.agent)); c != 0 {
			return c
		}
		return cmp.Compare(g.state, p.state)
	})
}

// move takes a task from one slot to another.
func (s *shelf) move(was, is slot) {
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

func (s *shelf) insert(p slot) {
	i, ok := s.find(p.agent, p.state)
	if !ok {
		*s = slices.Insert(*s, i, group{agent: p.agent, state: p.state})
	}
	(*s)[i].tasks.insert(p.at)
}

func (s *shelf) remove(p slot) {
	i, ok := s.find(p.agent, p.state)
	if !ok {
		return
	}
	(*s)[i].tasks.remove(p.at)
	if (*s)[i].tasks.n == 0 {
		*s = slices.Delete(*s, i, i+1)
	}
}

// choose returns the orders of the groups whose agent (if not empty) and state (if
// in states) match.
func (s shelf) choose(agent Agent, states stateSet) []*order {
	from, to := 0, len(s)
	if agent != "" {
		from, _ = s.find(agent, 0)
		to, _ = s.find(agent, numStates)
	}
	chosen := make([]*order, 0, 8)
	for i := from; i < to; i++ {
		if states.has(s[i].state) {
			chosen = append(chosen, &s[i].tasks)
		}
	}
	return chosen
}

// total counts the cursors of the orders that are not before since.
func total(orders []*order, since Millis) int {
	n := 0
	for _, o := range orders {
		if since == 0 {
			n += o.n
		} else {
			n += o.since(since, MaxTotal)
		}
	}
	if since != 0 {
		return min(n, MaxTotal+1)
	}
	return n
}

// merge calls yield for the cursors of the orders below c, newest first, until it
// returns false.
func merge(orders []*order, c Cursor, yield func(Cursor) bool) {
	descents := make([]descent, len(orders))
	for i, o := range orders {
		descents[i] = o.below(c)
	}
	for {
		newest, from := Cursor{}, -1
		for i := range descents {
			if c, ok := descents[i].peek(); ok && (from < 0 || compare(c, newest) > 0) {
				newest, from = c, i
			}
		}
		if from < 0 || !yield(newest) {
			return
		}
		descents[from].step()
	}
}
