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
	// writeTime is how long a browser may take to accept an event.
	writeTime = 30 * time.Second
	keepAlive = 15 * time.Second
	// pace is the minimum time between two pieces of the same kind.
	pace = 250 * time.Millisecond
)

// stream is a stream of events to a browser.
type stream struct {
	control *http.ResponseController
	mu      sync.Mutex // guards w
	w       http.ResponseWriter
	// timed is set if an expired deadline ends an idle stream, as in HTTP/2.
	timed bool
}

// open starts a stream. ctx ends with it.
func (p *page) open() (*stream, context.Context, context.CancelFunc) {
	limit := time.Now().Add(streamTime)
	if u := p.session.until; !u.IsZero() && u.Before(limit) {
		limit = u
	}
	ctx, cancel := context.WithDeadline(p.r.Context(), limit)
	h := p.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no")
	s := &stream{control: http.NewResponseController(p.w), w: p.w, timed: p.r.ProtoMajor > 1}
	_ = s.write([]byte("retry: 1000\n\n")) // the next write fails, too
	return s, ctx, cancel
}

func (s *stream) write(b []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.control.SetWriteDeadline(time.Now().Add(writeTime)) // some writers have no deadlines
	if _, err := s.w.Write(b); err != nil {
		return err
	}
	if err := s.control.Flush(); err != nil || !s.timed {
		return err
	}
	return s.control.SetWriteDeadline(time.Time{})
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
	return s.write(b.Bytes())
}

// over answers a browser that opens a stream without a session. A status would make it try again
// without end.
func (p *page) over() {
	s, _, cancel := p.open()
	defer cancel()
	_ = s.send("over", 0, []byte("over")) // the only event
}

// beat sends comments until ctx ends. It cancels ctx if the browser has disconnected, or if the
// rights of the caller have changed: the browser then asks again.
func (p *page) beat(ctx context.Context, s *stream, cancel context.CancelFunc) {
	tick := time.NewTicker(keepAlive)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if s.write([]byte(": parley\n\n")) != nil || p.changed() {
				cancel()
			}
		}
	}
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
	work.Go(func() { p.beat(ctx, s, cancel) })
	if o := p.r.FormValue("owner"); o == "" || o == p.caller.Owner {
		work.Go(func() { p.followTree(ctx, s) })
	}
	if p.caller.Admin {
		work.Go(func() { p.followNotices(ctx, s, &now) })
	}
	p.followLog(ctx, s, number(after), &now)
	return nil
}

// followNotices sends what happens to a task beside its log: to its workers and its webhooks.
func (p *page) followNotices(ctx context.Context, s *stream, now *adminjson.TaskLog) {
	owner := p.r.FormValue("owner")
	if owner == "" {
		owner = p.caller.Owner
	}
	path := "/api/v1/events?" + query("task", string(now.Task.TaskID), "owner", owner, "kind", "worker,webhook")
	_ = p.follow(ctx, path, func(e sse.Event) bool { // an error ends the notices; the page stays
		var n struct {
			Type string
			Time time.Time
			Data map[string]any
		}
		if json.Unmarshal(e.Data, &n) != nil || n.Type == "" {
			return true
		}
		m := mark{Tone: "calm", Text: strings.ReplaceAll(n.Type, ".", " "), At: &n.Time}
		for _, name := range slices.Sorted(maps.Keys(n.Data)) {
			m.Text += fmt.Sprintf(" · %s %v", name, n.Data[name])
		}
		b, err := p.piece("notice", m)
		return err == nil && s.send("notice", 0, b) == nil
	})
}

// followLog sends entries until the task ends.
func (p *page) followLog(ctx context.Context, s *stream, after int64, now *adminjson.TaskLog) {
	r := &reader{task: p.r.FormValue("id"), owner: p.r.FormValue("owner"), agent: now.Task.Agent, attempt: now.Attempt}
	if at := p.r.FormValue("at"); at != "" {
		r.before = time.UnixMilli(number(at))
	}
	if now.Worker != "" {
		r.agent = now.Worker
	}
	var broken error
	err := p.follow(ctx, p.logPath("/events", "after", after), func(e sse.Event) bool {
		var l adminjson.LogEntry
		if broken = json.Unmarshal(e.Data, &l); broken != nil {
			return false
		}
		if l.Version == 0 { // the log is complete
			_ = s.send("end", 0, []byte("end")) // the last event
			return false
		}
		broken = p.sendEntry(ctx, s, r, &l)
		return broken == nil
	})
	if err = errors.Join(err, broken); err != nil && ctx.Err() == nil && p.hub.Logger != nil {
		p.hub.Logger.Debug("a stream of the console has ended", "error", err)
	}
}

// sendEntry sends one entry, and the summary if the entry has changed it.
func (p *page) sendEntry(_ context.Context, s *stream, r *reader, l *adminjson.LogEntry) error {
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
	refresh := func() bool {
		b, err := p.piece("tree", p.tree())
		return err == nil && s.send("tree", 0, b) == nil
	}
	id := p.r.FormValue("id")
	p.paced(ctx, "/api/v1/tasks/"+segment(id)+"/tree/events", refresh)
}

// paced calls f after events of a stream, at most once in pace, and a last time after the last
// one.
func (p *page) paced(ctx context.Context, path string, f func() bool) {
	wake := make(chan struct{}, 1)
	var follow sync.WaitGroup
	defer follow.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	follow.Go(func() {
		defer close(wake)
		_ = p.follow(ctx, path, func(sse.Event) bool { // an error ends the news; the page stays
			select {
			case wake <- struct{}{}:
			default:
			}
			return true
		})
	})
	for range wake {
		select {
		case <-time.After(pace):
		case <-ctx.Done():
			return
		}
		if !f() {
			return
		}
	}
}

// countEvents streams the counts of tasks while they change. Only administrators may follow all
// tasks.
func countEvents(p *page) error {
	if !p.caller.Admin {
		return &refusal{http.StatusForbidden, "Counts are followed by administrators only."}
	}
	s, ctx, cancel := p.open()
	var work sync.WaitGroup
	defer work.Wait()
	defer cancel()
	work.Go(func() { p.beat(ctx, s, cancel) })
	p.paced(ctx, "/api/v1/events?kind=task.created,task.status", func() bool {
		counts, err := p.counts()
		if err != nil {
			return false
		}
		b, err := p.piece("counts", counts)
		return err == nil && s.send("counts", 0, b) == nil
	})
	return nil
}
