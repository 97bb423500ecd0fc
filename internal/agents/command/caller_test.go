//go:build linux

package command

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/auth"
	"github.com/parley-a2a/parley/internal/engine"
	"github.com/parley-a2a/parley/internal/op"
	"github.com/parley-a2a/parley/task"
)

// sendFor sends a message on behalf of p.
func (h *hub) sendFor(p *auth.Principal) *a2a.Task {
	h.t.Helper()
	a, err := h.Send(h.t.Context(), &op.Caller{Principal: p}, &op.Send{
		Message: op.Message{ID: "m", MediaTypes: []string{""}, Body: []byte(`{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}]}`)},
	})
	if err != nil {
		h.t.Fatalf("Send: %v", err)
	}
	return sdk(h.t, a)
}

func replyOf(got *a2a.Task) string {
	if got.Status.Message != nil {
		return got.Status.Message.Parts[0].Text()
	}
	if len(got.Artifacts) == 0 {
		return ""
	}
	return got.Artifacts[0].Parts[0].Text()
}

// TestCallerOfProgram checks the caller's identity in the environment of a program, for any
// names, and that it has an assertion only if there is one.
func TestCallerOfProgram(t *testing.T) {
	t.Parallel()
	a := &Agent{
		Command: []string{"sh", "-c", `printf '%s\n%s\n%s' "$PARLEY_CALLER" "$PARLEY_ASSERTION" "$(env | grep -c ^EVIL)"`},
		Runs:    t.TempDir(),
		Assert: func(ctx context.Context) (string, error) {
			switch p := auth.PrincipalFrom(ctx); {
			case p.ID != "ann" && p.ID != "broken":
				return "", nil
			case p.ID == "broken":
				return "", errors.New("no key")
			default:
				return "assertion of " + p.ID, nil
			}
		},
	}
	h := startHub(t, a, engine.Config{})
	odd := "bob\"}\nEVIL=1\x00\\"
	for name, tc := range map[string]struct {
		p    *auth.Principal
		want caller
		says string
	}{
		"a key": {
			&auth.Principal{ID: "ann", DisplayName: "Ann", Org: "acme", Roles: []string{"ops"}, Claims: map[string]string{"email": "a@b"}},
			caller{ID: "ann", Owner: "org:acme", Name: "Ann", Org: "acme", Roles: []string{"ops"}},
			"assertion of ann",
		},
		"nobody":       {&auth.Principal{ID: auth.Local}, caller{ID: "local", Owner: "local"}, ""},
		"an odd token": {&auth.Principal{ID: odd}, caller{ID: odd, Owner: task.Owner(odd)}, ""},
	} {
		lines := strings.Split(replyOf(h.sendFor(tc.p)), "\n")
		var got caller
		if err := json.Unmarshal([]byte(lines[0]), &got); err != nil {
			t.Errorf("%s: PARLEY_CALLER is %q: %v", name, lines[0], err)
			continue
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if lines[1] != tc.says || lines[2] != "0" {
			t.Errorf("%s: the program says %q", name, lines)
		}
	}
	if got := h.sendFor(&auth.Principal{ID: "broken"}); got.Status.State != a2a.TaskStateFailed {
		t.Errorf("without the assertion that is to be there: %v", got.Status.State)
	}
}
