package remote_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/parley-a2a/parley"
	"github.com/parley-a2a/parley/internal/op"
)

// forgetting drops the entries with some names from headers and metadata, like a peer that
// hides the chain of callers.
func forgetting(next http.Handler, names ...string) http.Handler {
	hides := func(name string) bool {
		for _, n := range names {
			if strings.EqualFold(name, "parley."+n) || strings.EqualFold(name, "X-Parley-"+n) {
				return true
			}
		}
		return false
	}
	var forget func(v any)
	forget = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for name, member := range v {
				if hides(name) {
					delete(v, name)
				}
				forget(member)
			}
		case []any:
			for _, element := range v {
				forget(element)
			}
		}
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name := range r.Header {
			if hides(name) {
				r.Header.Del(name)
			}
		}
		body, err := io.ReadAll(r.Body)
		var v any
		if err == nil && json.Unmarshal(body, &v) == nil {
			forget(v)
			body, _ = json.Marshal(v)
		}
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		next.ServeHTTP(w, r)
	})
}

// TestHiddenChains checks that a circle through a peer that hides the chain ends all the same.
// If the peer hides the chain alone, the hop limit ends it. If the peer hides everything, the
// first hub's deadline ends it, and until then the limit of tasks per caller bounds it. The
// waiting caller gets the reason.
func TestHiddenChains(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		hidden []string
		within time.Duration // the first hub's deadline, the longer the slower the machine
		want   *regexp.Regexp
		most   int
	}{
		"the chain": {[]string{"chain"}, time.Minute, regexp.MustCompile("the delegation chain is too long: "), 8},
		// The deadline may pass at any step on a slow machine.
		"everything": {
			[]string{"chain", "hops", "budget", "deadline"},
			time.Second,
			regexp.MustCompile("did not answer in time|its time was over|the deadline of the task has passed"), 10,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			given(t, tt.within, func(within time.Duration) bool {
				hubs := startRing(t, nil, "one", "two", "three")
				first := hubs[0]
				first.stop()
				first.wrap = func(next http.Handler) http.Handler { return forgetting(next, tt.hidden...) }
				first.alter = func(p *parley.Hub) { p.Limits.TasksPerCaller = 10 }
				first.start()
				r := newSend("hi")
				r.Metadata = []byte(`{"parley.deadline":"` + time.Now().Add(within).UTC().Format(time.RFC3339Nano) + `"}`)
				a, err := first.Send(t.Context(), alice, r)
				got := ""
				if err != nil {
					got = err.Error()
				} else {
					got = describe(a)
				}
				if n := len(first.all()); n > tt.most {
					t.Errorf("the peer has begun %d tasks, want at most %d", n, tt.most)
				}
				t.Logf("within %v the answer is %q, want %v", within, got, tt.want)
				return tt.want.MatchString(got)
			})
		})
	}
}

// TestForgedDelegationContexts checks that a peer gains nothing by false statements about its
// work. Values beyond the hub's limits are capped, and an agent that it names is in the chain.
func TestForgedDelegationContexts(t *testing.T) {
	t.Parallel()
	hubs := startRing(t, counting(nil), "one", "two")
	for meta, want := range map[string]string{
		`{"parley.hops":1000000,"parley.budget":1000000}`: "COMPLETED",
		`{"parley.hops":0}`: "the delegation chain is too long",
		`{"parley.chain":["a@1","a@2","a@3","a@4","a@5","a@6","a@7","a@8","a@9"],"parley.hops":1000000}`: "the delegation chain is too long: a@1 → ",
	} {
		r := newSend("x " + meta)
		r.Metadata = []byte(meta)
		got := ""
		if a, err := hubs[0].Send(t.Context(), &op.Caller{Principal: alice.Principal}, r); err != nil {
			got = err.Error()
		} else {
			got = describe(a)
		}
		if !strings.Contains(got, want) {
			t.Errorf("with %s the answer is %q, want %q", meta, got, want)
		}
	}
}
