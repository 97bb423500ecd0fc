// Package keeper keeps a hub a member of those on its database.
//
// A Keeper renews the lease of its hub. It passes the hints of the other hubs to the engine, and
// lets it take over the tasks of hubs that have left or were lost. It is the engine's view of the
// other hubs (engine.Peers).
//
// The members share work by key (cluster.View). Some of it must never be done by two hubs, like the
// delivery of a webhook. When the members change, each hub first ends such work that is no longer its
// own, then states so with its next renewal, and begins its new part once all members have stated it.
//
// # Guarantees
//
// A hub that cannot renew its lease ends its runs before the lease ends by the clock of the
// database: the time counts from before the last renewal was sent, by a clock that no operator can
// set. A Keeper ends the membership of another hub only if it has renewed its own for a whole lease
// without a gap, so that hubs which return together after a fault of the database keep their
// tasks. A lost hint costs a second.
//
// At any time, Holds is true for a key at one hub at most.
//
// # Non-guarantees
//
// A hub that is alone has a longer lease, because no other hub waits for its tasks. If it is lost
// then, a hub with another id waits as long.
package keeper

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/parley-a2a/parley/internal/backoff"
	"github.com/parley-a2a/parley/internal/cluster"
	"github.com/parley-a2a/parley/internal/task"
	"github.com/parley-a2a/parley/internal/wake"
)

const (
	// aloneLease is the least lease of a hub without others.
	aloneLease = 30 * time.Second
	// followEvery is the time after which lost hints are made up for, and secondPass the time
	// after which tasks are taken over that the hub that should have done so has left.
	followEvery = time.Second
	secondPass  = time.Second
	// takeEvery is the time between looks at all open tasks.
	takeEvery = 30 * time.Second
	// maxGone limits the holders that are known to have ended.
	maxGone = 4096
)

// Table is the table of members. The error of Renew is cluster.ErrLost if the membership has ended.
type Table interface {
	// Renew renews the membership, and returns all members in the order in which they joined. The
	// others get a hint if the View is another one than before.
	Renew(ctx context.Context, r cluster.Renewal) ([]cluster.Member, error)
	// Rejoin begins another membership with another holder.
	Rejoin(ctx context.Context, holder task.Holder) error
	// Lose ends the memberships whose leases have ended.
	Lose(ctx context.Context) (int, error)
}

// Runner runs the tasks of the hub: the engine.
type Runner interface {
	// Suspend ends all runs; their claims stay stored.
	Suspend()
	// Continue begins runs again as another holder.
	Continue(holder task.Holder)
	// TakeOver continues the tasks of holders that are not live: a share of them, or all.
	TakeOver(ctx context.Context, all bool) error
}

// Keeper keeps a hub a member. Set the fields before Run; those without a comment are required.
type Keeper struct {
	Table  Table
	ID     string
	Holder task.Holder
	Config string
	// Lease is the time for which a hub is a member without a renewal; zero means 5 seconds.
	Lease time.Duration
	// Listen passes the hints of others to f until ctx ends or it fails. If nil, the hub looks for changes once a
	// second.
	Listen func(ctx context.Context, f func(cluster.Hint)) error
	// Follow acts on a hint, and once a second on a regular one, which names nothing. It is not
	// called concurrently.
	Follow func(ctx context.Context, h cluster.Hint)
	// Yield ends the work for keys that the hub does not hold, and returns when it has ended. After an
	// error it is called again. It may be nil.
	Yield func(ctx context.Context) error
	// Runs returns the number of runs of the hub, for operators; it may be nil.
	Runs func() int
	// Drain is called when an operator has asked the hub to leave.
	Drain  func()
	Logger *slog.Logger

	once     sync.Once
	renewNow wake.Signal
	takeNow  wake.Signal
	hinted   wake.Signal
	moved    wake.Signal
	drain    sync.Once
	runner   atomic.Pointer[Runner]

	// acting is held while the hub stops or begins to act.
	acting    sync.Mutex
	suspended bool
	alarm     *time.Timer // goes off when the lease is about to end

	mu      sync.Mutex // guards the fields below
	members []cluster.Member
	own     task.Holder
	gone    map[task.Holder]bool
	hint    cluster.Hint
	// since is the first of the renewals without a gap, and last the time at which the newest was
	// sent.
	since, last time.Time
	// until is the end of the lease, a tenth of it early.
	until  time.Time
	others string // the hubs with another configuration that the log has named
	// views are the one on which all members last agreed, and those since. At first, it is that of no
	// members. yielded is the number of the newest one to whose shares the hub keeps.
	views   []cluster.View
	yielded int64
}

func (k *Keeper) init() {
	k.once.Do(func() {
		k.renewNow, k.takeNow, k.hinted, k.moved = wake.New(), wake.New(), wake.New(), wake.New()
		k.Lease = cmp.Or(k.Lease, cluster.DefaultLease)
		k.own, k.gone, k.views = k.Holder, make(map[task.Holder]bool), make([]cluster.View, 1)
	})
}

// Join reads the members for the first time. It is called before the engine runs.
func (k *Keeper) Join(ctx context.Context) error {
	k.init()
	k.alarm = time.AfterFunc(k.Lease, k.suspend)
	return k.renew(ctx)
}

// Run renews the membership until ctx ends.
func (k *Keeper) Run(ctx context.Context, r Runner) error {
	k.runner.Store(&r)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer k.alarm.Stop()
	if k.Listen != nil {
		wg.Go(func() { k.listen(ctx) })
	}
	wg.Go(func() { k.follow(ctx) })
	wg.Go(func() { k.takeOver(ctx) })
	wg.Go(func() { k.yield(ctx) })
	k.keep(ctx)
	return nil
}

// keep renews the lease until ctx ends.
func (k *Keeper) keep(ctx context.Context) {
	failing := false
	for wait := k.Lease / 3; ; {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		case <-k.renewNow:
		}
		err := k.renew(ctx)
		if wait = k.pause(); err != nil {
			wait = k.Lease / 10
		}
		if (err != nil) != failing && ctx.Err() == nil {
			failing = err != nil
			k.report(err)
		}
	}
}

// pause returns the time until the next renewal. It is shorter while the members do not agree, and the lease of
// another hub is looked at when it ends.
func (k *Keeper) pause() time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	wait := k.Lease / 3
	if len(k.views) > 1 {
		wait = k.Lease / 10
	}
	for i := range k.members {
		if m := &k.members[i]; m.ID != k.ID {
			wait = min(wait, max(m.Lease, k.Lease/30))
		}
	}
	return wait
}

func (k *Keeper) report(err error) {
	if err != nil {
		k.Logger.Warn("the lease of this hub cannot be renewed", "hub", k.ID, "error", err)
		return
	}
	k.Logger.Info("the lease of this hub is renewed again", "hub", k.ID)
}

// late returns the ids of the other hubs whose leases have ended.
func (k *Keeper) late(all []cluster.Member) (ids []string) {
	for _, m := range all {
		if m.Lease < 0 && m.ID != k.ID {
			ids = append(ids, m.ID)
		}
	}
	return ids
}

// renew renews the lease once, and acts on the members.
func (k *Keeper) renew(ctx context.Context) error {
	sent, r := time.Now(), k.renewal()
	lease := r.Lease
	all, err := k.Table.Renew(ctx, r)
	if errors.Is(err, cluster.ErrLost) || err == nil && k.isSuspended() {
		return k.comeBack(ctx)
	}
	if err != nil {
		return err
	}
	until := sent.Add(lease - lease/10)
	if k.alarm.Reset(time.Until(until)); k.isSuspended() {
		return k.comeBack(ctx) // the alarm went off meanwhile
	}
	k.adopt(sent, until, all)
	if lease > k.Lease && len(all) > 1 {
		k.renewNow.Send() // another hub waits for the end of the lease now
	}
	late := k.late(all)
	if len(late) == 0 || !k.mayJudge(sent) {
		return nil
	}
	n, err := k.Table.Lose(ctx)
	if n > 0 {
		k.Logger.Warn("hubs were lost; the others continue their tasks", "hubs", strings.Join(late, ", "))
		k.renewNow.Send()
	}
	return err
}

// renewal returns the next renewal.
func (k *Keeper) renewal() cluster.Renewal {
	r := cluster.Renewal{Lease: k.Lease, Runs: k.runs()}
	k.mu.Lock()
	defer k.mu.Unlock()
	r.View = k.yielded
	if len(k.members) < 2 {
		r.Lease = max(k.Lease, aloneLease)
	}
	return r
}

// runs returns the number of runs of the hub.
func (k *Keeper) runs() int {
	if k.runner.Load() == nil || k.Runs == nil {
		return 0
	}
	return k.Runs()
}

// mayJudge reports whether the hub has renewed its lease for a whole one without a gap.
func (k *Keeper) mayJudge(sent time.Time) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return sent.Sub(k.since) >= k.Lease
}

// adopt replaces the view of the members.
func (k *Keeper) adopt(sent, until time.Time, all []cluster.Member) {
	k.mu.Lock()
	if sent.Sub(k.last) > k.Lease {
		k.since = sent
	}
	k.last, k.until = sent, until
	before := k.members
	k.members = all
	drains := slices.ContainsFunc(all, func(m cluster.Member) bool { return m.ID == k.ID && m.Drain })
	others := k.otherConfigsLocked()
	news := others != k.others
	k.others = others
	agreed := k.agreeLocked(all)
	k.mu.Unlock()
	if agreed {
		k.note(cluster.Hint{All: true})
	}
	for _, m := range before {
		if !slices.ContainsFunc(all, func(n cluster.Member) bool { return n.Holder == m.Holder }) {
			k.takeNow.Send()
		}
	}
	if news && others != "" {
		k.Logger.Warn("hubs on the same database have another configuration", "hub", k.ID, "others", others)
	}
	if drains && k.Drain != nil {
		k.drain.Do(k.Drain)
	}
}

// agreeLocked adds the view of the members, and reports whether all of them now agree on it.
func (k *Keeper) agreeLocked(all []cluster.Member) bool {
	now := cluster.ViewOf(all)
	if k.views[len(k.views)-1].Number != now.Number {
		if k.views = append(k.views, now); len(all) == 1 {
			k.yielded = now.Number // this hub owns all keys
		} else {
			k.moved.Send()
		}
	}
	if len(k.views) == 1 || k.yielded != now.Number {
		return false
	}
	for i := range all {
		if all[i].ID != k.ID && all[i].View != now.Number {
			return false
		}
	}
	k.views = []cluster.View{now}
	return true
}

// yield ends the work that is no longer the hub's when the members have changed, until ctx ends.
func (k *Keeper) yield(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-k.moved:
		}
		k.mu.Lock()
		number := k.views[len(k.views)-1].Number
		k.mu.Unlock()
		if k.Yield != nil {
			if err := k.Yield(ctx); err != nil {
				if ctx.Err() == nil {
					k.Logger.Debug("hand over work to other hubs", "error", err)
				}
				k.moved.Send()
				_ = backoff.Sleep(ctx, followEvery/4) // an error means that ctx has ended
				continue
			}
		}
		k.mu.Lock()
		k.yielded = number
		k.mu.Unlock()
		k.renewNow.Send()
	}
}

// otherConfigsLocked returns the ids of the hubs with another configuration.
func (k *Keeper) otherConfigsLocked() (ids string) {
	for _, m := range k.members {
		if m.Config != k.Config {
			ids += " " + m.ID
		}
	}
	return ids
}

// suspend makes the hub stop acting, because its lease is about to end.
func (k *Keeper) suspend() {
	k.acting.Lock()
	defer k.acting.Unlock()
	if k.suspended {
		return
	}
	k.suspended = true
	k.Logger.Error("the lease of this hub expired; its runs end, and other hubs continue its tasks", "hub", k.ID)
	if r := k.runner.Load(); r != nil {
		(*r).Suspend()
	}
}

func (k *Keeper) isSuspended() bool {
	k.acting.Lock()
	defer k.acting.Unlock()
	return k.suspended
}

// comeBack joins again after the lease has ended, as another holder.
func (k *Keeper) comeBack(ctx context.Context) error {
	k.suspend()
	holder := cluster.NewHolder()
	sent := time.Now()
	if err := k.Table.Rejoin(ctx, holder); err != nil {
		return err
	}
	k.mu.Lock()
	k.own, k.since, k.last = holder, sent, sent
	k.views, k.yielded = make([]cluster.View, 1), 0
	k.members = slices.DeleteFunc(slices.Clone(k.members), func(m cluster.Member) bool { return m.ID == k.ID })
	k.mu.Unlock()
	k.acting.Lock()
	k.alarm.Reset(time.Until(sent.Add(k.Lease - k.Lease/10)))
	k.suspended = false
	if r := k.runner.Load(); r != nil {
		(*r).Continue(holder)
	}
	k.acting.Unlock()
	k.Logger.Info("this hub has joined again", "hub", k.ID)
	k.note(cluster.Hint{All: true})
	k.takeNow.Send()
	k.renewNow.Send()
	return nil
}

// listen passes hints on until ctx ends.
func (k *Keeper) listen(ctx context.Context) {
	for {
		err := k.Listen(ctx, k.note)
		if ctx.Err() != nil {
			return
		}
		k.Logger.Debug("hints of other hubs", "error", err)
		if backoff.Sleep(ctx, followEvery/4) != nil {
			return
		}
	}
}

// note adds a hint to those that wait. It returns at once.
func (k *Keeper) note(h cluster.Hint) {
	k.mu.Lock()
	w := &k.hint
	w.All = w.All || h.All
	if w.All {
		w.Keys = nil
	} else {
		w.Keys = append(w.Keys, h.Keys...)
	}
	w.Cancels = append(w.Cancels, h.Cancels...)
	w.Data = w.Data || h.Data
	k.mu.Unlock()
	k.hinted.Send()
	if h.Members {
		k.renewNow.Send()
	}
	if h.Members && h.All {
		k.takeNow.Send() // cancel requests may have been missed
	}
}

// follow acts on hints until ctx ends.
func (k *Keeper) follow(ctx context.Context) {
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-k.hinted:
			k.mu.Lock()
			h := k.hint
			k.hint = cluster.Hint{}
			k.mu.Unlock()
			k.Follow(ctx, h)
		case <-tick.C:
			k.Follow(ctx, cluster.Hint{Regular: true})
		}
	}
}

// takeOver continues the tasks of ended hubs until ctx ends.
func (k *Keeper) takeOver(ctx context.Context) {
	tick := time.NewTicker(takeEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-k.takeNow:
			k.take(ctx, false)
			if backoff.Sleep(ctx, secondPass) != nil {
				return
			}
		case <-tick.C:
		}
		k.take(ctx, true)
	}
}

func (k *Keeper) take(ctx context.Context, all bool) {
	if k.isSuspended() || !all && len(k.view()) < 1 {
		return
	}
	if err := (*k.runner.Load()).TakeOver(ctx, all); err != nil && ctx.Err() == nil {
		k.Logger.Warn("take over tasks", "error", err)
		k.takeNow.Send()
	}
}

func (k *Keeper) view() []cluster.Member {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.members
}

// Members returns the members at the last renewal, and the ids of those with another configuration.
func (k *Keeper) Members() (all []cluster.Member, otherConfig string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.members), k.others
}

// Suspended reports whether the hub does not act, because its lease has ended.
func (k *Keeper) Suspended() bool { return k.isSuspended() }

// Live implements engine.Peers. It reads the database for a holder that it does not know.
func (k *Keeper) Live(holder task.Holder) bool {
	k.mu.Lock()
	all, own, gone := k.members, k.own, k.gone[holder]
	k.mu.Unlock()
	has := func(m cluster.Member) bool { return m.Holder == holder }
	switch {
	case holder == "":
		return slices.ContainsFunc(all, func(m cluster.Member) bool { return m.ID != k.ID })
	case holder == own || slices.ContainsFunc(all, has):
		return true
	case gone:
		return false
	}
	// The hub may have joined since. A holder that is no member now never is one again.
	all, err := k.Table.Renew(context.Background(), k.renewal())
	if err != nil || slices.ContainsFunc(all, has) {
		return true
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.gone) >= maxGone {
		clear(k.gone)
	}
	k.gone[holder] = true
	return false
}

// Takes implements engine.Peers: the members share the tasks by their keys.
func (k *Keeper) Takes(key task.Key) bool {
	owner := k.newest().OwnerOfTask(key)
	return owner == k.ID || owner == ""
}

// Does implements engine.Peers: the members share the jobs by their names. Two hubs may do a job for a
// moment when the members change.
func (k *Keeper) Does(job string) bool {
	return !k.isSuspended() && k.newest().OwnerOf(job) == k.ID
}

// newest returns the view of the members at the last renewal.
func (k *Keeper) newest() cluster.View {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.views[len(k.views)-1]
}

// Holds reports whether the work that belongs to a task, and that two hubs must never do, is that of this
// hub. It reads no database.
func (k *Keeper) Holds(key task.Key) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	// A process that was stopped may come here before the alarm of its lease.
	if !time.Now().Before(k.until) {
		return false
	}
	// Another hub may act on any view since the last one on which all agreed.
	for i := range k.views {
		if k.views[i].OwnerOfTask(key) != k.ID {
			return false
		}
	}
	return true
}
