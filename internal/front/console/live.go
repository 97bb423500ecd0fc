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
	"github.com/parley-a2a/parley/internal/sse/pulse"
)

const (
	// streamTime is how long a stream lasts. Then the browser opens it again where it ended, and
	// the hub checks the rights of the caller again.
	streamTime = 5 * time.Minute
	keepAlive  = 15 * time.Second
	// pace is the minimum time between two pieces of the same kind.
	pace = 250 * time.Millisecond
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
	return pulse.Start(keepAlive, func() bool {
		if s.Send([]byte(": parley\n\n")) != nil || p.changed() {
			cancel()
			return false
		}
		return true
	}).Stop
}

// taskEvents streams the entries of a task that are added after a version, its summary and its
// tree.
func taskEvents(p *page) error {
	after := p.r.FormValue("after")
	if id := p.r.Header.Get("Last-Event-ID"); id != "" {
		after = id
	}
	var now adminjson.TaskLog
	if err := p.get(p.logPath("", "after", number(after), "limit", 1), &now); err != nil {
		return err
	}
	s, ctx, cancel := p.open()
	var work sync.WaitGroup
	defer work.Wait()
	defer cancel()
	defer p.beating(s, cancel)()
	switch o := p.r.FormValue("owner"); {
	case p.caller.Admin:
		work.Go(func() { p.followContext(ctx, s, &now) })
	case o == "" || o == p.caller.Owner:
		work.Go(func() { p.followTree(ctx, s) })
	}
	p.followLog(ctx, s, number(after), &now)
	return nil
}

// followContext sends, to an administrator, the tree whenever a task of the context changes, and what
// happens to the task beside its log: to its workers and its webhooks.
func (p *page) followContext(ctx context.Context, s *stream, now *adminjson.TaskLog) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	owner := p.r.FormValue("owner")
	news := &later{f: p.treeSender(ctx, cancel, s)}
	if owner == "" || owner == p.caller.Owner {
		owner = p.caller.Owner
		news.ask()
	} else {
		news.f = func() {} // the tree of another owner is not shown
	}
	defer news.end()
	path := "/api/v1/events?" + query("context", now.Task.ContextID, "owner", owner, "kind", "task.created,task.status,worker,webhook", "after", p.r.FormValue("news"))
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
		b, err := p.piece("notice", n.mark())
		return err == nil && s.send("notice", 0, b) == nil
	})
	if err != nil && ctx.Err() == nil && owner == p.caller.Owner {
		p.followTree(ctx, s) // too many administrators follow events
	}
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

// followLog sends entries until the task ends.
func (p *page) followLog(ctx context.Context, s *stream, after int64, now *adminjson.TaskLog) {
	r := p.readerOf(now)
	r.attempt, r.live = now.Attempt, true
	if at := p.r.FormValue("at"); at != "" {
		r.before = time.UnixMilli(number(at))
	}
	var broken error
	err := p.follow(ctx, p.logPath("/events", "after", after), func(e sse.Event) bool {
		var l adminjson.LogEntry
		if broken = json.Unmarshal(e.Data, &l); broken != nil {
			return false
		}
		if l.Version == 0 { // the log is complete, and the tree may have changed since its last news
			if b, err := p.piece("tree", p.tree()); err == nil {
				_ = s.send("tree", 0, b) // the next one fails, too
			}
			_ = s.send("end", 0, []byte("end")) // the last event
			return false
		}
		broken = p.sendEntry(s, r, &l)
		return broken == nil
	})
	if err = errors.Join(err, broken); err != nil && ctx.Err() == nil && p.hub.Logger != nil {
		p.hub.Logger.Debug("a stream of the console has ended", "error", err)
	}
}

// sendEntry sends one entry, and the summary if the entry has changed it.
func (p *page) sendEntry(s *stream, r *reader, l *adminjson.LogEntry) error {
	r.room = maxPage
	v := r.view(l)
	b, err := p.piece("entry", v)
	if err != nil {
		return err
	}
	if err := s.send("entry", l.Version, b); err != nil || l.State == "" {
		return err
	}
	var now adminjson.TaskLog
	if err := p.get(p.logPath("", "after", l.Version, "limit", 1), &now); err != nil {
		return err
	}
	if b, err = p.piece("head", p.headOf(&now)); err != nil {
		return err
	}
	return s.send("head", 0, b)
}

// followTree sends the tree whenever a task in it changes.
func (p *page) followTree(ctx context.Context, s *stream) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p.paced(ctx, "/api/v1/tasks/"+segment(p.r.FormValue("id"))+"/tree/events", p.treeSender(ctx, cancel, s))
}

// treeSender returns a function that sends the tree. It cancels ctx if that is not possible.
func (p *page) treeSender(ctx context.Context, cancel context.CancelFunc, s *stream) func() {
	return func() {
		if ctx.Err() != nil {
			return
		}
		b, err := p.piece("tree", p.tree())
		if err != nil || s.send("tree", 0, b) != nil {
			cancel()
		}
	}
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
	due   bool
}

// ask makes f run once in pace from now on, if no call is due.
func (l *later) ask() {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.due:
		return
	case l.timer == nil:
		l.timer = time.AfterFunc(pace, l.run)
	default:
		l.timer.Reset(pace)
	}
	l.due = true
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

// countEvents streams the counts of tasks while they change. Only administrators may follow all
// tasks.
func countEvents(p *page) error {
	if !p.caller.Admin {
		return &refusal{http.StatusForbidden, "Counts are followed by administrators only."}
	}
	s, ctx, cancel := p.open()
	defer cancel()
	defer p.beating(s, cancel)()
	p.paced(ctx, "/api/v1/events?kind=task.created,task.status", func() {
		counts, err := p.counts()
		if err == nil && ctx.Err() == nil {
			var b []byte
			if b, err = p.piece("counts", counts); err == nil {
				err = s.send("counts", 0, b)
			}
		}
		if err != nil {
			cancel()
		}
	})
	return nil
}
