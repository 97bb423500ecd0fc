// Package rabbittest runs a RabbitMQ of its own for tests.
//
// # What it is
//
// A [Server] is a broker on loopback with its own folder, ports, node name, Erlang cookie
// and port mapper (epmd), so that it neither meets nor disturbs a broker of the machine. It
// can be stopped, killed, frozen and started again on the same folder, and made to believe
// that its disk is full. [Server.VHost] gives each test a part of it that nobody else sees.
//
// A package whose tests share one broker ends it in TestMain:
//
//	func TestMain(m *testing.M) { goleak.VerifyTestMain(m, goleak.Cleanup(rabbittest.Exit)) }
//
// # Guarantees
//
// [Start] and [Shared] return when the broker is ready, which its own tool says. What was
// started ends with the test, or with Exit, by its process id; on Linux also when the test
// is killed.
//
// # What it does not promise
//
// Nothing runs where Debian's package rabbitmq-server, or one like it, is missing: tests
// are skipped there, or fail where internal/testing/testenv says so.
//
// # Concurrency
//
// A Server may be used by several goroutines, except for what ends or begins its process:
// Stop, Kill, Launch.
//
// # Testing
//
// Its own test starts, kills and fills a broker.
package rabbittest
