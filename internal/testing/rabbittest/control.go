package rabbittest

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/parley-a2a/parley/internal/testing/testenv"
)

// user and password are the default credentials of a new broker.
const user, password = "guest", "guest"

// URL returns the address of a virtual host.
func (s *Server) URL(vhost string) string {
	scheme := "amqp"
	if s.tls != "" {
		scheme = "amqps"
	}
	return fmt.Sprintf("%s://%s:%s@127.0.0.1:%d/%s", scheme, user, password, s.port, url.PathEscape(vhost))
}

// Port returns the AMQP port of the broker.
func (s *Server) Port() int { return s.port }

// vhosts counts the virtual hosts of all servers.
var vhosts atomic.Int64

// VHost creates a virtual host and returns its address. The host is never deleted: after a
// deletion, RabbitMQ 3.10 may stop delivering messages in all other hosts.
func (s *Server) VHost(tb testing.TB) string {
	tb.Helper()
	name := fmt.Sprintf("v%d", vhosts.Add(1))
	if err := s.call(http.MethodPut, "/api/vhosts/"+name, ""); err != nil {
		tb.Fatal(err)
	}
	grant := `{"configure":".*","write":".*","read":".*"}`
	if err := s.call(http.MethodPut, "/api/permissions/"+name+"/"+user, grant); err != nil {
		tb.Fatal(err)
	}
	return s.URL(name)
}

// Channel returns a channel of a new connection to the virtual host at address. Both end with the test.
func Channel(tb testing.TB, address string) *amqp.Channel {
	tb.Helper()
	conn, err := amqp.Dial(address)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { conn.Close() })
	ch, err := conn.Channel()
	if err != nil {
		tb.Fatal(err)
	}
	return ch
}

// User creates a user for the virtual host at address and returns the address with the user's
// credentials. The user has only the given permissions, JSON with the members configure, write
// and read.
func (s *Server) User(tb testing.TB, address, permissions string) string {
	tb.Helper()
	u, err := url.Parse(address)
	if err != nil {
		tb.Fatal(err)
	}
	name := fmt.Sprintf("u%d", vhosts.Add(1))
	u.User = url.UserPassword(name, "secret")
	err = s.call(http.MethodPut, "/api/users/"+name, `{"password":"secret","tags":""}`)
	if err == nil {
		err = s.call(http.MethodPut, "/api/permissions"+u.Path+"/"+name, permissions)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return u.String()
}

// call sends a request to the management plugin.
func (s *Server) call(method, path, body string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, fmt.Sprintf("http://127.0.0.1:%d%s", s.api, path), strings.NewReader(body))
	if err != nil {
		return err
	}
	req.SetBasicAuth(user, password)
	req.Close = true // a kept connection would fail tests for leaks
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	if res.StatusCode/100 != 2 {
		return fmt.Errorf("%s %s: %s: %s", method, path, res.Status, text)
	}
	return nil
}

// Sync makes the broker write the list of its quorum queues to disk. RabbitMQ 3.10 does so only
// some seconds after a declaration; a broker that is killed before loses the queue, although it
// confirmed messages for it.
func (s *Server) Sync(tb testing.TB) {
	tb.Helper()
	s.must(tb, "eval", "[dets:sync(T) || T <- [ra_directory_reverse, ra_log_meta]].")
}

// Kill ends the broker at once, as a power failure does.
func (s *Server) Kill() { end(&s.broker, syscall.SIGKILL) }

// Stop shuts the broker down in an orderly way.
func (s *Server) Stop() { end(&s.broker, syscall.SIGTERM) }

// Launch starts a stopped or killed broker again, on the same folder and port.
func (s *Server) Launch(tb testing.TB) {
	tb.Helper()
	if err := s.launch(); err != nil {
		tb.Fatalf("start RabbitMQ again: %v\n%s", err, s.logTail())
	}
}

// Freeze suspends the broker until the returned function is called. Connections stay open.
func (s *Server) Freeze(tb testing.TB) (thaw func()) {
	tb.Helper()
	return testenv.Suspend(tb, s.broker.Process.Pid)
}

// Fill makes the broker treat its disk as full until the returned function is called. Meanwhile
// it accepts nothing from publishers.
func (s *Server) Fill(tb testing.TB) (empty func()) {
	tb.Helper()
	s.must(tb, "set_disk_free_limit", "4000GB")
	return func() { s.must(tb, "set_disk_free_limit", "1MB") }
}

// Cut closes all connections of clients.
func (s *Server) Cut(tb testing.TB) {
	tb.Helper()
	s.must(tb, "close_all_connections", "cut by a test")
}

// Ctl runs rabbitmqctl with args.
func (s *Server) Ctl(tb testing.TB, args ...string) {
	tb.Helper()
	s.must(tb, args...)
}

func (s *Server) must(tb testing.TB, args ...string) string {
	tb.Helper()
	began := time.Now()
	out, err := s.ctl(args...)
	if err != nil {
		tb.Fatalf("after %v: %v", time.Since(began), err)
	}
	return out
}

// Messages returns the number of messages of each quorum queue that is not empty, by name: those
// that wait for a receiver, and those that a receiver has not settled. AMQP does not report the
// latter, and the other tools of the broker report them some seconds late.
func (s *Server) Messages(tb testing.TB) map[string]int {
	tb.Helper()
	out := s.must(tb, "eval", `
		Count = fun(Q, F) -> {ok, {_, N}, _} = ra:leader_query(amqqueue:get_pid(Q), F), N end,
		iolist_to_binary([begin
			{resource, _, queue, Name} = amqqueue:get_name(Q),
			N = Count(Q, fun rabbit_fifo:query_messages_ready/1) + Count(Q, fun rabbit_fifo:query_messages_checked_out/1),
			[Name, "=", integer_to_list(N), ","]
		end || Q <- rabbit_amqqueue:list(), amqqueue:get_type(Q) =:= rabbit_quorum_queue]).`)
	out = strings.Join(strings.Fields(strings.NewReplacer("<<", "", ">>", "", `"`, "").Replace(out)), "")
	messages := map[string]int{}
	for one := range strings.SplitSeq(strings.TrimSuffix(out, ","), ",") {
		name, number, _ := strings.Cut(one, "=")
		n, err := strconv.Atoi(number)
		if err != nil && out != "" {
			tb.Fatalf("the broker counts its messages as %q", out)
		}
		if n > 0 {
			messages[name] = n
		}
	}
	return messages
}
