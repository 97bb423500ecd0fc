// Package reply asks over a broker and gets answers, with the broker's own client and as
// little else as that takes: requests and replies are persistent and confirmed, and
// acknowledged one by one after the answer is safe. It is what an agent at a queue is
// measured against.
//
// [Serve] answers each request with its own text. [Dial] returns a [Line], which may be
// asked by many goroutines at once; each question has a number by which its answer is found.
package reply

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync"
)

// The queues: that of the requests, and that of the replies of one asker.
const (
	requests = "bench_requests"
	replies  = "bench_replies"
)

// broker is a connection to one.
type broker interface {
	// publish returns when the broker has confirmed.
	publish(ctx context.Context, queue, id string, body []byte) error
	// consume calls take for each message at a queue until ctx ends, side by side. A
	// message is acknowledged when take has returned nil.
	consume(ctx context.Context, queue string, take func(ctx context.Context, id string, body []byte) error) error
	close() error
}

func dial(ctx context.Context, address string) (broker, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	switch u.Scheme {
	case "nats":
		return dialNATS(ctx, address)
	case "amqp":
		return dialAMQP(ctx, address)
	}
	return nil, fmt.Errorf("no broker is known for %q", u.Scheme)
}

// Serve answers what comes until ctx ends.
func Serve(ctx context.Context, address string) (err error) {
	b, err := dial(ctx, address)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	return b.consume(ctx, requests, func(ctx context.Context, id string, body []byte) error {
		return b.publish(ctx, replies, id, body)
	})
}

// Line asks.
type Line struct {
	broker broker
	stop   context.CancelFunc
	done   chan error

	mu      sync.Mutex // guards waiting
	waiting map[string]chan []byte
}

// Dial connects to a broker. There may be one Line at a time.
func Dial(ctx context.Context, address string) (*Line, error) {
	b, err := dial(ctx, address)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	l := &Line{broker: b, stop: stop, done: make(chan error, 1), waiting: map[string]chan []byte{}}
	go func() { l.done <- b.consume(ctx, replies, l.take) }() // Close waits for it
	return l, nil
}

// take passes an answer on. One that nobody waits for is from before.
func (l *Line) take(_ context.Context, id string, body []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if answer := l.waiting[id]; answer != nil {
		answer <- body // has room
		delete(l.waiting, id)
	}
	return nil
}

// Ask sends body and returns the answer. id must be new.
func (l *Line) Ask(ctx context.Context, id string, body []byte) ([]byte, error) {
	answer := make(chan []byte, 1)
	l.mu.Lock()
	l.waiting[id] = answer
	l.mu.Unlock()
	if err := l.broker.publish(ctx, requests, id, body); err != nil {
		return nil, err
	}
	select {
	case b := <-answer:
		return b, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Close ends the line.
func (l *Line) Close() error {
	l.stop()
	return errors.Join(<-l.done, l.broker.close())
}
