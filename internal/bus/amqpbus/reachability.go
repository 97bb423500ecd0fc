package amqpbus

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/parley-a2a/parley/internal/backoff"
	"github.com/parley-a2a/parley/internal/bus"
)

// reachability logs whether the broker can be reached: once for all connections, and not for each
// failure. The zero reach was never connected.
type reachability struct {
	mu        sync.Mutex // guards the fields below
	up        bool
	tries     int       // failed in a row, over all connections
	downSince time.Time // when the first of them failed, or the connection was lost
	logged    time.Time // when the last failure was logged
	reason    string    // its text
	upSince   time.Time // when up became true
}

// Connection implements bus.Monitor.
func (b *Bus) Connection() bus.Connection {
	r := &b.reachability
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.up {
		return bus.Connection{Up: true, Since: r.upSince}
	}
	return bus.Connection{Since: r.downSince, Reason: r.reason}
}

// logInterval is the time between two records of the same failure.
const logInterval = 30 * time.Second

// failed records that an attempt has failed.
func (r *reachability) failed(log *slog.Logger, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.downLocked()
	r.tries++
	why := "RabbitMQ is not reachable"
	if permanent(err) {
		why = "RabbitMQ refused the connection: " + refusalReason(err)
	}
	if why == r.reason && time.Since(r.logged) < logInterval {
		return
	}
	r.reason, r.logged = why, time.Now()
	log.Warn(why, "tries", r.tries, "for", r.lastedLocked(), "error", err)
}

// lost records that a connection has ended.
func (r *reachability) lost(log *slog.Logger) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.up {
		log.Warn("connection to RabbitMQ is lost")
	}
	r.downLocked()
}

// reached records that a connection was established.
func (r *reachability) reached(log *slog.Logger) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.up:
		return
	case r.downSince.IsZero():
		log.Info("connected to RabbitMQ")
	default:
		log.Info("connected to RabbitMQ", "tries", r.tries+1, "after", r.lastedLocked())
	}
	r.up, r.tries, r.downSince, r.reason, r.upSince = true, 0, time.Time{}, "", time.Now()
}

func (r *reachability) downLocked() {
	if r.up = false; r.downSince.IsZero() {
		r.downSince = time.Now()
	}
}

func (r *reachability) lastedLocked() time.Duration {
	return time.Since(r.downSince).Round(time.Millisecond)
}

// permanent reports whether the broker has refused the client and will do so until an operator
// changes its settings: wrong credentials, a missing virtual host or a missing permission.
func permanent(err error) bool {
	var e *amqp.Error
	return errors.As(err, &e) && (e.Code == amqp.AccessRefused || e.Code == amqp.NotAllowed)
}

// refusalReason returns the reason of a refusal, for operators.
func refusalReason(err error) string {
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
	if permanent(err) {
		first, most = refusedFirst, refusedMost
	}
	d := min(first<<min(tries, 10), most)
	_ = backoff.Sleep(ctx, jitter(d)) // the caller checks ctx
}
