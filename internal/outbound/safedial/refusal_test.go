package safedial

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"syscall"
	"testing"
)

func TestRefusalHidesAddressesFromTheCaller(t *testing.T) {
	t.Parallel()
	err := tryDial(t, nil, "http://inside.example:8080/", "10.20.30.40")
	var r *Refusal
	if !errors.As(err, &r) {
		t.Fatalf("dial: %v, want a Refusal", err)
	}
	if got := err.Error(); strings.Contains(got, "10.20") || strings.Contains(got, "private") || !strings.Contains(got, "inside.example") {
		t.Errorf("the caller gets %q, want the name and nothing of its address", got)
	}
}

func TestRefusalOfALiteralHasTheReason(t *testing.T) {
	t.Parallel()
	err := new(Policy).CheckURL("http://[::ffff:10.0.0.1]:99/")
	if want := "a private address"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("CheckURL = %v, want it to say %q", err, want)
	}
}

func TestExplain(t *testing.T) {
	t.Parallel()
	secret := &net.OpError{Op: "dial", Net: "tcp", Addr: net.TCPAddrFromAddrPort(netip.MustParseAddrPort("10.1.2.3:80"))}
	because := func(err error) error {
		e := *secret
		e.Err = err
		return fmt.Errorf("post: %w", &e)
	}
	for _, tt := range []struct {
		err  error
		want string
	}{
		{nil, ""},
		{because(&Refusal{Host: "a.example", Addr: netip.MustParseAddr("10.1.2.3"), Kind: "a private address"}), "a.example"},
		{invalid("odd"), "not a valid URL"},
		{because(context.Canceled), "canceled"},
		{because(&net.DNSError{Err: "no such host", Name: "a.example", Server: "10.1.2.3:53", IsNotFound: true}), "does not exist"},
		{because(&net.DNSError{Err: "server misbehaving", Name: "a.example", Server: "10.1.2.3:53"}), "could not be resolved"},
		{because(context.DeadlineExceeded), "in time"},
		{because(os.ErrDeadlineExceeded), "in time"},
		{because(&tls.CertificateVerificationError{Err: errors.New("valid for 10.1.2.3")}), "certificate"},
		{because(os.NewSyscallError("connect", syscall.ECONNREFUSED)), "connection was refused"},
		{because(os.NewSyscallError("read", syscall.ECONNRESET)), "reset"},
		{because(errors.New("10.1.2.3 is on fire")), "connection failed"},
	} {
		got := Explain(tt.err)
		if !strings.Contains(got, tt.want) || strings.Contains(got, "10.1.2.3") || tt.err != nil && got == "" {
			t.Errorf("Explain(%v) = %q, want %q without the address", tt.err, got, tt.want)
		}
	}
}
