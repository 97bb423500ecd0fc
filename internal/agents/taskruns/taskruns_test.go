package taskruns_test

import (
	"slices"
	"testing"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/agents/taskruns"
)

func TestSet(t *testing.T) {
	t.Parallel()
	ctx := auth.WithPrincipal(t.Context(), &auth.Principal{ID: "ada"})
	k := taskruns.KeyOf(ctx, "1")
	if k == taskruns.KeyOf(t.Context(), "1") {
		t.Error("the tasks of two owners have one key")
	}
	var s taskruns.Set[int]
	first := s.Enter(k, 1)
	second := s.Enter(k, 2)
	if got := s.Of(k); !slices.Equal(got, []int{1, 2}) || len(s.Of(taskruns.KeyOf(ctx, "2"))) > 0 {
		t.Errorf("the runs are %v, want 1 and 2", got)
	}
	first()
	if got := s.Of(k); !slices.Equal(got, []int{2}) {
		t.Errorf("the runs are %v, want 2", got)
	}
	second()
	if got := s.Of(k); len(got) > 0 || s.Len() > 0 {
		t.Errorf("the runs are %v of %d tasks, want none", got, s.Len())
	}
}
