package tables

import (
	"fmt"

	"github.com/parley-a2a/parley/internal/task"
)

// MaxNames limits the owners, and the scopes, that a connection caches; at the limit it clears
// the cache.
const MaxNames = 4096

// ScopeName is the name of a scope: an owner together with an agent.
type ScopeName struct {
	Owner task.Owner
	Agent task.Agent
}

// Scope holds the number of an owner, and that of an owner together with an agent.
type Scope struct{ Owner, ID int64 }

// memo caches values that never change once they are committed. The zero memo is empty.
type memo[K comparable, V any] struct{ known map[K]V }

func (m *memo[K, V]) add(k K, v V) {
	if m.known == nil || len(m.known) >= MaxNames {
		m.known = make(map[K]V)
	}
	m.known[k] = v
}

// Names are the caches of a reading connection: numbers of owners, and names of scopes.
type Names struct {
	owners memo[task.Owner, int64]
	scopes memo[int64, ScopeName]
}

var qNameScope = prepared("SELECT o.name, s.agent FROM scopes s JOIN owners o ON o.id = s.owner WHERE s.id = $1")

// Owner returns the number of an owner; zero if it has no tasks.
func (n *Names) Owner(c Conn, name task.Owner) (int64, error) {
	if id, ok := n.owners.known[name]; ok {
		return id, nil
	}
	id, found, err := one(c, scanInt, qFindOwner, name)
	if found {
		n.owners.add(name, id)
	}
	return id, err
}

// Scope returns the name of a scope.
func (n *Names) Scope(c Conn, id int64) (ScopeName, error) {
	if name, ok := n.scopes.known[id]; ok {
		return name, nil
	}
	name, found, err := one(c, fields(func(n *ScopeName) []any { return []any{&n.Owner, &n.Agent} }), qNameScope, id)
	if err == nil && !found {
		err = fmt.Errorf("scope %d has no name: %w", id, task.ErrCorrupt)
	}
	if err == nil {
		n.scopes.add(id, name)
	}
	return name, err
}

// Scopes is the cache of a writer: the numbers of scopes.
type Scopes struct{ memo[ScopeName, Scope] }

// Clear empties the cache.
func (s *Scopes) Clear() { clear(s.known) }

// Len returns the number of cached scopes.
func (s *Scopes) Len() int { return len(s.known) }

var (
	qFindOwner = prepared("SELECT id FROM owners WHERE name = $1")
	// Another hub may add the same name: the second one gets the number of the first.
	qAddOwner  = prepared("INSERT INTO owners (name) VALUES ($1) ON CONFLICT (name) DO UPDATE SET name = excluded.name RETURNING id")
	qFindScope = prepared("SELECT id FROM scopes WHERE owner = $1 AND agent = $2")
	qAddScope  = prepared("INSERT INTO scopes (owner, agent) VALUES ($1, $2) ON CONFLICT (owner, agent) DO UPDATE SET agent = excluded.agent RETURNING id")
)

// Number returns the numbers of an owner and agent, and assigns new ones if they have none yet.
func (s *Scopes) Number(c Conn, owner task.Owner, agent task.Agent) (Scope, error) {
	name := ScopeName{owner, agent}
	if found, ok := s.known[name]; ok {
		return found, nil
	}
	o, err := number(c, qFindOwner, qAddOwner, owner)
	if err != nil {
		return Scope{}, fmt.Errorf("number of owner: %w", err)
	}
	id, err := number(c, qFindScope, qAddScope, o, agent)
	if err != nil {
		return Scope{}, fmt.Errorf("number of scope: %w", err)
	}
	found := Scope{Owner: o, ID: id}
	s.add(name, found)
	return found, nil
}

// number returns the result of find, or else the number that add creates.
func number(c Conn, find, add Query, values ...any) (int64, error) {
	n, found, err := one(c, scanInt, find, values...)
	if err != nil || found {
		return n, err
	}
	return only(c, add, values...)
}

// Counters collects the changes of the numbers of shown tasks within a batch. The zero Counters is
// empty.
type Counters struct{ deltas map[Group]int64 }

// Group is the scope and state of a visible task: lists are merged from groups.
type Group struct {
	Scope int64
	State task.State
}

// Add adds n tasks to a group.
func (c *Counters) Add(g Group, n int64) {
	if c.deltas == nil {
		c.deltas = make(map[Group]int64)
	}
	c.deltas[g] += n
}

// Clear forgets the changes.
func (c *Counters) Clear() { clear(c.deltas) }

// Flush stores the changes with a function, and forgets them.
func (c *Counters) Flush(store func(Group, int64) error) error {
	for g, n := range c.deltas {
		if n == 0 {
			continue
		}
		if err := store(g, n); err != nil {
			return fmt.Errorf("count: %w", err)
		}
	}
	c.Clear()
	return nil
}
