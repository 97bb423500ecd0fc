package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	"github.com/parley-a2a/parley/internal/adminjson"
	"github.com/parley-a2a/parley/internal/check"
	"github.com/parley-a2a/parley/internal/check/wire"
	"github.com/parley-a2a/parley/internal/clip"
	"github.com/parley-a2a/parley/internal/front/adminapi"
	"github.com/parley-a2a/parley/internal/outbound/caller"
	"github.com/parley-a2a/parley/internal/outbound/httpcall"
	"github.com/parley-a2a/parley/internal/outbound/safedial"
	"github.com/parley-a2a/parley/internal/version"
)

// Limits of a check by the hub.
const (
	checkTime = 2 * time.Minute
	checkCall = 5 * time.Second
	// checkBytes bounds the bytes that an agent sends during a check, and checkEvidence those of
	// the report that come from it.
	checkBytes    = 16 << 20
	checkEvidence = 2 << 20
	checkDetail   = 2 << 10
)

// checker checks agents at addresses that a policy allows, one at a time.
type checker struct {
	policy *safedial.Policy
	// limit bounds a check; zero means checkTime.
	limit time.Duration
	busy  sync.Mutex
}

var _ adminapi.Checker = (*checker)(nil)

func (c *checker) Check(ctx context.Context, q *adminjson.CheckRequest) (*adminjson.CheckReport, error) {
	at, err := check.CardURL(strings.TrimSpace(q.URL))
	if err == nil {
		err = c.policy.CheckURL(at)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", adminapi.ErrCheckInvalid, err)
	}
	if !c.busy.TryLock() {
		return nil, adminapi.ErrCheckBusy
	}
	defer c.busy.Unlock()
	d := &checkDialer{policy: c.policy}
	transport := d.policy.Transport()
	transport.DisableKeepAlives = true
	dial := transport.DialContext
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		return d.limited(dial(ctx, network, address))
	}
	defer transport.CloseIdleConnections()
	report, err := check.Run(ctx, check.Options{
		URL: at, Only: q.Only, Timeout: cmp.Or(c.limit, checkTime),
		Wire: wire.Options{HTTP: transport, Dial: d.grpc, Key: q.Key, Timeout: checkCall, UserAgent: "parley/" + version.Version},
	})
	switch {
	case report == nil:
		return nil, fmt.Errorf("%w: %s", adminapi.ErrCheckInvalid, safedial.Explain(err))
	case len(report.Results) == 0 && err == nil:
		return nil, fmt.Errorf("%w: unknown requirement %q", adminapi.ErrCheckInvalid, q.Only)
	}
	return reported(report, err), nil
}

// reported converts a report. err is the reason why the check ended early.
func reported(r *check.Report, err error) *adminjson.CheckReport {
	all := &adminjson.CheckReport{
		URL: r.URL, OK: r.OK() && err == nil, Interfaces: r.Interfaces, LeftOut: r.LeftOut, Seconds: r.Duration, Results: []adminjson.CheckResult{},
	}
	if all.Interfaces == nil {
		all.Interfaces = []string{}
	}
	if err != nil {
		all.Incomplete = err.Error()
	}
	room := checkEvidence
	for i := range r.Results {
		q := &r.Results[i]
		one := adminjson.CheckResult{
			ID: q.ID, Level: string(q.Level), Section: q.Section, Text: q.Text, Interface: q.Interface, Outcome: string(q.Outcome), Detail: clip.Bytes(q.Detail, checkDetail),
		}
		for _, text := range q.Evidence {
			if room -= len(text); room < 0 {
				text = "(not shown: the report is too large)"
			}
			one.Evidence = append(one.Evidence, text)
		}
		all.Results = append(all.Results, one)
	}
	return all
}

// checkDialer opens the connections of one check, which share a limit of received bytes.
type checkDialer struct {
	policy *safedial.Policy
	read   atomic.Int64
}

func (d *checkDialer) grpc(ctx context.Context, url string) (wire.Conn, error) {
	scheme, address, ok := strings.Cut(url, "://")
	if !ok {
		scheme, address = "https", url
		if httpcall.Loopback(address) {
			scheme = "http"
		}
	}
	url = scheme + "://" + strings.TrimRight(address, "/")
	if err := d.policy.CheckURL(url); err != nil {
		return nil, errors.New(safedial.Explain(err))
	}
	dialer := d.policy.Dialer()
	return caller.ConnectTLS(ctx, url, nil, grpc.WithNoProxy(), grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) {
		return d.limited(dialer.DialContext(ctx, "tcp", address))
	}))
}

// limited returns a connection that counts for the limit.
func (d *checkDialer) limited(c net.Conn, err error) (net.Conn, error) {
	if err != nil {
		return nil, err
	}
	return &checkConn{c, d}, nil
}

// checkConn is a connection of a check.
type checkConn struct {
	net.Conn
	dialer *checkDialer
}

// Read implements net.Conn. It fails once the agent has sent too much.
func (c *checkConn) Read(b []byte) (int, error) {
	if c.dialer.read.Load() > checkBytes {
		return 0, fmt.Errorf("the agent has sent more than %d bytes during the check", checkBytes)
	}
	n, err := c.Conn.Read(b)
	c.dialer.read.Add(int64(n))
	return n, err
}
