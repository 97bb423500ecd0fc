package delegation_test

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/internal/delegation"
	"github.com/parley-a2a/parley/internal/json/rawjson"
)

var noon = time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)

// TestRoundTrip writes a context as metadata and as headers, and reads it from each.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	want := &delegation.Context{Chain: []string{"a@1", "b@2"}, Hops: 3, Budget: 20, Deadline: noon}
	meta := delegation.AppendMetadata(nil, []byte(`{"x":1.50,"parley.hops":9}`), want)
	if err := rawjson.Check(meta, 8); err != nil || !strings.Contains(string(meta), `"x":1.50`) {
		t.Fatalf("metadata %s: %v", meta, err)
	}
	h := make(http.Header)
	delegation.Inject(delegation.With(context.Background(), want), h)
	params := make(map[string][]string)
	for name, values := range h {
		params[delegation.Param(name)] = values
	}
	message := append(append([]byte(`{"metadata":`), meta...), '}')
	for name, read := range map[string]func() (*delegation.Context, error){
		"metadata": func() (*delegation.Context, error) { return delegation.Read(meta, nil, nil) },
		"message":  func() (*delegation.Context, error) { return delegation.Read(nil, message, nil) },
		"headers":  func() (*delegation.Context, error) { return delegation.Read(nil, nil, params) },
		"both":     func() (*delegation.Context, error) { return delegation.Read(meta, message, params) },
		"stored":   func() (*delegation.Context, error) { return delegation.Stored(delegation.Store(nil, want)), nil },
	} {
		got, err := read()
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if got, err := delegation.Read([]byte(`{"x":1}`), []byte(`{"parts":[]}`), map[string][]string{"traceparent": {"x"}}); got != nil || err != nil {
		t.Errorf("Read without a context = %v, %v", got, err)
	}
	delegation.Strip(params)
	if len(params) != 0 {
		t.Errorf("Strip leaves %v", params)
	}
}

// TestStricterCounts reads two contexts that differ.
func TestStricterCounts(t *testing.T) {
	t.Parallel()
	got, err := delegation.Read(
		[]byte(`{"parley.hops":2,"parley.budget":9,"parley.chain":["a@1"]}`), nil,
		map[string][]string{"x-parley-hops": {"5"}, "x-parley-budget": {"4"}, "x-parley-chain": {"a@1, b@2"}},
	)
	want := &delegation.Context{Chain: []string{"a@1", "b@2"}, Hops: 2, Budget: 4}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("Read: %v (-want +got):\n%s", err, diff)
	}
	later := &delegation.Context{Hops: 7, Budget: 1, Deadline: noon}
	if got := delegation.Or(later, want); got.Hops != 2 || got.Budget != 1 || !got.Deadline.Equal(noon) || len(got.Chain) != 2 {
		t.Errorf("Or = %+v", got)
	}
	if delegation.Or(nil, want) != want || delegation.Or(want, nil) != want {
		t.Error("Or with nothing is something else")
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	found := delegation.Context{Chain: []string{"a@1", "b@2"}, Hops: 1 << 20, Budget: 1 << 20}
	got := found.Within(delegation.Limits{})
	if got.Hops != delegation.DefaultHops-2 || got.Budget != delegation.DefaultBudget {
		t.Errorf("Within = %+v", got)
	}
	for n := range 70 {
		found.Chain = append(found.Chain, "n"+strconv.Itoa(n))
	}
	if got := found.Within(delegation.Limits{}); got.Hops != 0 {
		t.Errorf("a long chain leaves %d hops, want none", got.Hops)
	}
}

func TestNext(t *testing.T) {
	t.Parallel()
	e := delegation.New(delegation.Limits{Hops: 2, Budget: 5})
	next, err := e.Next("a@1", delegation.Limits{Time: time.Minute}, noon)
	want := delegation.Context{Chain: []string{"a@1"}, Hops: 1, Budget: 4, Deadline: noon.Add(time.Minute)}
	if diff := cmp.Diff(want, next); diff != "" || err != nil {
		t.Fatalf("Next: %v (-want +got):\n%s", err, diff)
	}
	if err := next.Admit("a@1", noon); !errors.Is(err, a2a.ErrUnsupportedOperation) || !strings.Contains(err.Error(), "a@1 → a@1") {
		t.Errorf("Admit of a circle = %v", err)
	}
	if err := next.Admit("b@1", noon.Add(time.Hour)); err == nil || !strings.Contains(err.Error(), "deadline 2026-01-31T12:01:00.000Z") {
		t.Errorf("Admit after the deadline = %v", err)
	}
	if err := next.Admit("b@1", noon); err != nil {
		t.Errorf("Admit = %v", err)
	}
	if next, err = next.Next("b@1", delegation.Limits{Time: time.Hour}, noon); err != nil || !next.Deadline.Equal(noon.Add(time.Minute)) {
		t.Errorf("Next = %+v, %v, want the same deadline", next, err)
	}
	if _, err = next.Next("c@1", delegation.Limits{}, noon); err == nil || !strings.Contains(err.Error(), "a@1 → b@1 → c@1") {
		t.Errorf("Next without hops = %v, want the chain", err)
	}
	spent := delegation.Context{Hops: 1}
	if _, err = spent.Next("c@1", delegation.Limits{}, noon); err == nil || !strings.Contains(err.Error(), "budget") {
		t.Errorf("Next without budget = %v", err)
	}
}

// TestShare counts the tasks of a whole tree of agents that delegate as often as they can.
func TestShare(t *testing.T) {
	t.Parallel()
	var begin func(budget int) int
	begin = func(budget int) int {
		n := 0
		for budget > 0 {
			child, left := delegation.Share(budget)
			n += 1 + begin(child)
			budget = left
		}
		return n
	}
	for _, budget := range []int{0, 1, 2, 7, 100, 1000} {
		if got := begin(budget); got != budget {
			t.Errorf("a budget of %d lets %d tasks begin", budget, got)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"parley.chain":["a@b"],"parley.hops":1}`), "a@1,b@2", "3", "2026-01-31T12:00:00Z")
	f.Add([]byte(`{"parley.deadline":1}`), ",", "-1", "")
	f.Fuzz(func(t *testing.T, meta []byte, chain, hops, deadline string) {
		if rawjson.Check(meta, 20) != nil || rawjson.KindOf(meta) != rawjson.Object {
			meta = nil
		}
		e, err := delegation.Read(meta, nil, map[string][]string{
			"x-parley-chain": {chain}, "x-parley-hops": {hops}, "x-parley-deadline": {deadline},
		})
		if err != nil {
			if !errors.Is(err, a2a.ErrInvalidParams) {
				t.Fatalf("Read = %v, want a fault of the caller", err)
			}
			return
		}
		if len(e.Chain) > 2*delegation.MaxChain || e.Hops < 0 || e.Budget < 0 {
			t.Fatalf("Read = %+v", e)
		}
		if len(e.Chain) > delegation.MaxChain {
			return // no hops are left, so it is never sent
		}
		again, err := delegation.Read(delegation.AppendMetadata(nil, meta, e), nil, delegation.Store(nil, e))
		if err != nil || !cmp.Equal(e, again) {
			t.Fatalf("written and read again it is %+v, %v, want %+v", again, err, e)
		}
	})
}
