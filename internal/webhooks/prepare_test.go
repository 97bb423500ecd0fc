package webhooks

import (
	"bytes"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/internal/task"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/apierror"
	"github.com/parley-a2a/parley/internal/secret/seal"
	"github.com/parley-a2a/parley/internal/store/memstore"
	"github.com/parley-a2a/parley/push"
)

func dispatcher(t *testing.T, o push.Options) *Dispatcher {
	t.Helper()
	d, err := New(Config{Store: new(memstore.Store), Options: o})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestPrepareRefuses(t *testing.T) {
	t.Parallel()
	d := dispatcher(t, push.Options{RequireHTTPS: true})
	const good = "https://hook.example/"
	for _, tt := range []struct {
		field, problem string
		c              task.HookRequest
	}{
		{"url", "is required", task.HookRequest{}},
		{"url", "", task.HookRequest{URL: "not a url"}},
		{"url", "", task.HookRequest{URL: "ftp://hook.example/"}},
		{"url", "", task.HookRequest{URL: "http://hook.example/"}},
		{"url", "", task.HookRequest{URL: "https://user:pass@hook.example/"}},
		{"url", "", task.HookRequest{URL: "https://127.0.0.1/"}},
		{"url", "", task.HookRequest{URL: "https://169.254.169.254/latest"}},
		{"url", "", task.HookRequest{URL: "https://[::ffff:10.0.0.1]/"}},
		{"id", "129 bytes", task.HookRequest{URL: good, ID: strings.Repeat("x", 129)}},
		{"id", "control", task.HookRequest{URL: good, ID: "a\nb"}},
		{"id", "control", task.HookRequest{URL: good, ID: "a\xff"}},
		{"token", "4097 bytes", task.HookRequest{URL: good, Token: strings.Repeat("x", 4097)}},
		{"token", "header", task.HookRequest{URL: good, Token: "a\r\nX-Evil: 1"}},
		{"token", "header", task.HookRequest{URL: good, Token: "ä"}},
		{"token", "header", task.HookRequest{URL: good, Token: " a"}},
		{"authentication.scheme", "name of a scheme", task.HookRequest{URL: good, Scheme: "Bea rer"}},
		{"authentication.scheme", "name of a scheme", task.HookRequest{URL: good, Scheme: "Bearer:"}},
		{"authentication.scheme", "65 bytes", task.HookRequest{URL: good, Scheme: strings.Repeat("x", 65)}},
		{"authentication.scheme", "required", task.HookRequest{URL: good, Credentials: "x"}},
		{"authentication.credentials", "8193 bytes", task.HookRequest{URL: good, Scheme: "Bearer", Credentials: strings.Repeat("x", 8193)}},
		{"authentication.credentials", "header", task.HookRequest{URL: good, Scheme: "Bearer", Credentials: "a\x00"}},
	} {
		h, err := d.Prepare(&tt.c)
		var f *apierror.Error
		if h != nil || !errors.As(err, &f) || !errors.Is(err, a2a.ErrInvalidParams) {
			t.Errorf("Prepare(%.80q) = %v, %v, want an error for the caller", tt.c.URL, h, err)
			continue
		}
		if f.Violations[0].Field != tt.field || !strings.Contains(f.Violations[0].Problem, tt.problem) {
			t.Errorf("Prepare: %+v, want field %s and %q", f.Violations, tt.field, tt.problem)
		}
		if strings.Contains(err.Error(), "pass") {
			t.Errorf("error %q contains a password", err)
		}
	}
}

func TestPrepareSealsSecrets(t *testing.T) {
	t.Parallel()
	d := dispatcher(t, push.Options{})
	c := &task.HookRequest{URL: "https://hook.example/?q=1", Token: "the token", Scheme: "Basic", Credentials: "dXNlcg=="}
	h, err := d.Prepare(c)
	if err != nil {
		t.Fatal(err)
	}
	if len(h.ID) != 36 || h.URL != c.URL || h.Scheme != "Basic" || h.CreatedAt == 0 || h.Position != 0 || h.Task != 0 {
		t.Errorf("hook = %+v", h)
	}
	if bytes.Contains(h.Secret, []byte("token")) || bytes.Contains(h.Secret, []byte("dXNl")) {
		t.Errorf("secret %q is not sealed", h.Secret)
	}
	s, err := d.unseal(&target{url: h.URL, secret: h.Secret})
	if err != nil || s != (secrets{Token: "the token", Credentials: "dXNlcg=="}) {
		t.Errorf("unseal = %+v, %v", s, err)
	}
	if s, err := d.unseal(&target{url: "https://evil.example/", secret: h.Secret}); !errors.Is(err, errSealed) || s != (secrets{}) {
		t.Errorf("unseal for another URL = %+v, %v, want errSealed", s, err)
	}
	d.cfg.Sealer = seal.New()
	if _, err := d.unseal(&target{url: h.URL, secret: h.Secret}); !errors.Is(err, errSealed) {
		t.Errorf("unseal with another key: %v, want errSealed", err)
	}
}

func TestPrepareKeepsWhatIsGiven(t *testing.T) {
	t.Parallel()
	d := dispatcher(t, push.Options{Allow: []string{"loopback"}})
	h, err := d.Prepare(&task.HookRequest{ID: "my id/ü", URL: "http://127.0.0.1:8080/x"})
	if err != nil || h.ID != "my id/ü" || h.Secret != nil {
		t.Errorf("Prepare = %+v, %v", h, err)
	}
}

func TestSecretsSurviveWithAKeyFile(t *testing.T) {
	t.Parallel()
	o := push.Options{KeyFile: filepath.Join(t.TempDir(), "key")}
	h, err := dispatcher(t, o).Prepare(&task.HookRequest{URL: "https://hook.example/", Token: "t"})
	if err != nil {
		t.Fatal(err)
	}
	if s, err := dispatcher(t, o).unseal(&target{url: h.URL, secret: h.Secret}); err != nil || s.Token != "t" {
		t.Errorf("unseal after a restart = %+v, %v", s, err)
	}
	o.KeyFile = t.TempDir()
	if d, err := New(Config{Store: new(memstore.Store), Options: o}); err == nil {
		t.Errorf("New with a folder for a key = %v, want an error", d)
	}
}

func TestNewRefusesOptions(t *testing.T) {
	t.Parallel()
	for _, o := range []push.Options{
		{Allow: []string{"10.0.0.0/99"}},
		{SigningSecrets: []string{"not a secret"}},
		{SigningSecrets: []string{"whsec_c2hvcnQ="}},
	} {
		if d, err := New(Config{Store: new(memstore.Store), Options: o}); err == nil {
			t.Errorf("New(%+v) = %v, want an error", o, d)
		} else if strings.Contains(err.Error(), "c2hvcnQ") || strings.Contains(err.Error(), "not a secret") {
			t.Errorf("error %q contains a secret", err)
		}
	}
}
