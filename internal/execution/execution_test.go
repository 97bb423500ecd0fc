package execution_test

import (
	"context"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/agent"
	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/execution"
)

func TestWithUser(t *testing.T) {
	t.Parallel()
	tests := []struct {
		principal auth.Principal
		want      a2asrv.User
	}{
		{auth.Principal{ID: "ann"}, a2asrv.User{Name: "ann", Authenticated: true, Attributes: map[string]any{"id": "ann"}}},
		{
			auth.Principal{ID: "ann", DisplayName: "Ann", Claims: map[string]string{"team": "red"}},
			a2asrv.User{Name: "Ann", Authenticated: true, Attributes: map[string]any{"id": "ann", "team": "red"}},
		},
		{auth.Principal{ID: auth.Local}, a2asrv.User{Name: auth.Local}},
		{
			auth.Principal{ID: auth.Local, Claims: map[string]string{"team": "red"}},
			a2asrv.User{Name: auth.Local, Attributes: map[string]any{"id": auth.Local, "team": "red"}},
		},
	}
	for _, tt := range tests {
		x := &a2asrv.ExecutorContext{ServiceParams: a2asrv.NewServiceParams(nil)}
		ctx := execution.WithUser(t.Context(), x, &tt.principal, []string{"urn:x"})
		if diff := cmp.Diff(&tt.want, x.User); diff != "" {
			t.Errorf("user of %+v (-want +got):\n%s", tt.principal, diff)
		}
		if got := auth.PrincipalFrom(ctx); got != &tt.principal {
			t.Errorf("principal = %+v, want %+v", got, tt.principal)
		}
		call, ok := a2asrv.CallContextFrom(ctx)
		if !ok || call.User != x.User || !call.Extensions().Active(&a2a.AgentExtension{URI: "urn:x"}) {
			t.Errorf("call context = %+v, %t", call, ok)
		}
	}
}

// special has the abilities of executors that have methods of their own.
type special struct{ agent.Func }

func (special) CardFor(context.Context, *agent.CardRequest) *a2a.AgentCard { return nil }

func (special) ConfirmsExtensions() bool { return true }

// TestAs: With hides no ability of the executor.
func TestAs(t *testing.T) {
	t.Parallel()
	with := func(e a2asrv.AgentExecutor) a2asrv.AgentExecutor { return agent.With(e, agent.Traits{Serial: true}) }
	for name, e := range map[string]a2asrv.AgentExecutor{"plain": special{}, "once": with(special{}), "twice": with(with(special{}))} {
		if _, ok := execution.As[agent.Carder](e); !ok {
			t.Errorf("%s: the Carder is not found", name)
		}
		if c, ok := execution.As[agent.Confirming](e); !ok || !c.ConfirmsExtensions() {
			t.Errorf("%s: the Confirming is not found", name)
		}
	}
	if _, ok := execution.As[agent.Carder](with(agent.Func(nil))); ok {
		t.Error("a Carder is found where there is none")
	}
}
