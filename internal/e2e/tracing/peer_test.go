package tracing

import (
	"context"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/internal/mock"
	"github.com/parley-a2a/parley/internal/outbound/peer"
	"github.com/parley-a2a/parley/internal/telemetry/trace"
	"github.com/parley-a2a/parley/internal/testing/dialecttest"
	"github.com/parley-a2a/parley/internal/testing/mocktest"
	"github.com/parley-a2a/parley/internal/testing/testenv"
)

// TestTraceOfPeers: the calls that follow a task of another agent are spans below those of the
// caller, with every set of the agent's capabilities. Each request carries the trace.
func TestTraceOfPeers(t *testing.T) {
	t.Parallel()
	const work = `
        steps: [{say: wait}, {wait: 20ms}, {complete: done}]`
	for name, tt := range map[string]struct {
		agent, params string
		want          []string
		requests      int
		counted       map[string]float64
	}{
		"streams": {
			agent: "responses:\n      - " + strings.TrimSpace(work),
			want:  []string{"streaming_dispatch"}, requests: 1,
			counted: map[string]float64{"parley_a2a_streaming_events_total": 4},
		},
		"polls": {
			agent:  "lie: {capabilities: {streaming: false}}\n    responses:\n      - " + strings.TrimSpace(work),
			params: `,"configuration":{"returnImmediately":true}`,
			want:   []string{"http_dispatch", "poll_loop", "poll_loop/http_dispatch"}, requests: 2,
			counted: map[string]float64{"parley_a2a_polling_attempts_total": 1, "parley_a2a_subscribe_fallbacks_total": 0},
		},
		"breaks and subscribes": {
			agent: "responses:\n      - steps: [{say: wait}, {fault: close}, {wait: 20ms}, {complete: done}]",
			want:  []string{"streaming_dispatch", "subscribe_loop", "subscribe_loop/streaming_dispatch"}, requests: 2,
		},
		"breaks and polls": {
			agent: "operations: {SubscribeToTask: {protocol_error: UnsupportedOperation}}\n" +
				"    responses:\n      - steps: [{say: wait}, {fault: close}, {complete: done}]",
			want:     []string{"poll_loop", "poll_loop/http_dispatch", "streaming_dispatch", "subscribe_loop", "subscribe_loop/streaming_dispatch"},
			requests: 3, counted: map[string]float64{"parley_a2a_subscribe_fallbacks_total": 1, "parley_a2a_polling_attempts_total": 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := mocktest.Start(t, "a2a_agents:\n  - name: other\n    "+tt.agent)
			story := newScenario(t)
			label := "peer-" + story.trace[:8]
			p, err := peer.Dial(t.Context(), s.URL(), &peer.Options{Name: label, Poll: peer.Poll{Interval: 200 * time.Millisecond}})
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			ctx := trace.WithIDs(trace.Extract(t.Context(), map[string][]string{"traceparent": {story.parent()}}), trace.IDs{Correlation: "c-peer"})
			for _, err := range p.Run(ctx, []byte(message("hello", "", tt.params))) {
				if err != nil {
					t.Fatal(err)
				}
			}
			lines := story.lines(len(tt.want))
			if diff := cmp.Diff(tt.want, paths(lines)); diff != "" {
				t.Errorf("spans mismatch (-want +got):\n%s", diff)
			}
			for path, l := range lines {
				if l.attributes["target_agent"] != label || l.attributes["correlation_id"] != "c-peer" {
					t.Errorf("%s has the attributes %v", path, l.attributes)
				}
				if strings.HasSuffix(path, "dispatch") && (l.attributes["transport"] == "" || l.attributes["operation"] == "") {
					t.Errorf("%s does not say what was called: %v", path, l.attributes)
				}
			}
			calls := slices.DeleteFunc(s.Requests(), func(r mock.Request) bool { return r.Binding == "" })
			if len(calls) < tt.requests {
				t.Errorf("%d requests, want at least %d", len(calls), tt.requests)
			}
			for _, r := range calls {
				parent, _, _ := strings.Cut(strings.TrimPrefix(r.Header.Get("Traceparent"), "00-"+story.trace+"-"), "-")
				below := slices.ContainsFunc(paths(lines), func(p string) bool { return lines[p].id == parent })
				if !below || r.Header.Get("X-Correlation-Id") != "c-peer" {
					t.Errorf("%s goes out with %v, want a span of the trace %s", r.Operation, r.Header, story.trace)
				}
			}
			families := scrape(t)
			for metric, want := range tt.counted {
				if got := value(families[metric], "target_agent="+label); got != want {
					t.Errorf("%s of the agent = %v, want %v", metric, got, want)
				}
			}
			if got := value(families["parley_client_requests_total"], "target_agent="+label); int(got) != len(calls) {
				t.Errorf("parley_client_requests_total = %v, want %d", got, len(calls))
			}
		})
	}
}

// TestFailuresOfPeers: an unreachable peer is a failed span with a reason.
func TestFailuresOfPeers(t *testing.T) {
	t.Parallel()
	s := mocktest.Start(t, "a2a_agents: [{name: other, operations: {GetTask: {http: 503}}}]")
	p, err := peer.Dial(t.Context(), s.URL(), &peer.Options{Name: "failing", Retries: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	get := func(p *peer.Peer) line {
		story := newScenario(t)
		if _, err := p.Get(trace.Extract(t.Context(), map[string][]string{"traceparent": {story.parent()}}), "none", nil); err == nil {
			t.Fatal("Get = nil, want an error")
		}
		return story.lines(1)["http_dispatch"]
	}
	if got := get(p); !got.failed || got.attributes["reason"] != "SERVER_ERROR" {
		t.Errorf("span = %+v, want that it failed", got)
	}
	s.Close()
	// A pooled connection would break instead, and another program may get the port of the peer.
	nobody := testenv.Addr(t)
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, nobody)
	}}}
	again, err := peer.New(p.Card(), &peer.Options{Name: "failing", Retries: -1, HTTP: client})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if got := get(again); !got.failed || got.attributes["reason"] != "UNREACHABLE" {
		t.Errorf("span = %+v, want that nobody was there", got)
	}
}

// TestOneTraceAcrossDialects: a hub that is called by a peer joins its trace, in every dialect.
func TestOneTraceAcrossDialects(t *testing.T) {
	t.Parallel()
	h := &parley.Hub{}
	shell(t, h, "teller", environment)
	s := serve(t, h)
	for _, dialect := range []string{"v1.0", "v0.3", dialecttest.Derived, dialecttest.Gateway} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			url := s.url
			if dialect == dialecttest.Derived {
				url += "/a2a/teller"
			}
			p, err := peer.Dial(t.Context(), url, &peer.Options{Name: "hub", Dialect: dialect})
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			story := newScenario(t)
			ctx := trace.Extract(t.Context(), map[string][]string{"traceparent": {story.parent()}})
			for _, err := range p.Run(ctx, []byte(message("hello", "", ""))) {
				if err != nil {
					t.Fatal(err)
				}
			}
			lines := story.lines(3)
			want := []string{"streaming_dispatch", "streaming_dispatch/SendStreamingMessage", "streaming_dispatch/SendStreamingMessage/invoke"}
			if diff := cmp.Diff(want, paths(lines)); diff != "" {
				t.Errorf("spans mismatch (-want +got):\n%s", diff)
			}
			if got := lines[want[1]].attributes["protocol"]; got != dialect {
				t.Errorf("the hub was called in %s, want %s", got, dialect)
			}
		})
	}
}
