// Package reply sends requests over a broker and receives answers, with the broker's own client
// and minimal code. Requests and replies are persistent and confirmed, and are acknowledged one
// by one after the answer is safe. It is the baseline for an agent at a queue.
//
// [Serve] answers each request with its own text. [Dial] returns a [Line] for concurrent
// requests; each request has a number by which its answer is found.
package reply

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync"
)

// requests is the queue of the requests, replies the queue of the replies to one Line.
const (
	requests = "bench_requests"
	replies  = "bench_replies"
)

// broker is a connection to a broker.
type broker interface {
	// publish returns when the broker has confirmed.
	publish(ctx context.Context, queue, id string, body []byte) error
	// consume calls take concurrently for the messages of a queue until ctx ends. It
	// acknowledges a message when take has returned nil.
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

// Serve answers requests until ctx ends.
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

// Line sends requests.
type Line struct {
	broker broker
	stop   context.CancelFunc
	done   chan error

	mu      sync.Mutex // guards waiting
	waiting map[string]chan []byte
}

// Dial connects to a broker. Only one Line may exist at a time.
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

// take passes an answer to its caller. An answer without a caller belongs to an earlier Line.
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

// Close closes the connection.
func (l *Line) Close() error {
	l.stop()
	return errors.Join(<-l.done, l.broker.close())
}
