package workers

import (
	"context"
	"crypto/x509"
	"net"
	"testing"
	"time"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
	"github.com/parley-a2a/parley/internal/testing/natstest"
	"github.com/parley-a2a/parley/internal/testing/rabbittest"
	"github.com/parley-a2a/parley/internal/testing/tlstest"
)

// TestTLS: a hub and the workers of each language reach brokers that require TLS. A worker that does
// not trust the authority of the broker, or that reaches it under a name that the certificate does
// not have, does not connect.
func TestTLS(t *testing.T) {
	t.Parallel()
	authority, dir := tlstest.NewAuthority(t, "Authority of the brokers"), t.TempDir()
	ca, _ := authority.Write(t, dir, "ca")
	cert, key := authority.Issue(t, x509.Certificate{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}).Write(t, dir, "broker")
	for name, start := range map[string]func(t *testing.T) string{
		"NATS":     func(t *testing.T) string { return natstest.StartTLS(t, natstest.Debian(t), cert, key).URL },
		"RabbitMQ": func(t *testing.T) string { return rabbittest.StartTLS(t, cert, key).URL("/") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := start(t)
			hub := hubtest.Start(t, hubtest.Options{
				Config: "agents:\n  - {name: poet, queue: poet}\n", Flags: []string{"--bus", url}, Env: []string{"SSL_CERT_FILE=" + ca},
			})
			for language, command := range besides(t) {
				t.Run(language, func(t *testing.T) {
					b := &bench{t, &broker{url: url}, hub, language, command}
					stranger := b.foreign()
					ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
					defer cancel()
					if err := stranger.Await(ctx, "certificate"); err != nil {
						t.Errorf("a worker that does not know the authority has not named the certificate: %v\n%s", err, stranger.Output())
					}
					stranger.Kill()
					b.command.Env = []string{"BROKER_CA=" + ca}
					worker := b.foreign()
					b.want("over TLS", language)
					if err := worker.Interrupt(); err != nil {
						t.Errorf("the worker did not end in order: %v", err)
					}
				})
			}
		})
	}
}

// besides are the commands of the agents beside others, from the sources of the packages.
func besides(t *testing.T) map[string]hubtest.Command {
	t.Helper()
	node(t)
	return map[string]hubtest.Command{
		"Python": {
			Path: "/usr/bin/env",
			Args: []string{"PYTHONPATH=" + sdk(t, "python", "src"), python(t), "-B", sdk(t, "python", "tests", "beside_agent.py")},
			Dir:  t.TempDir(),
		},
		"TypeScript": {Path: "node", Args: []string{sdk(t, "ts", "tests", "beside_agent.mjs")}, Dir: sdk(t, "ts")},
	}
}
