// Package rabbittest runs a private RabbitMQ broker for tests.
//
// # Overview
//
// A [Server] is a broker on loopback with its own folder, ports, node name, Erlang cookie and
// port mapper (epmd), so that it does not interfere with a broker of the machine. It can be
// stopped, killed, frozen and started again on the same folder, and made to treat its disk as
// full. [Server.VHost] gives each test a virtual host of its own.
//
// A package whose tests share one broker ends it in TestMain:
//
//	func TestMain(m *testing.M) { goleak.VerifyTestMain(m, goleak.Cleanup(rabbittest.Exit)) }
//
// # Guarantees
//
// [Start] and [Shared] return when the broker is ready, as reported by rabbitmqctl. The
// processes end with the test, or with Exit, by their process ids; on Linux also when the test
// is killed.
//
// # Non-guarantees
//
// The package needs Debian's package rabbitmq-server or a similar one. Without it tests are
// skipped, or fail if internal/testing/testenv requires it.
//
// # Concurrency
//
// Several goroutines may use a Server, except for the methods that end or start its process:
// Stop, Kill and Launch.
package rabbittest
