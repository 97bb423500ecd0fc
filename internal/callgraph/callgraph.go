// Package callgraph counts the calls between callers and agents.
//
// A [Reader] reads the newest tasks of a store and adds them up by caller and agent. It reads at most
// [MaxTasks] of them. All its readers share one graph for each time, which is computed again only after
// twenty times as long as the computation took, and ten seconds at least: any number of viewers takes
// at most a twentieth of one processor.
//
// A task that another one has created counts as a call of the agent of that task. If that task did not
// change within the time, or the store has very many tasks between them, it counts as a call of its owner.
// Answers without a task are not counted.
//
// A Reader is safe for concurrent use.
package callgraph

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/parley-a2a/parley/internal/adminjson"
	"github.com/parley-a2a/parley/internal/directory/broker"
	"github.com/parley-a2a/parley/internal/task"
)

const (
	// MaxTasks is the largest number of tasks of a graph, and maxLines that of its calls and of its
	// lines of spending.
	MaxTasks = 10_000
	maxLines = 2000
	// page is how many tasks are read together, and lineages how many lineages are looked at for them.
	page     = 100
	lineages = 2 * page
	// fresh is how long a graph is shared at least, and idle the multiple of the time of its
	// computation.
	fresh = 10 * time.Second
	idle  = 20
)

// Store has the tasks. task.Store implements it.
type Store interface {
	List(ctx context.Context, q *task.Query) (task.ListPage, error)
	Sidecars(ctx context.Context, q *task.SidecarQuery) ([]task.Sidecar, error)
}

var _ Store = task.Store(nil)

// Reader computes graphs.
type Reader struct {
	store Store
	turn  chan struct{} // guards kept; holds a value while a goroutine uses it
	kept  map[time.Duration]kept
}

// kept is a graph that is shared until a time.
type kept struct {
	graph *adminjson.Graph
	until time.Time
}

// New returns a reader of a store.
func New(store Store) *Reader {
	return &Reader{store: store, turn: make(chan struct{}, 1), kept: make(map[time.Duration]kept)}
}

// Last returns the graph of the last d, which is one of few. The graph is shared: it must not be
// changed.
func (r *Reader) Last(ctx context.Context, d time.Duration) (*adminjson.Graph, error) {
	select {
	case r.turn <- struct{}{}:
		defer func() { <-r.turn }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	began := time.Now()
	if k := r.kept[d]; began.Before(k.until) {
		return k.graph, nil
	}
	g, err := r.read(ctx, began.Add(-d), began)
	if err != nil {
		return nil, fmt.Errorf("read the graph of calls: %w", err)
	}
	now := time.Now()
	r.kept[d] = kept{g, now.Add(max(fresh, idle*now.Sub(began)))}
	return g, nil
}

// read reads the tasks between two times and adds them up.
func (r *Reader) read(ctx context.Context, since, until time.Time) (*adminjson.Graph, error) {
	g := &adminjson.Graph{Since: since.UTC(), Until: until.UTC()}
	s := sums{agents: make(map[task.Key]task.Agent), calls: make(map[pair]*adminjson.Call), spending: make(map[line]*adminjson.Spending)}
	q := task.Query{AllOwners: true, Since: task.MillisOf(since), Limit: page}
	for more := true; more && len(s.tasks) < MaxTasks; {
		found, err := r.store.List(ctx, &q)
		if err != nil {
			return nil, err
		}
		for i := range found.Heads {
			h := &found.Heads[i]
			s.add(h)
			q.After = task.Cursor{At: h.StatusAt, Key: h.Key}
		}
		more = found.More && len(found.Heads) > 0
		g.Complete = !more
	}
	if g.Tasks = len(s.tasks); !g.Complete {
		oldest := q.After.At.Time()
		g.Oldest = &oldest
	}
	parents, err := r.parents(ctx, s.tasks)
	if err != nil {
		return nil, err
	}
	for i := range s.tasks {
		s.count(&s.tasks[i], parents)
	}
	g.Calls, g.MoreCalls = first(s.calls, func(a, b adminjson.Call) int {
		return cmp.Or(cmp.Compare(b.Tasks, a.Tasks), cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
	})
	g.Spending, g.MoreSpending = first(s.spending, func(a, b adminjson.Spending) int {
		return cmp.Or(cmp.Compare(b.Day, a.Day), cmp.Compare(b.CostUSD, a.CostUSD), cmp.Compare(b.InputTokens+b.OutputTokens, a.InputTokens+a.OutputTokens),
			cmp.Compare(a.Owner, b.Owner), cmp.Compare(a.Agent, b.Agent))
	})
	return g, nil
}

// parents returns the parents of tasks. Lineages are stored in the order of the keys: those of some tasks
// with similar keys are read together, the newest first.
func (r *Reader) parents(ctx context.Context, tasks []one) (map[task.Key]task.Key, error) {
	keys := make([]task.Key, len(tasks))
	for i := range tasks {
		keys[i] = tasks[i].key
	}
	slices.Sort(keys)
	parents := make(map[task.Key]task.Key)
	for len(keys) > 0 {
		some := keys[max(0, len(keys)-page):]
		keys = keys[:len(keys)-len(some)]
		found, err := r.store.Sidecars(ctx, &task.SidecarQuery{Kind: task.SidecarLineage, After: some[0] - 1, Limit: lineages})
		if err != nil {
			return nil, err
		}
		for i := range found {
			if p := task.SidecarLineage.Parent(found[i].Data); found[i].Head.Key <= some[len(some)-1] {
				parents[found[i].Head.Key] = p
			}
		}
	}
	return parents, nil
}

// one has the data of a task that a graph needs.
type one struct {
	key   task.Key
	ref   adminjson.TaskRef
	agent task.Agent
	state task.State
}

// pair are the ends of a call.
type pair struct {
	from      string
	delegated bool
	to        task.Agent
}

// line identifies a line of spending.
type line struct {
	day, owner string
	agent      task.Agent
}

// sums adds up tasks.
type sums struct {
	tasks    []one
	agents   map[task.Key]task.Agent
	calls    map[pair]*adminjson.Call
	spending map[line]*adminjson.Spending
}

// add adds a task and its cost.
func (s *sums) add(h *task.Head) {
	s.tasks = append(s.tasks, one{h.Key, adminjson.TaskRef{TaskID: h.ID, Owner: string(h.Owner)}, h.Agent, h.State})
	s.agents[h.Key] = h.Agent
	spent := broker.SpentIn(h.StatusMessage)
	if spent == (broker.Spent{}) {
		return
	}
	at := line{h.StatusAt.Time().Format(time.DateOnly), string(h.Owner), h.Agent}
	l := s.spending[at]
	if l == nil {
		l = &adminjson.Spending{Day: at.day, Owner: at.owner, Agent: string(at.agent)}
		s.spending[at] = l
	}
	l.Tasks++
	l.InputTokens, l.OutputTokens, l.CostUSD = l.InputTokens+spent.Input, l.OutputTokens+spent.Output, l.CostUSD+spent.USD
}

// count counts the call that has created a task. The newest task comes first.
func (s *sums) count(t *one, parents map[task.Key]task.Key) {
	at := pair{from: t.ref.Owner, to: t.agent}
	if a, ok := s.agents[parents[t.key]]; ok {
		at.from, at.delegated = string(a), true
	}
	c := s.calls[at]
	if c == nil {
		c = &adminjson.Call{From: at.from, Delegated: at.delegated, To: string(at.to), Newest: t.ref}
		s.calls[at] = c
	}
	switch c.Tasks++; t.state {
	case task.Failed, task.Rejected:
		c.Failed++
		if c.NewestFailed == nil {
			ref := t.ref
			c.NewestFailed = &ref
		}
	case task.Submitted, task.Working, task.InputRequired, task.AuthRequired:
		c.Open++
	}
}

// first returns the first values of a map in an order, and the number of the others.
func first[K comparable, V any](all map[K]*V, order func(a, b V) int) (values []V, more int) {
	values = make([]V, 0, len(all))
	for _, v := range all {
		values = append(values, *v)
	}
	slices.SortFunc(values, order)
	most := min(len(values), maxLines)
	return values[:most:most], len(values) - most
}
