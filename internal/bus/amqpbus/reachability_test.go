package amqpbus

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	amqp "github.com/rabbitmq/amqp091-go"
)

// Each change is logged once, whatever the number of connections, and a lasting failure now and
// then.
func TestReachabilityIsLogged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var text strings.Builder
		log := slog.New(slog.NewTextHandler(&text, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		}}))
		var r reachability
		away, vhost := errors.New("connection refused"), &amqp.Error{Code: amqp.NotAllowed, Reason: "NOT_ALLOWED - vhost x not found"}
		r.reached(log)
		r.reached(log) // the other connection
		r.lost(log)
		r.lost(log)
		r.reached(log)
		time.Sleep(time.Second)
		synctest.Wait()
		r.lost(log)
		for range 32 {
			time.Sleep(time.Second)
			synctest.Wait()
			r.failed(log, away)
		}
		r.failed(log, fmt.Errorf("login: %w", amqp.ErrCredentials))
		r.failed(log, amqp.ErrCredentials)
		r.failed(log, vhost)
		r.reached(log)
		r.failed(log, away) // of the connection that is still missing
		r.reached(log)
		want := []string{
			`level=INFO msg="connected to RabbitMQ"`,
			`level=WARN msg="connection to RabbitMQ is lost"`,
			`level=INFO msg="connected to RabbitMQ" tries=1 after=0s`,
			`level=WARN msg="connection to RabbitMQ is lost"`,
			`level=WARN msg="RabbitMQ is not reachable" tries=1 for=1s error="connection refused"`,
			`level=WARN msg="RabbitMQ is not reachable" tries=31 for=31s error="connection refused"`,
			`level=WARN msg="RabbitMQ refused the connection: wrong user or password" tries=33 for=32s error="login: Exception (403) Reason: \"username or password not allowed\""`,
			`level=WARN msg="RabbitMQ refused the connection: NOT_ALLOWED - vhost x not found" tries=35 for=32s error="Exception (530) Reason: \"NOT_ALLOWED - vhost x not found\""`,
			`level=INFO msg="connected to RabbitMQ" tries=36 after=32s`,
			`level=WARN msg="RabbitMQ is not reachable" tries=1 for=0s error="connection refused"`,
			`level=INFO msg="connected to RabbitMQ" tries=2 after=0s`,
			``,
		}
		if diff := cmp.Diff(want, strings.Split(text.String(), "\n")); diff != "" {
			t.Errorf("log mismatch (-want +got):\n%s", diff)
		}
	})
}
