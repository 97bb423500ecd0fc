package cluster

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/parley-a2a/parley/internal/bus/natsbus"
	"github.com/parley-a2a/parley/internal/testing/hubtest"
	"github.com/parley-a2a/parley/internal/testing/linktest"
	"github.com/parley-a2a/parley/internal/testing/natstest"
	"github.com/parley-a2a/parley/internal/testing/pgtest"
	"github.com/parley-a2a/parley/internal/testing/rabbittest"
)

// hubs is the number of hubs of a campaign.
const hubs = 3

// role is the user of the hubs in the database. Unlike the superuser, it has a connection limit.
const role = "hub"

// node is a hub with its connections.
type node struct {
	*hubtest.Hub

	id  string
	dbs []*linktest.Link // to each database
	bus *linktest.Link   // nil without a broker, and for the hub that has it inside
	// up is closed once a start has succeeded or failed.
	up chan struct{}
	// ends is odd while the hub ends in an orderly way and has not started again.
	ends atomic.Int64
}

// end ends the hub in an orderly way.
func (n *node) end() error {
	n.ends.Add(1)
	return n.Process().Interrupt()
}

// begin starts the hub.
func (n *node) begin() error {
	n.ends.Store((n.ends.Load() + 1) &^ 1)
	return n.Start()
}

// broker describes a broker to the hubs and workers.
type broker struct {
	name string
	// addr is the address to which links forward, through the URL for processes behind one.
	addr    string
	through func(proxy string) string
	// inside is set if the first hub has the broker.
	inside bool
	// pooled puts a pooler in transaction mode in front of the database.
	pooled bool
	// databases is the number of databases of the log if it has several; 0 is one. Each client is an owner then.
	databases int
	// hub is the path of the command of the hubs; empty means that of the tree.
	hub string
	// kill ends the broker, start starts it again on its folder; both are nil if it is inside.
	kill, start func()
}

func onNothing(*testing.T) *broker { return &broker{name: "none"} }

func onPooler(*testing.T) *broker { return &broker{name: "none, with a pooler", pooled: true} }

// onDatabases has a log over n databases.
func onDatabases(n int) func(*testing.T) *broker {
	return func(*testing.T) *broker { return &broker{name: "none, with several databases", databases: n} }
}

func onEmbedded(t *testing.T) *broker {
	return &broker{name: "embedded NATS", addr: hubtest.Addr(t), inside: true}
}

func onNATS(t *testing.T) *broker {
	s := natstest.Start(t, natstest.Debian(t))
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	return &broker{
		name: "NATS", addr: u.Host, through: func(proxy string) string { return "nats://" + proxy },
		kill: func() { s.Stop(t) }, start: func() { s.Start(t) },
	}
}

// onCluster has a cluster of three servers. Each kill ends another one, and each hub begins at the first one.
func onCluster(t *testing.T) *broker {
	all := natstest.StartCluster(t, natstest.Current(t), 3)
	u, err := url.Parse(all.Servers[0].URL)
	if err != nil {
		t.Fatal(err)
	}
	_, others, _ := strings.Cut(all.URL, ",")
	killed := 0
	return &broker{
		name: "cluster of NATS", addr: u.Host, through: func(proxy string) string { return "nats://" + proxy + "," + others },
		kill:  func() { killed++; all.Servers[killed%3].Stop(t) },
		start: func() { all.Servers[killed%3].Start(t) },
	}
}

func onRabbit(t *testing.T) *broker {
	s := rabbittest.Start(t)
	return &broker{
		name: "RabbitMQ", addr: "127.0.0.1:" + strconv.Itoa(s.Port()),
		through: func(proxy string) string { return fmt.Sprintf("amqp://guest:guest@%s/%%2F", proxy) },
	}
}

// database is one of those of the log, on a server of its own.
type database struct {
	server *pgtest.Server
	store  *url.URL // for the superuser
	used   *url.URL // where hubs connect: store, or the pooler in front of it
}

// startDatabase starts a server with a database that the hubs may use.
func startDatabase(t *testing.T) *database {
	t.Helper()
	s := pgtest.Start(t)
	u, err := url.Parse(s.Database(t))
	if err != nil {
		t.Fatal(err)
	}
	db := &database{s, u, u}
	s.Exec(t, "postgres", "CREATE ROLE "+role+" LOGIN; GRANT CREATE ON DATABASE "+db.name()+" TO "+role)
	return db
}

// name returns the name of the database at its server.
func (db *database) name() string { return strings.TrimPrefix(db.store.Path, "/") }

// system is three hubs on one or several databases, and workers at a broker.
type system struct {
	t       *testing.T
	all     []*database // the first one is the home
	broker  *broker
	pooler  *pgtest.Pooler // nil without one
	record  string         // the file of the effects of programs
	nodes   []*node
	workers []*worker
}

// worker is a process with a worker of an agent.
type worker struct {
	*hubtest.Process

	name string
}

func startSystem(t *testing.T, b *broker) *system {
	t.Helper()
	s := &system{t: t, broker: b, record: filepath.Join(t.TempDir(), "record")}
	if err := os.WriteFile(s.record, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for range max(b.databases, 1) {
		s.all = append(s.all, startDatabase(t))
	}
	if home := s.all[0]; b.pooled {
		s.pooler = home.server.PoolerFor(t, "transaction", role)
		var err error
		if home.used, err = url.Parse(s.pooler.Through(home.store.String())); err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range []string{"a", "b", "c"}[:hubs] {
		s.join(id)
	}
	if b.addr != "" {
		for _, name := range []string{"queued", "careful"} {
			s.startWorker(name)
			s.startWorker(name)
		}
	}
	return s
}

// owners is the number of owners of tasks.
func (s *system) owners() int {
	if s.broker.databases == 0 {
		return 1
	}
	return clients
}

// ownerOf returns the name of an owner.
func ownerOf(i int) string { return fmt.Sprintf("owner%d", i) }

// as returns the header of a request of an owner.
func (s *system) as(owner int) []string {
	if s.broker.databases == 0 {
		return nil
	}
	return []string{"X-Api-Key", ownerKey(owner)}
}

// join starts another hub.
func (s *system) join(id string) *node {
	s.t.Helper()
	n := &node{id: id, up: make(chan struct{})}
	close(n.up)
	var stores []string
	for _, db := range s.all {
		link := linktest.New(s.t, db.used.Host)
		own := *db.used
		own.User, own.Host = url.User(role), link.Addr()
		n.dbs, stores = append(n.dbs, link), append(stores, strconv.Quote(own.String()))
	}
	store := stores[0]
	if s.broker.databases > 0 {
		store = fmt.Sprintf("{home: %s, databases: [%s]}", store, strings.Join(stores, ", "))
	}
	n.Hub = hubtest.New(s.t, hubtest.Options{Config: s.config(id, store), Flags: s.flags(n), Binary: s.broker.hub})
	if err := n.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.nodes = append(s.nodes, n)
	s.t.Cleanup(func() {
		if dir := os.Getenv("PARLEY_CLUSTER_LOGS"); dir != "" && s.t.Failed() {
			_ = os.WriteFile(filepath.Join(dir, strings.ReplaceAll(s.t.Name(), "/", "-")+"-"+id), []byte(n.Output()), 0o600)
		}
	})
	return n
}

// program is a shell program that notes its execution, and writes the number of chunks that the
// message names.
const program = `read -r n; RUN=$PARLEY_ATTEMPT-$(date +%N); echo "$NAME $PARLEY_TASK_ID $PARLEY_RUN_KEY" >> "$RECORD"; ` +
	`i=0; while [ $i -lt $n ]; do printf '%s:%s ' $RUN $i; i=$((i+1)); sleep 0.1; done`

// config is the configuration of a hub.
func (s *system) config(id, store string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "log: {level: info}\nstore: %s\nhub_id: %s\nmaster_key: %q\nidempotency: {header: true}\n", store, id, key)
	if s.broker.databases > 0 {
		b.WriteString("auth:\n  api_keys:\n")
		for i := range s.owners() {
			fmt.Fprintf(&b, "    %s: {agent_id: %s}\n", ownerKey(i), ownerOf(i))
		}
	}
	b.WriteString("push: {allow: [loopback]}\nengine: {drain_timeout: 1s}\nbus: {lease: 3s}\nagents:\n")
	for _, name := range []string{"once", "again"} {
		fmt.Fprintf(&b, "  - {name: %s, idempotent: %v, command: [/bin/sh, -c, %q], env: {NAME: %s, RECORD: %q}}\n",
			name, name == "again", program, name, s.record)
	}
	if s.broker.addr != "" {
		b.WriteString("  - {name: queued, queue: queued}\n  - {name: careful, queue: careful}\n  - {name: later, queue: later}\n")
	}
	return b.String()
}

// flags are the flags of a hub for its broker.
func (s *system) flags(n *node) []string {
	switch {
	case s.broker.addr == "":
		return []string{"--bus", "off"}
	case s.broker.inside && n.id == "a":
		return []string{"--bus-listen", s.broker.addr}
	}
	n.bus = linktest.New(s.t, s.broker.addr)
	return []string{"--bus", s.busURL(n.bus.Addr())}
}

// busURL returns the address of the broker behind a proxy.
func (s *system) busURL(proxy string) string {
	if !s.broker.inside {
		return s.broker.through(proxy)
	}
	c, err := natsbus.ReadContact(filepath.Join(s.nodes[0].Data(), natsbus.ContactFile))
	if err != nil {
		s.t.Fatal(err)
	}
	return "nats://" + c.Token + "@" + proxy
}

func (s *system) startWorker(name string) {
	s.t.Helper()
	args := []string{"agent", "run", "--name", name, "--concurrency", "8", "--drain", "1s", "--bus", s.busURL(s.broker.addr)}
	if name == "queued" {
		args = append(args, "--idempotent")
	}
	dir := s.t.TempDir()
	p := hubtest.Launch(s.t, hubtest.Command{
		Args: append(args, "--", "/bin/sh", "-c", program), Dir: dir, Env: []string{"NAME=" + name, "RECORD=" + s.record, "TMPDIR=" + dir},
	})
	ctx, cancel := context.WithTimeout(s.t.Context(), 2*time.Minute)
	defer cancel()
	if err := p.Await(ctx, "performing the tasks of an agent"); err != nil {
		s.t.Fatal(err)
	}
	s.workers = append(s.workers, &worker{p, name})
}

// signal sends a signal to a hub, which may have ended.
func (n *node) signal(sig syscall.Signal) {
	if p := n.Process(); p != nil {
		select {
		case <-p.Done():
		default:
			_ = syscall.Kill(p.PID(), sig)
		}
	}
}
