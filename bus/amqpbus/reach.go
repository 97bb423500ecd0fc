package amqpbus

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/parley-a2a/parley/bus"
	"github.com/parley-a2a/parley/internal/backoff"
)

// reach logs whether the broker can be reached: once for all connections, and not for each
// failure. The zero reach was never connected.
type reach struct {
	mu    sync.Mutex // guards the fields below
	up    bool
	tries int       // failed in a row, over all connections
	since time.Time // when the first of them failed, or the connection was lost
	told  time.Time // when the last failure was logged
	why   string    // its text
	began time.Time // when up became true
}

// Connection implements bus.Monitor.
func (b *Bus) Connection() bus.Connection {
	r := &b.reach
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.up {
		return bus.Connection{Up: true, Since: r.began}
	}
	return bus.Connection{Since: r.since, Reason: r.why}
}

// tellEvery is the time between two records of the same failure.
const tellEvery = 30 * time.Second

// failed records that an attempt has failed.
func (r *reach) failed(log *slog.Logger, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.downLocked()
	r.tries++
	why := "RabbitMQ is not reachable"
	if forGood(err) {
		why = "RabbitMQ has refused the connection: " + refusal(err)
	}
	if why == r.why && time.Since(r.told) < tellEvery {
		return
	}
	r.why, r.told = why, time.Now()
	log.Warn(why, "tries", r.tries, "for", r.lastedLocked(), "error", err)
}

// lost records that a connection has ended.
func (r *reach) lost(log *slog.Logger) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.up {
		log.Warn("connection to RabbitMQ is lost")
	}
	r.downLocked()
}

// reached records that a connection was established.
func (r *reach) reached(log *slog.Logger) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.up:
		return
	case r.since.IsZero():
		log.Info("connected to RabbitMQ")
	default:
		log.Info("connected to RabbitMQ", "tries", r.tries+1, "after", r.lastedLocked())
	}
	r.up, r.tries, r.since, r.why, r.began = true, 0, time.Time{}, "", time.Now()
}

func (r *reach) downLocked() {
	if r.up = false; r.since.IsZero() {
		r.since = time.Now()
	}
}

func (r *reach) lastedLocked() time.Duration { return time.Since(r.since).Round(time.Millisecond) }

// forGood reports whether the broker has refused the client and will do so until an operator
// changes its settings: wrong credentials, a missing virtual host or a missing permission.
func forGood(err error) bool {
	var e *amqp.Error
	return errors.As(err, &e) && (e.Code == amqp.AccessRefused || e.Code == amqp.NotAllowed)
}

// refusal returns the reason of a refusal, for operators.
func refusal(err error) string {
	var e *amqp.Error
	if errors.As(err, &e) && e.Code == amqp.NotAllowed {
		return e.Reason
	}
	return "wrong user or password"
}

// The pauses between two attempts, at first and at most. Those after a failure are well below
// DefaultTimeout, so that a pending Publish succeeds when the broker returns. A broker that
// refuses is asked less often, because it logs each attempt.
const (
	backoffFirst = 100 * time.Millisecond
	backoffMost  = 2 * time.Second
	refusedFirst = time.Second
	refusedMost  = 30 * time.Second
)

// pause waits before the next attempt, longer each time and with jitter.
func pause(ctx context.Context, tries int, err error) {
	first, most := backoffFirst, backoffMost
	if forGood(err) {
		first, most = refusedFirst, refusedMost
	}
	d := min(first<<min(tries, 10), most)
	_ = backoff.Sleep(ctx, jitter(d)) // the caller checks ctx
}
