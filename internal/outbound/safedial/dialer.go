package safedial

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	dialTimeout = 10 * time.Second
	keepAlive   = 30 * time.Second
)

// Dialer opens connections that a policy allows. The zero value allows public
// addresses only.
type Dialer struct {
	// Policy defines the allowed addresses; nil allows public addresses only.
	Policy *Policy
	// Resolver finds addresses; nil is the system's.
	Resolver *net.Resolver
	// Control, if set, is called for each allowed address before it is connected to, like
	// net.Dialer.ControlContext; an error refuses the address.
	Control func(ctx context.Context, network, address string, c syscall.RawConn) error
}

// Dialer returns a dialer with the policy.
func (p *Policy) Dialer() *Dialer { return &Dialer{Policy: p} }

// DialContext connects to a TCP address, "host:port". Each address that the host resolves to is
// checked before it is connected to. If one is refused and none answers, the error is its
// Refusal.
func (d *Dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	if !strings.HasPrefix(network, "tcp") {
		return nil, fmt.Errorf("dial %s: %w", network, ErrForbidden)
	}
	t, err := parseTarget(address)
	if err != nil {
		return nil, err
	}
	nd := &net.Dialer{
		Timeout: dialTimeout, KeepAlive: keepAlive, Resolver: d.Resolver,
		ControlContext: func(ctx context.Context, network, address string, c syscall.RawConn) error {
			return d.control(ctx, t, network, address, c)
		},
	}
	conn, err := nd.DialContext(ctx, network, address)
	var refusal *Refusal
	if errors.As(err, &refusal) {
		return nil, refusal // without the address that package net adds
	}
	return conn, err
}

// control checks an address right before it is connected to.
func (d *Dialer) control(ctx context.Context, t target, network, address string, c syscall.RawConn) error {
	ap, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("dial %s: %w", network, ErrForbidden)
	}
	if err := d.Policy.check(t, ap.Addr()); err != nil {
		return err
	}
	if d.Control != nil {
		return d.Control(ctx, network, address, c)
	}
	return nil
}

func parseTarget(address string) (target, error) {
	host, digits, err := net.SplitHostPort(address)
	if err != nil {
		return target{}, invalid("%q has no port", address)
	}
	port, err := strconv.ParseUint(digits, 10, 16)
	if err != nil || host == "" {
		return target{}, invalid("%q is not an address", address)
	}
	return target{host, uint16(port)}, nil
}
