package engine_test

import (
	"context"
	"errors"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/limits"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/internal/store/memstore"
)

// seen is the caller as a run sees it.
type seen struct {
	principal auth.Principal
	user      a2asrv.User
}

// watching reports its caller. If hold is set, it works until it is stopped.
func watching(to chan<- seen, hold bool) a2asrv.AgentExecutor {
	return idempotent(&executor{run: func(ctx context.Context, ec *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		if !yield(status(ec, a2a.TaskStateWorking, ""), nil) || agent.CallFrom(ctx).Flush(ctx) != nil {
			return
		}
		to <- seen{*auth.PrincipalFrom(ctx), *ec.User}
		if hold {
			<-ctx.Done()
			return
		}
		yield(status(ec, a2a.TaskStateCompleted, "done"), nil)
	}})
}

// An agent receives the complete principal of its caller, even if it is run again after a
// crash.
func TestPrincipalOfARun(t *testing.T) {
	t.Parallel()
	ann := auth.Principal{
		ID: "ann", DisplayName: "Ann", Org: "acme", Roles: []string{"admin", "ops"},
		Claims: map[string]string{"email": "ann@acme.example", "empty": ""},
	}
	for name, tt := range map[string]struct{ principal, want auth.Principal }{
		"all of it":     {ann, ann},
		"id alone":      {auth.Principal{ID: "bob"}, auth.Principal{ID: "bob"}},
		"tasks of all":  {auth.Principal{ID: "ops", Org: auth.Local}, auth.Principal{ID: "ops", Org: auth.Local}},
		"anonymous":     {auth.Principal{ID: auth.Local, DisplayName: auth.Local}, auth.Principal{ID: auth.Local, DisplayName: auth.Local}},
		"like an owner": {auth.Principal{ID: "org:acme"}, auth.Principal{ID: "org:acme"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, runs := new(memstore.Store), make(chan seen, 1)
			b := start(t, engine.Config{Store: store, Limits: limits.Limits{DrainTimeout: -1}}, watching(runs, true))
			a, err := b.Send(t.Context(), &op.Caller{Principal: &tt.principal}, now(text("hi")))
			if err != nil {
				t.Fatal(err)
			}
			first := <-runs
			if err := b.stop(); err != nil && !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			b = start(t, engine.Config{Store: store}, watching(runs, false))
			second := <-runs
			for when, got := range map[string]seen{"first run": first, "after the restart": second} {
				if diff := cmp.Diff(tt.want, got.principal); diff != "" {
					t.Errorf("%s: principal mismatch (-want +got):\n%s", when, diff)
				}
				if got.user.Authenticated != !tt.want.Anonymous() {
					t.Errorf("%s: user = %+v", when, got.user)
				}
			}
			if diff := cmp.Diff(first.user, second.user); diff != "" {
				t.Errorf("user mismatch (-first +second):\n%s", diff)
			}
			// The task belongs to the principal's owner alone.
			same := &op.Caller{Principal: &auth.Principal{ID: "another", Org: tt.want.Org}}
			_, err = b.Get(t.Context(), same, &op.Get{ID: a.Head.ID})
			if shared := tt.want.Org != ""; (err == nil) != shared {
				t.Errorf("Get by another caller of %q = %v", tt.want.Org, err)
			}
		})
	}
}
