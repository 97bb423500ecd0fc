package llm_test

import (
	"errors"
	"testing"

	"github.com/parley-a2a/parley/internal/llm"
)

func TestChoice(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		allow, block []string
		name         string
		want         bool
	}{
		{nil, nil, "get_task", true},
		{[]string{"get_*"}, nil, "get_task", true},
		{[]string{"get_*"}, nil, "cancel_task", false},
		{nil, []string{"*_task"}, "get_task", false},
		{[]string{"get_*"}, []string{"get_tas?"}, "get_task", false},
		{[]string{"get_task"}, []string{"other"}, "get_task", true},
	} {
		c := llm.Filter{Allow: tt.allow, Block: tt.block}
		if got := c.Has(tt.name); got != tt.want {
			t.Errorf("%+v.Has(%q) = %v", c, tt.name, got)
		}
	}
	var bad *llm.PatternError
	if err := (&llm.Filter{Block: []string{"a", "[b"}}).Check(); !errors.As(err, &bad) || bad.Pattern != "[b" {
		t.Errorf("Check: %v", err)
	}
	if err := (&llm.Filter{Allow: []string{"a*"}}).Check(); err != nil {
		t.Errorf("Check: %v", err)
	}
}
