package console

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/parley-a2a/parley/internal/adminjson"
	"github.com/parley-a2a/parley/internal/sse"
)

const (
	// streamTime is how long a stream lasts. Then the browser opens it again where it ended, and
	// the hub checks the rights of the caller again.
	streamTime = 5 * time.Minute
	keepAlive  = 15 * time.Second
	// pace is the minimum time between two pieces of the same kind, and farPace that between two looks
	// at a tree with tasks at other servers.
	pace    = 250 * time.Millisecond
	farPace = 500 * time.Millisecond
)

// stream is a stream of events to a browser.
type stream struct{ *sse.Writer }

// open starts a stream. ctx ends with it.
func (p *page) open() (*stream, context.Context, context.CancelFunc) {
	limit := time.Now().Add(streamTime)
	if u := p.session.until; !u.IsZero() && u.Before(limit) {
		limit = u
	}
	ctx, cancel := context.WithDeadline(p.r.Context(), limit)
	s := &stream{sse.NewWriter(p.w, p.r)}
	p.w.Header().Set("X-Accel-Buffering", "no")
	_ = s.Send([]byte("retry: 1000\n\n")) // the next write fails, too
	return s, ctx, cancel
}

// send sends an event with a piece of a page. Version 0 is no position.
func (s *stream) send(name string, version int64, piece []byte) error {
	var b bytes.Buffer
	if version > 0 {
		b.WriteString("id: " + strconv.FormatInt(version, 10) + "\n")
	}
	b.WriteString("event: " + name + "\n")
	for line := range bytes.Lines(piece) {
		b.WriteString("data: ")
		b.Write(bytes.TrimRight(line, "\r\n"))
		b.WriteByte('\n')
	}
	b.WriteByte('\n')
	return s.Send(b.Bytes())
}

// send sends an event with a rendered piece of the page.
func (p *page) send(s *stream, event string, version int64, v any) error {
	b, err := p.piece(event, v)
	if err != nil {
		return err
	}
	return s.send(event, version, b)
}

// over answers a browser that opens a stream without a session. A status would make it try again
// without end.
func (p *page) over() {
	s, _, cancel := p.open()
	defer cancel()
	_ = s.send("over", 0, []byte("over")) // the only event
}

// beating sends comments until the returned stop is called. It cancels if the browser has
// disconnected, or if the rights of the caller have changed: the browser then asks again.
func (p *page) beating(s *stream, cancel context.CancelFunc) (stop func()) {
	return sse.Repeat(keepAlive, func() bool {
		if s.Send(sse.Comment) != nil || p.changed() {
			cancel()
			return false
		}
		return true
	})
}

// lastShown is the number of entries among which the last one of the agent is looked for.
const lastShown = 8

// attemptUntil returns the attempt of the agent's last entry up to a version, after the last message of the
// caller; zero if there is none. The task itself may be further already.
func attemptUntil(version int64, entries []adminjson.LogEntry) (attempt int64) {
	for i := range entries {
		e := &entries[i]
		switch {
		case e.Version > version:
		case e.Attempt > 0:
			attempt = e.Attempt
		case e.Kind == "message":
			attempt = 0
		}
	}
	return attempt
}

// taskEvents streams the entries of a task that are added after a version, its summary and its
// tree.
func taskEvents(p *page) error {
	after := p.r.FormValue("after")
	if id := p.r.Header.Get("Last-Event-ID"); id != "" {
		after = id
	}
	var now adminjson.TaskLog
	before, drop := p.scoped()
	if err := before.get(p.logPath("", "after", max(number(after)-lastShown, 0), "limit", lastShown), &now); err != nil {
		drop()
		return err
	}
	attempt := attemptUntil(number(after), now.Entries)
	now.Entries = nil // the stream may last
	drop()
	s, ctx, cancel := p.open()
	alive, over := context.WithCancel(ctx)
	var work sync.WaitGroup
	defer work.Wait()
	defer cancel()
	defer over()
	defer p.beating(s, cancel)()
	work.Go(func() { p.followTasks(ctx, alive, s, &now) })
	r := p.readerOf(&now)
	r.attempt, r.live = attempt, true
	if seen := p.r.FormValue("seen"); seen != "" && seen != now.Revision { // the page was read while the task changed
		_ = p.sendHead(s, &now) // the next write fails, too
	}
	complete := p.followLog(ctx, s, number(after), r)
	if over(); complete {
		work.Wait()                         // the tree may still change
		_ = s.send("end", 0, []byte("end")) // the last event
	}
	return nil
}

// followTasks sends the tree of the task until nothing in it changes any more, and the notices of an
// administrator while alive is. The tree changes with events that the notices bring along, so that it
// needs no stream of its own while they last.
func (p *page) followTasks(ctx, alive context.Context, s *stream, now *adminjson.TaskLog) {
	o := p.r.FormValue("owner")
	own := o == "" || o == p.caller.Owner
	if p.caller.Admin && !p.followContext(alive, s, now) {
		return
	}
	if own {
		p.followTree(ctx, s)
	}
}

// followContext sends, to an administrator, what happens to the task beside its log: to its workers
// and its webhooks, and the tree whenever a task of the context has changed. It
// reads it again from time to time if it has tasks at other servers. It reports whether the tree may
// change afterwards, too.
func (p *page) followContext(alive context.Context, s *stream, now *adminjson.TaskLog) (far bool) {
	ctx, cancel := context.WithCancel(alive)
	defer cancel()
	owner := p.r.FormValue("owner")
	if owner == "" {
		owner = p.caller.Owner
	}
	news, last := new(later), ""
	news.f = func() {
		p, drop := p.scoped()
		defer drop()
		sum := p.readTree()
		if sum.Far && ctx.Err() == nil {
			news.againLocked(farPace)
		}
		state := sum.state()
		if far = sum.Far; state == last || sum.Tasks == nil && last != "" {
			return
		}
		p.addresses(&sum)
		if last = state; p.send(s, "tree", 0, sum) != nil {
			cancel()
		}
	}
	news.ask()
	path := "/api/v1/events?" + query("context", now.Task.ContextID, "owner", owner, "kind", "worker,webhook,task.created,task.status", "after", p.r.FormValue("news"))
	err := p.follow(ctx, path, func(e sse.Event) bool { // an error ends the notices; the page stays
		var n notice
		switch err := json.Unmarshal(e.Data, &n); {
		case err != nil || n.Type == "":
			return true
		case strings.HasPrefix(n.Type, "task."):
			news.ask()
			return true
		case n.Task != string(now.Task.TaskID):
			return true
		}
		n.id = e.ID
		return p.send(s, "notice", 0, n.mark()) == nil
	})
	failed := err != nil && ctx.Err() == nil // too many administrators follow events
	cancel()
	news.end()
	return far || failed
}

// notice is an event of the hub about a task.
type notice struct {
	Type, Task string
	Time       time.Time
	Data       map[string]any
	id         string
}

// mark returns the notice as a mark of the timeline.
func (n *notice) mark() mark {
	m := mark{Tone: "calm", Text: strings.ReplaceAll(n.Type, ".", " "), At: &n.Time, ID: n.id}
	for _, name := range slices.Sorted(maps.Keys(n.Data)) {
		m.Text += fmt.Sprintf(" · %s %v", name, n.Data[name])
	}
	return m
}

// followLog sends entries until the task ends. It reports whether the log is complete.
func (p *page) followLog(ctx context.Context, s *stream, after int64, r *reader) (complete bool) {
	if at := p.r.FormValue("at"); at != "" {
		r.before = time.UnixMilli(number(at))
	}
	var broken error
	err := p.follow(ctx, p.logPath("/events", "after", after), func(e sse.Event) bool {
		var l adminjson.LogEntry
		if broken = json.Unmarshal(e.Data, &l); broken != nil {
			return false
		}
		if complete = l.Version == 0; complete {
			return false
		}
		broken = p.sendEntry(s, r, &l)
		return broken == nil
	})
	if err = errors.Join(err, broken); err != nil && ctx.Err() == nil && p.hub.Logger != nil {
		p.hub.Logger.Debug("a stream of the console has ended", "error", err)
	}
	return complete
}

// sendEntry sends one entry, and the summary if the entry has changed it.
func (p *page) sendEntry(s *stream, r *reader, l *adminjson.LogEntry) error {
	r.room = maxPage
	if err := p.send(s, "entry", l.Version, r.view(l)); err != nil || l.State == "" {
		return err
	}
	p, drop := p.scoped()
	defer drop()
	var now adminjson.TaskLog
	if err := p.get(p.logPath("", "after", l.Version, "limit", 1), &now); err != nil {
		return err
	}
	return p.sendHead(s, &now)
}

// sendHead sends the summary of a task and the actions on it.
func (p *page) sendHead(s *stream, now *adminjson.TaskLog) error {
	if err := p.send(s, "head", 0, p.headOf(now)); err != nil {
		return err
	}
	return p.send(s, "operate", 0, p.operateView(now))
}

// followTree sends the tree whenever a task in it changes.
func (p *page) followTree(ctx context.Context, s *stream) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p.paced(ctx, "/api/v1/tasks/"+segment(p.r.FormValue("id"))+"/tree/events", func() {
		if ctx.Err() != nil {
			return
		}
		p, drop := p.scoped()
		defer drop()
		if p.send(s, "tree", 0, p.tree()) != nil {
			cancel()
		}
	})
}

// paced calls f after events of a stream, at most once in pace, and a last time after the last
// one, until the stream ends.
func (p *page) paced(ctx context.Context, path string, f func()) {
	l := &later{f: f}
	defer l.end()
	_ = p.follow(ctx, path, func(sse.Event) bool { // an error ends the news; the page stays
		l.ask()
		return true
	})
}

// later calls a function some time after it was asked to. The time without a call needs no
// goroutine.
type later struct {
	f func()

	mu    sync.Mutex // guards the fields below; held while f runs
	timer *time.Timer
	// due is set if f will run, and again if it will only because it wanted to.
	due, again bool
}

// ask makes f run once in pace from now on, if no call is due.
func (l *later) ask() {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.due && !l.again:
		return
	case l.timer == nil:
		l.timer = time.AfterFunc(pace, l.run)
	default:
		l.timer.Reset(pace)
	}
	l.due, l.again = true, false
}

// againLocked makes f, which calls it, run once more after a time, or sooner if asked to.
func (l *later) againLocked(after time.Duration) {
	l.due, l.again = true, true
	l.timer.Reset(after)
}

func (l *later) run() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.due {
		l.due = false
		l.f()
	}
}

// end makes the call that is due, and waits for one in progress. No other follows.
func (l *later) end() {
	if l.timer != nil {
		l.timer.Stop()
	}
	l.run()
}

// countEvents streams the counts of tasks while they change, and for the overview also the tasks that need a person.
// Only administrators may follow all tasks.
func countEvents(p *page) error {
	if !p.caller.Admin {
		return &refusal{Code: http.StatusForbidden, Message: "Counts are followed by administrators only."}
	}
	s, ctx, cancel := p.open()
	var work sync.WaitGroup
	defer work.Wait()
	defer cancel()
	defer p.beating(s, cancel)()
	f := p.countFilter()
	if p.r.FormValue("attention") != "" {
		work.Go(func() { p.followAttention(ctx, s, f["scope"]) })
	}
	_ = p.follow(ctx, "/api/v1/counts/events?"+f.ask(), func(e sse.Event) bool { // after an error the browser asks again
		var answer adminjson.TaskCounts
		return json.Unmarshal(e.Data, &answer) == nil && p.send(s, "counts", 0, countsOf(f, &answer)) == nil
	})
	return nil
}
