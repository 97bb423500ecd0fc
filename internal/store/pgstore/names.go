package pgstore

import (
	"fmt"

	"github.com/parley-a2a/parley/task"
)

// maxNames limits the owners, and the scopes, that a connection caches; at the limit it clears
// the cache.
const maxNames = 4096

type scopeName struct {
	owner task.Owner
	agent task.Agent
}

// scope holds the number of an owner, and that of an owner together with an agent.
type scope struct{ owner, id int64 }

// memo caches values that never change once they are committed. The zero memo is empty.
type memo[K comparable, V any] struct{ known map[K]V }

func (m *memo[K, V]) clear() { clear(m.known) }

func (m *memo[K, V]) add(k K, v V) {
	if m.known == nil || len(m.known) >= maxNames {
		m.known = make(map[K]V)
	}
	m.known[k] = v
}

// names are the caches of a reading connection: numbers of owners, and names of scopes.
type names struct {
	owners memo[task.Owner, int64]
	scopes memo[int64, scopeName]
}

var qNameScope = prepared("SELECT o.name, s.agent FROM scopes s JOIN owners o ON o.id = s.owner WHERE s.id = $1")

// owner returns the number of an owner; zero if it has no tasks.
func (c *conn) owner(name task.Owner) (int64, error) {
	if id, ok := c.names.owners.known[name]; ok {
		return id, nil
	}
	s := c.start(qFindOwner)
	s.text(string(name))
	if !s.next() {
		return 0, s.err
	}
	id := s.getInt()
	if s.err == nil {
		c.names.owners.add(name, id)
	}
	return id, s.err
}

// scope returns the name of a scope.
func (c *conn) scope(id int64) (scopeName, error) {
	if n, ok := c.names.scopes.known[id]; ok {
		return n, nil
	}
	s := c.start(qNameScope)
	s.int(id)
	if !s.next() {
		if s.err == nil {
			s.err = fmt.Errorf("scope %d has no name: %w", id, task.ErrCorrupt)
		}
		return scopeName{}, s.err
	}
	n := scopeName{task.Owner(s.getText()), task.Agent(s.getText())}
	if s.err == nil {
		c.names.scopes.add(id, n)
	}
	return n, s.err
}

var (
	qFindOwner = prepared("SELECT id FROM owners WHERE name = $1")
	qAddOwner  = prepared("INSERT INTO owners (name) VALUES ($1) RETURNING id")
	qFindScope = prepared("SELECT id FROM scopes WHERE owner = $1 AND agent = $2")
	qAddScope  = prepared("INSERT INTO scopes (owner, agent) VALUES ($1, $2) RETURNING id")
)

// scope returns the numbers of an owner and agent, and assigns new ones if they have none yet.
func (w *writer) scope(owner task.Owner, agent task.Agent) (scope, error) {
	name := scopeName{owner, agent}
	if s, ok := w.scopes.known[name]; ok {
		return s, nil
	}
	o, err := w.number(qFindOwner, qAddOwner, func(s *stmt) { s.text(string(owner)) })
	if err != nil {
		return scope{}, fmt.Errorf("number of owner: %w", err)
	}
	id, err := w.number(qFindScope, qAddScope, func(s *stmt) {
		s.int(o)
		s.text(string(agent))
	})
	if err != nil {
		return scope{}, fmt.Errorf("number of scope: %w", err)
	}
	sc := scope{owner: o, id: id}
	w.scopes.add(name, sc)
	return sc, nil
}

// number returns the result of find, or else the number that add creates.
func (w *writer) number(find, add query, bind func(*stmt)) (int64, error) {
	s := w.conn.start(find)
	bind(&s)
	if s.next() {
		return s.getInt(), s.err
	}
	if s.err != nil {
		return 0, s.err
	}
	s = w.conn.start(add)
	bind(&s)
	return s.only()
}

// counters collects the changes of the numbers of shown tasks within a batch.
type counters struct{ deltas map[group]int64 }

// group is the scope and state of a visible task: lists are merged from groups.
type group struct {
	scope int64
	state task.State
}

func (c *counters) add(s group, n int64) {
	if c.deltas == nil {
		c.deltas = make(map[group]int64)
	}
	c.deltas[s] += n
}

func (c *counters) clear() { clear(c.deltas) }

var qCount = prepared(`INSERT INTO counters VALUES ($1, $2, $3)
	ON CONFLICT (scope, state) DO UPDATE SET n = counters.n + excluded.n`)

func (c *counters) flush(conn *conn) error {
	for at, n := range c.deltas {
		if n == 0 {
			continue
		}
		s := conn.start(qCount)
		s.int(at.scope)
		s.int(int64(at.state))
		s.int(n)
		if err := s.done(); err != nil {
			return fmt.Errorf("count: %w", err)
		}
	}
	c.clear()
	return nil
}
