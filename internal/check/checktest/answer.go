package checktest

import (
	"context"
	"strings"

	"github.com/parley-a2a/parley/internal/check/wire"
)

// operate performs an operation that does not stream, and applies the defect to the result.
func (s *Server) operate(op wire.Op, params Object) (any, *Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	result, f := s.agent.do(op, params)
	if d := s.options.Defect.Result; d != nil {
		return d(op, params, result, f)
	}
	return result, f
}

// follow performs a streaming operation. begin is called before the first event.
func (s *Server) follow(ctx context.Context, op wire.Op, params Object, begin func() Sink) *Fault {
	s.mu.Lock()
	events, live, end, f := s.events(op, params)
	if d := s.options.Defect.Result; d != nil {
		var result any
		if result, f = d(op, params, events, f); f == nil {
			events, _ = result.([]Object)
		}
	}
	s.mu.Unlock()
	if f != nil {
		return f
	}
	defer end()
	sink := begin()
	if d := s.options.Defect.Events; d != nil {
		sink = d(ctx, op, sink)
	}
	for _, e := range events {
		if !sink(e) {
			return nil
		}
	}
	for {
		select {
		case e, open := <-live:
			if !open || !sink(e) {
				return nil
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// events returns the immediate events of a stream, and a channel of the later ones.
func (s *Server) events(op wire.Op, params Object) (now []Object, later chan Object, end func(), f *Fault) {
	a, end := &s.agent, func() {}
	closed := make(chan Object)
	close(closed)
	if !s.options.Streaming {
		return nil, nil, end, &Fault{wire.Unsupported, "no streaming here"}
	}
	if op == wire.SubscribeTask {
		return s.subscribe(str(params, "id"))
	}
	m, first, f := a.valid(params)
	if f != nil {
		return nil, nil, end, f
	}
	if strings.HasPrefix(first, "tck-message-response") {
		return []Object{{"message": a.reply(m)}}, closed, end, nil
	}
	t, f := a.begin(m)
	if f != nil {
		return nil, nil, end, f
	}
	now = append(now, Object{"task": a.shown(t, nil, true)})
	a.act(t, first, func(e Object) { now = append(now, e) })
	return now, closed, end, nil
}

func (s *Server) subscribe(id string) (now []Object, later chan Object, end func(), f *Fault) {
	t := s.agent.tasks[id]
	switch {
	case t == nil:
		return nil, nil, func() {}, &Fault{wire.TaskNotFound, "task not found"}
	case t.over():
		return nil, nil, func() {}, &Fault{wire.Unsupported, "the task is over"}
	}
	later = make(chan Object, 16)
	t.subs[later] = true
	end = func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(t.subs, later)
	}
	return []Object{{"task": s.agent.shown(t, nil, true)}}, later, end, nil
}
