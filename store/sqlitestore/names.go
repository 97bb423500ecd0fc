package sqlitestore

import (
	"fmt"

	"github.com/parley-a2a/parley/task"
)

// maxScopes is how many scopes the writer remembers; then it begins again.
const maxScopes = 4096

type scopeName struct {
	owner task.Owner
	agent task.Agent
}

// scope is the numbers of an owner and of an owner together with an agent.
type scope struct{ owner, id int64 }

// scopeCache remembers scopes, which never change once they are committed.
type scopeCache struct{ known map[scopeName]scope }

func (s *scopeCache) clear() { clear(s.known) }

func (s *scopeCache) add(n scopeName, sc scope) {
	if s.known == nil || len(s.known) >= maxScopes {
		s.known = make(map[scopeName]scope)
	}
	s.known[n] = sc
}

var (
	qFindOwner = prepared("SELECT id FROM owners WHERE name = ?")
	qAddOwner  = prepared("INSERT INTO owners (name) VALUES (?)")
	qFindScope = prepared("SELECT id FROM scopes WHERE owner = ? AND agent = ?")
	qAddScope  = prepared("INSERT INTO scopes (owner, agent) VALUES (?, ?)")
)

// scope returns the numbers of an owner and agent, and gives them some if they have
// none yet.
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

// number returns what find gives, or else the row id that add makes.
func (w *writer) number(find, add query, bind func(*stmt)) (int64, error) {
	s := w.conn.start(find)
	bind(&s)
	if s.next() {
		n := s.getInt()
		s.close()
		return n, s.err
	}
	if s.err != nil {
		return 0, s.err
	}
	s = w.conn.start(add)
	bind(&s)
	if err := s.done(); err != nil {
		return 0, err
	}
	return w.conn.raw.LastInsertRowID(), nil
}

// counters collects how the numbers of shown tasks change within a batch.
type counters struct{ deltas map[shelf]int64 }

// shelf is where a shown task stands: its scope and state.
type shelf struct {
	scope int64
	state task.State
}

func (c *counters) add(s shelf, n int64) {
	if c.deltas == nil {
		c.deltas = make(map[shelf]int64)
	}
	c.deltas[s] += n
}

func (c *counters) clear() { clear(c.deltas) }

var qCount = prepared(`INSERT INTO counters VALUES (?, ?, ?)
	ON CONFLICT (scope, state) DO UPDATE SET n = n + excluded.n`)

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
