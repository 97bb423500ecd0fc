package server

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/parley-a2a/parley/internal/adminjson"
	"github.com/parley-a2a/parley/internal/config"
	"github.com/parley-a2a/parley/internal/front/adminapi"
	"github.com/parley-a2a/parley/internal/outbound/safedial"
)

// newChecker returns a checker that may reach the addresses of rules.
func newChecker(t *testing.T, rules ...string) *checker {
	t.Helper()
	policy, err := safedial.ParsePolicy(rules)
	if err != nil {
		t.Fatal(err)
	}
	return &checker{policy: policy}
}

// outcomes counts the outcomes of a report by interface and outcome.
func outcomes(r *adminjson.CheckReport) map[string]int {
	all := make(map[string]int)
	for i := range r.Results {
		all[strings.Fields(r.Results[i].Interface)[0]+" "+r.Results[i].Outcome]++
	}
	return all
}

// TestCheckOfAHub checks a hub over HTTP and gRPC, through the guard.
func TestCheckOfAHub(t *testing.T) {
	t.Parallel()
	cfg, err := config.Parse("parley.yaml", nil, func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	cfg.Listen, cfg.GRPCListen, cfg.Data = "127.0.0.1:0", "127.0.0.1:0", t.TempDir()
	h, err := Open(t.Context(), Options{Config: cfg, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- h.Run(ctx) }()
	defer func() {
		cancel()
		if err := errors.Join(<-ended, h.Close()); err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}()
	report, err := newChecker(t, "loopback").Check(t.Context(), &adminjson.CheckRequest{URL: h.URL()})
	if err != nil {
		t.Fatal(err)
	}
	got := outcomes(report)
	if !report.OK || report.Incomplete != "" || got["jsonrpc pass"] < 40 || got["grpc pass"] < 20 || got["grpc fail"] > 0 {
		t.Errorf("ok %t, %q, %v, left out %q", report.OK, report.Incomplete, got, report.LeftOut)
	}
}

// TestCheckIsGuarded refuses an address that the policy does not allow, also if the card names it
// as an interface.
func TestCheckIsGuarded(t *testing.T) {
	t.Parallel()
	c := newChecker(t)
	for at, want := range map[string]string{
		"http://127.0.0.1:1": "loopback", "http://localhost:1": "localhost", "http://u:p@example.org": "credentials", "gopher://x": "not an http or https URL", "": "not an http or https URL",
	} {
		_, err := c.Check(t.Context(), &adminjson.CheckRequest{URL: at})
		if !errors.Is(err, adminapi.ErrCheckInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", at, err, want)
		}
	}
	var called bool
	inside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { called = true }))
	defer inside.Close()
	secret, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer secret.Close()
	card := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"name":"x","version":"1","description":"x","skills":[],"supportedInterfaces":[` + // ends with the test
			`{"protocolBinding":"JSONRPC","protocolVersion":"1.0","url":"` + inside.URL + `"},{"protocolBinding":"GRPC","protocolVersion":"1.0","url":"` + secret.Addr().String() + `"}]}`))
	}))
	defer card.Close()
	_, port, _ := net.SplitHostPort(card.Listener.Addr().String())
	report, err := newChecker(t, "127.0.0.1:"+port).Check(t.Context(), &adminjson.CheckRequest{URL: card.URL})
	if err != nil || report.OK || called {
		t.Errorf("called %t, report %+v, %v", called, report, err)
	}
	if err := secret.(*net.TCPListener).SetDeadline(time.Now()); err != nil {
		t.Fatal(err)
	}
	if c, err := secret.Accept(); err == nil {
		c.Close()
		t.Error("the check has connected to the gRPC interface")
	}
}

// TestCheckIsBounded checks an agent that sends without end: it is read up to the limit, and the
// report stays small.
func TestCheckIsBounded(t *testing.T) {
	t.Parallel()
	filler := []byte(strings.Repeat(`"<script>alert(1)</script>",`, 4<<10))
	flood := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/.well-known/agent-card.json" {
			_, _ = w.Write([]byte(`{"name":"x","supportedInterfaces":[{"protocolBinding":"JSONRPC","protocolVersion":"1.0","url":"http://` + r.Host + `/rpc"}]}`)) // shown by the report
			return
		}
		w.Header().Set("Content-Type", "application/json")
		for _, err := w.Write([]byte("[")); err == nil; {
			_, err = w.Write(filler)
		}
	}))
	defer flood.Close()
	c := newChecker(t, "loopback")
	c.limit = 15 * time.Minute // a busy machine needs long for so many bytes
	report, err := c.Check(t.Context(), &adminjson.CheckRequest{URL: flood.URL})
	if err != nil {
		t.Fatal(err)
	}
	size := 0
	for i := range report.Results {
		for _, e := range report.Results[i].Evidence {
			size += len(e)
		}
		if n := len(report.Results[i].Detail); n > 2*checkDetail {
			t.Errorf("a detail of %d bytes", n)
		}
	}
	if report.OK || len(report.Results) < 20 || size > 2*checkEvidence {
		t.Errorf("ok %t, %d results, %d bytes of evidence", report.OK, len(report.Results), size)
	}
}

// TestOneCheckAtATime ends a check with its caller. Before that, another one is refused.
func TestOneCheckAtATime(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{}, 1)
	hangs := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		<-r.Context().Done()
	}))
	defer hangs.Close()
	c := newChecker(t, "loopback")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		_, err := c.Check(ctx, &adminjson.CheckRequest{URL: hangs.URL})
		ended <- err
	}()
	<-asked
	if _, err := c.Check(t.Context(), &adminjson.CheckRequest{URL: hangs.URL}); !errors.Is(err, adminapi.ErrCheckBusy) {
		t.Errorf("a second check = %v, want busy", err)
	}
	cancel()
	if err := <-ended; !errors.Is(err, adminapi.ErrCheckInvalid) {
		t.Errorf("the canceled check = %v", err)
	}
	if _, err := c.Check(t.Context(), &adminjson.CheckRequest{URL: "http://127.0.0.1:1"}); !errors.Is(err, adminapi.ErrCheckInvalid) {
		t.Errorf("a further check = %v", err)
	}
}
