package sqlitestore

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/parley-a2a/parley/internal/store/sqlstore/tables"
	"github.com/parley-a2a/parley/internal/task"
)

// List implements task.Index.
func (t Tasks) List(ctx context.Context, q *task.Query) (task.ListPage, error) {
	if q.Limit <= 0 {
		return task.ListPage{}, fmt.Errorf("list tasks: limit %d must be positive", q.Limit)
	}
	if err := q.Check(); err != nil {
		return task.ListPage{}, fmt.Errorf("list tasks: %w", err)
	}
	var page task.ListPage
	err := t.db.view(ctx, func(c *conn) (err error) {
		switch {
		case q.Text != "":
			page, err = t.ListText(c, q, maxListBytes)
		case q.IDPrefix != "":
			page, err = tables.ListIDs(c, q, maxListBytes)
		case q.ContextID != "":
			page, err = tables.ListContext(c, q, maxListBytes)
		default:
			page, err = listGroups(c, q)
		}
		return err
	})
	if err != nil {
		return task.ListPage{}, fmt.Errorf("list tasks: %w", err)
	}
	return page, nil
}

// A list without a context is merged from groups: the tasks of one scope and state, which the
// index holds in order. The number of an owner's groups depends on the number of its agents,
// not on that of its tasks.
var (
	qGroups = prepared(`SELECT c.scope, c.state, c.n FROM scopes s
	JOIN counters c ON c.scope = s.id
	WHERE s.owner = ?1 AND (?2 = '' OR s.agent = ?2) AND (?3 = 0 OR c.state = ?3) AND c.n > 0`)

	qAllGroups = prepared(`SELECT c.scope, c.state, c.n FROM scopes s
	JOIN counters c ON c.scope = s.id
	WHERE (?1 = '' OR s.agent = ?1) AND (?2 = 0 OR c.state = ?2) AND c.n > 0`)

	qCountGroup = prepared(`SELECT count(*) FROM (SELECT 1 FROM tasks
	WHERE scope = ?1 AND state = ?2 AND shown = 0 AND status_at >= ?3 LIMIT 0 + ?4)`)

	// qGroup contains the same statement several times, for groups that are read concurrently.
	// The comment makes the texts differ, because equal texts would be one statement.
	qGroup = func() (qs [8]query) {
		for i := range qs {
			qs[i] = prepared(fmt.Sprintf("SELECT /* %d */ ", i) + columns + ` FROM tasks t
	WHERE t.scope = ?1 AND t.state = ?2 AND t.shown = 0 AND t.status_at >= ?3 AND t.status_at <= ?4
	AND NOT (t.status_at = ?4 AND t.key >= ?5)
	ORDER BY t.status_at DESC, t.key DESC`)
		}
		return qs
	}()
)

// countedGroup is a group with the number of its tasks.
type countedGroup struct {
	tables.Group
	n int64
	// all replaces the query of the group by one over the groups of all owners.
	all *query
}

func listGroups(c *conn, q *task.Query) (task.ListPage, error) {
	var owner int64
	if !q.AllOwners {
		var err error
		if owner, err = c.names.Owner(c, q.Owner); owner == 0 || err != nil {
			return task.ListPage{}, err
		}
	}
	groups, err := groupsOf(c, q, owner)
	if err != nil {
		return task.ListPage{}, err
	}
	total, err := countGroups(c, q, groups)
	if err != nil {
		return task.ListPage{}, err
	}
	if q.AllOwners && q.Agent == "" {
		if groups, err = combine(c, q, groups); err != nil {
			return task.ListPage{}, err
		}
	}
	page, err := merge(c, q, groups)
	page.Total = total
	return page, err
}

// The tasks of all owners that have ended, and that are interrupted, in the order of the list.
// Their indexes hold them for sweeps.
var (
	qAllEnded = prepared("SELECT " + columns + ` FROM tasks t
	WHERE t.ended > 0 AND t.ended >= ?1 AND t.ended <= ?2 AND NOT (t.ended = ?2 AND t.key >= ?3)
	AND t.shown = 0 AND (?4 = 0 OR t.state = ?4)
	ORDER BY t.ended DESC, t.key DESC`)

	qAllInterrupted = prepared("SELECT " + columns + ` FROM tasks t
	WHERE t.state IN (6, 8) AND t.status_at >= ?1 AND t.status_at <= ?2 AND NOT (t.status_at = ?2 AND t.key >= ?3)
	AND t.shown = 0 AND (?4 = 0 OR t.state = ?4)
	ORDER BY t.status_at DESC, t.key DESC`)
)

const (
	// fewGroups is the number of groups that are merged as fast as others are scanned.
	fewGroups = 8
	// perGroup is the number of rows that a scan may skip for each group that it replaces.
	perGroup = 8
)

// combine replaces the groups of ended and of interrupted tasks of all owners by one each, so
// that a page does not cost a query for each owner. Groups remain if there are few, or
// if the state of the query is so rare that a scan would skip more.
func combine(c *conn, q *task.Query, groups []countedGroup) ([]countedGroup, error) {
	if len(groups) <= fewGroups {
		return groups, nil
	}
	if q.State != 0 {
		skipped, err := skips(c, q, groups)
		if err != nil || skipped > perGroup*int64(len(groups)) {
			return groups, err
		}
	}
	var rest []countedGroup
	ended, interrupted := countedGroup{all: &qAllEnded}, countedGroup{all: &qAllInterrupted}
	for _, g := range groups {
		switch {
		case g.State.Terminal():
			ended.n += g.n
		case g.State.Interrupted():
			interrupted.n += g.n
		default:
			rest = append(rest, g)
		}
	}
	for _, g := range []countedGroup{ended, interrupted} {
		if g.n > 0 {
			rest = append(rest, g)
		}
	}
	return rest, nil
}

// skips estimates the number of rows of other states that a scan for a page skips.
func skips(c *conn, q *task.Query, groups []countedGroup) (int64, error) {
	all, err := tables.States(c)
	if err != nil {
		return 0, err
	}
	var others, found int64
	for state, n := range all {
		if state != q.State && state.Terminal() == q.State.Terminal() && state.Interrupted() == q.State.Interrupted() {
			others += int64(n)
		}
	}
	for _, g := range groups {
		found += g.n
	}
	return others * int64(q.Limit+1) / found, nil
}

// groupsOf returns the groups of an owner, or of all.
func groupsOf(c *conn, q *task.Query, owner int64) ([]countedGroup, error) {
	var s stmt
	if q.AllOwners {
		s = c.start(qAllGroups)
	} else {
		s = c.start(qGroups)
		s.int(owner)
	}
	s.text(string(q.Agent))
	s.int(int64(q.State))
	var groups []countedGroup
	for s.next() {
		groups = append(groups, countedGroup{
			Group: tables.Group{Scope: s.Int(), State: task.State(s.Int())},
			n:     s.Int(),
		})
	}
	return groups, s.err
}

func countGroups(c *conn, q *task.Query, groups []countedGroup) (int, error) {
	var total int64
	for _, g := range groups {
		n := g.n
		if q.Since > 0 {
			s := c.start(qCountGroup)
			s.int(g.Scope)
			s.int(int64(g.State))
			s.int(int64(q.Since))
			s.int(task.MaxTotal + 1 - total)
			var err error
			if n, err = s.only(); err != nil {
				return 0, err
			}
		}
		total += n
	}
	return int(total), nil
}

// merge returns the first q.Limit tasks of all groups, in order. It reads as many groups at
// once as there are statements for them.
func merge(c *conn, q *task.Query, groups []countedGroup) (task.ListPage, error) {
	var page task.ListPage
	for some := range slices.Chunk(groups, len(qGroup)) {
		more, err := mergeSome(c, q, some)
		if err != nil {
			return task.ListPage{}, err
		}
		if page.Heads == nil {
			page = more
			continue
		}
		page = joinPages(page, more)
		page.More = page.More || len(page.Heads) > q.Limit
		page.Heads = page.Heads[:min(len(page.Heads), q.Limit)]
	}
	return page, nil
}

// joinPages returns the tasks of two pages in order, up to the end of the one that ends first: tasks that
// it does not have may follow there.
func joinPages(a, b task.ListPage) task.ListPage {
	all := task.ListPage{Heads: append(slices.Clone(a.Heads), b.Heads...), More: a.More || b.More}
	slices.SortFunc(all.Heads, func(a, b task.Head) int { return compare(listed(&a), listed(&b)) })
	for _, p := range []task.ListPage{a, b} {
		if !p.More || len(p.Heads) == 0 {
			continue
		}
		end := listed(&p.Heads[len(p.Heads)-1])
		if i := slices.IndexFunc(all.Heads, func(h task.Head) bool { return compare(listed(&h), end) > 0 }); i >= 0 {
			all.Heads = all.Heads[:i]
		}
	}
	return all
}

// source is a group that is being read, with a current row that was not merged yet.
type source struct {
	stmt
	at   task.Cursor
	more bool
}

func (l *source) advance() {
	if l.more = l.next(); l.more {
		l.at = getCursor(&l.stmt)
	}
}

// mergeSome merges the rows of all sources.
func mergeSome(c *conn, q *task.Query, groups []countedGroup) (page task.ListPage, err error) {
	var buffer [len(qGroup)]source
	sources := buffer[:len(groups)]
	most := int64(0)
	for i, g := range groups {
		if g.all != nil {
			sources[i].stmt = c.start(*g.all)
			bindAll(&sources[i].stmt, q)
		} else {
			sources[i].stmt = c.start(qGroup[i])
			bindGroup(&sources[i].stmt, q, g.Group)
		}
		sources[i].advance()
		most += g.n
	}
	page.Heads = make([]task.Head, 0, min(int64(q.Limit), most))
	for size := 0; ; {
		var first *source
		for i := range sources {
			l := &sources[i]
			if l.more && (first == nil || compare(l.at, first.at) < 0) {
				first = l
			}
		}
		full := len(page.Heads) == q.Limit || size > maxListBytes
		if page.More = first != nil && full; first == nil || page.More {
			break
		}
		page.Heads = append(page.Heads, task.Head{})
		h := &page.Heads[len(page.Heads)-1]
		if err := first.readListed(h); err != nil {
			return page, err // the connection is closed
		}
		size += len(h.StatusMessage)
		first.advance()
	}
	for i := range sources {
		if sources[i].more {
			sources[i].close()
		}
		if err == nil {
			err = sources[i].err
		}
	}
	return page, err
}

func bindGroup(s *stmt, q *task.Query, g tables.Group) {
	s.int(g.Scope)
	s.int(int64(g.State))
	s.int(int64(q.Since))
	bindPosition(s, q)
}

// bindAll binds the values of a query over the groups of all owners.
func bindAll(s *stmt, q *task.Query) {
	s.int(int64(q.Since))
	bindPosition(s, q)
	s.int(int64(q.State))
}

// Interrupted implements tables.TaskDB.
func (shared) Interrupted(c tables.Conn, q *task.Query, owner int64) ([]task.Head, error) {
	var groups []countedGroup
	one := task.Query{Agent: q.Agent, Limit: 1}
	for _, one.State = range []task.State{task.InputRequired, task.AuthRequired} {
		more, err := groupsOf(c.(*conn), &one, owner)
		if err != nil {
			return nil, err
		}
		groups = append(groups, more...)
	}
	page, err := merge(c.(*conn), &one, groups)
	return page.Heads, err
}

func listed(h *task.Head) task.Cursor { return task.Cursor{At: h.StatusAt, Key: h.Key} }

// compare orders positions like lists: newest first.
func compare(a, b task.Cursor) int {
	return cmp.Or(cmp.Compare(b.At, a.At), cmp.Compare(b.Key, a.Key))
}

// bindPosition binds the position after which q continues.
func bindPosition(s *stmt, q *task.Query) {
	at := tables.Position(q)
	s.int(int64(at.At))
	s.int(int64(at.Key))
}
