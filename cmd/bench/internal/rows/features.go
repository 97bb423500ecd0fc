package rows

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/cmd/bench/internal/child"
	"github.com/parley-a2a/parley/cmd/bench/internal/wire"
	"github.com/parley-a2a/parley/internal/task"
)

// spawnWith starts the command in an empty folder with a configuration.
func (b *Bench) spawnWith(ctx context.Context, path, config string) (*child.Process, func() error, error) {
	dir, err := b.temp()
	if err != nil {
		return nil, nil, err
	}
	p, err := b.spawnIn(ctx, path, dir, config)
	if err != nil {
		return nil, nil, errors.Join(err, os.RemoveAll(dir))
	}
	return p, func() error { return errors.Join(p.Stop(), os.RemoveAll(dir)) }, nil
}

// spawnIn starts the command in a folder with a configuration, and waits until it listens.
func (b *Bench) spawnIn(ctx context.Context, path, dir, config string) (*child.Process, error) {
	file := filepath.Join(dir, "bench.yaml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		return nil, err
	}
	return spawn(ctx, path, dir, "--config", file)
}

// feature is a part of the command that is on.
type feature struct {
	name, config string
	tls          bool
	// store is set for a database instead of a file.
	store bool
	// open is the number of open tasks in the file.
	open int
	// watch are paths of streams that are read during the load.
	watch []string
}

// plain is the case that the others are compared with.
const plain = "plain"

// quiet is the configuration without the audit log, which is on by default.
const quiet = "audit: {level: off}\n"

// hubFeatures returns the cases of the row features. dir has the files of a certificate.
func (b *Bench) hubFeatures(dir string) []feature {
	policy := "policy:\n  rules:\n    - {allow: [send, stream, get], who: anybody, agents: [\"echo\", \"echo-*\"]}\n    - {deny: cancel, who: anybody, agents: \"payroll*\"}\n"
	return []feature{
		{name: plain, config: quiet},
		{name: "audit on"},
		{name: "policy on", config: quiet + policy},
		{name: "TLS on", tls: true, config: quiet + fmt.Sprintf("tls: {cert: %q, key: %q}\n", filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"))},
		{name: "console open", config: quiet, open: 1, watch: consoles(1)},
		{name: "20 consoles open", config: quiet, open: 1, watch: consoles(20)},
		{name: "events followed", config: quiet, watch: []string{"/api/v1/events"}},
		{name: count(b.Open) + " open tasks", config: quiet, open: b.Open},
		{name: "PostgreSQL", config: quiet, store: true},
	}
}

// consoles returns the streams of n viewers of the console. Each has the overview open, and the page of a
// task that waits for its caller.
func consoles(n int) []string {
	return slices.Repeat([]string{"/console/counts/events?attention=1", "/console/task/events?id=" + string(taskID(0))}, n)
}

// features measures blocking sends to hubs that differ in one feature. All hubs run at the same
// time, and get the load in turns, so that a change of the machine affects all of them.
func features(ctx context.Context, b *Bench) (rs []Result, err error) {
	path, err := b.build(ctx)
	if err != nil {
		return nil, err
	}
	dir, err := b.temp()
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := writeCertificate(dir); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var hubs []*turn
	var of []feature
	for _, f := range b.hubFeatures(dir) {
		b.Log("features: start %s", f.name)
		h, err := b.startFeature(ctx, path, filepath.Join(dir, fmt.Sprint(len(hubs))), f)
		if errors.Is(err, ErrLeftOut) {
			rs = append(rs, Result{Row: "features", Case: f.name, Server: command, Left: err.Error()})
			continue
		}
		if err != nil {
			return rs, fmt.Errorf("%s: %w", f.name, err)
		}
		defer closing(&err, h.stop)
		hubs, of = append(hubs, h), append(of, f)
	}
	for i, h := range hubs { // at last, because a hub closes a connection that sends nothing at first
		if err := b.connect(ctx, h, h.loop.p.(*fleet).hubs[0], of[i]); err != nil {
			return rs, err
		}
	}
	if err := b.inTurns(ctx, "features", hubs); err != nil {
		return rs, err
	}
	for _, h := range hubs {
		r := summary(h.kind, h.unit, h.runs)
		r.Row, r.Case = "features", h.name
		if h != hubs[0] {
			r.compare(plain, h.runs, hubs[0].runs)
		}
		rs = append(rs, r)
	}
	return rs, err
}

func (b *Bench) startFeature(ctx context.Context, path, dir string, f feature) (*turn, error) {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	hub := new(fleet)
	if f.store {
		url, err := b.database(databaseName(filepath.Dir(dir)))
		if err != nil {
			return nil, err
		}
		f.config += fmt.Sprintf("store: %q\nmaster_key: %q\n", url, strings.Repeat("0a", 32))
		hub.database = b.databases.PID()
	}
	if f.open > 0 {
		if err := fillOpen(ctx, filepath.Join(dir, "parley.db"), f.open); err != nil {
			return nil, err
		}
	}
	p, err := b.spawnIn(ctx, path, dir, f.config)
	if err != nil {
		return nil, err
	}
	p.Addr = strings.TrimPrefix(p.Addr, "https://")
	hub.hubs = []*child.Process{p}
	t := &turn{name: f.name, kind: command, unit: "sends/s", units: 1, loop: &loop{p: hub}, stop: hub.stop}
	for _, watched := range f.watch {
		if err := watch(ctx, p.Addr, watched); err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", watched, err), hub.stop())
		}
	}
	return t, nil
}

// connect opens the connections of the sends to a hub.
func (b *Bench) connect(ctx context.Context, t *turn, hub *child.Process, f feature) error {
	dial := wire.Dial
	if f.tls {
		dial = wire.DialTLS
	}
	for range b.Conns {
		c, err := dial(ctx, hub.Addr)
		if err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
		t.loop.ops = append(t.loop.ops, newEchoer(c, b.Text).send)
	}
	return nil
}

// watch opens a stream, as an open page does, and reads it until ctx ends.
func watch(ctx context.Context, addr, path string) error {
	c, err := wire.Dial(ctx, addr)
	if err != nil {
		return err
	}
	s, err := c.Stream(wire.Get(path).With(0))
	if err != nil {
		return err
	}
	go func() { // ends with the connection, which ends with ctx
		for {
			if _, err := s.Next(); err != nil {
				return
			}
		}
	}()
	return nil
}

// fillOpen makes a file with n tasks that wait for their caller's input.
func fillOpen(ctx context.Context, path string, n int) (err error) {
	return fill(ctx, path, n, func(ctx context.Context, log task.Log, i int) error {
		at := task.MillisOf(time.Now().Add(-time.Hour))
		h := task.Head{ID: taskID(i), ContextID: "context-" + string(taskID(i)), Agent: "echo", Owner: auth.Local}
		h, err := grow(ctx, log, h, task.Run{Epoch: 1, Dispatch: task.Claimed, Holder: "seed", Attempt: 1}, task.Entry{
			Kind: task.Created, State: task.Submitted, At: at,
			Body: []byte(`{"messageId":"m","role":"ROLE_USER","parts":[{"text":"ask me something"}]}`),
		})
		if err != nil {
			return err
		}
		_, err = grow(ctx, log, h, h.Run,
			task.Entry{Kind: task.Status, State: task.Working, At: at, Epoch: 1, Seq: 1},
			task.Entry{Kind: task.Status, State: task.InputRequired, At: at, Epoch: 1, Seq: 2})
		return err
	})
}

// writeCertificate writes a certificate for this machine and its key into dir.
func writeCertificate(dir string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(240 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	cert, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	if err != nil {
		return err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(filepath.Join(dir, "cert.pem"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}), 0o600),
		os.WriteFile(filepath.Join(dir, "key.pem"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), 0o600))
}
