package auth_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/auth"
)

func TestNewKey(t *testing.T) {
	t.Parallel()
	form := regexp.MustCompile(`^pk_[a-z2-7]{10}_[A-Za-z0-9_-]{43}$`)
	at := time.Date(2026, 1, 2, 3, 4, 5, 6_700_000, time.FixedZone("", 3600))
	seen := make(map[string]bool)
	for range 100 {
		k, text := auth.NewKey(auth.Principal{ID: "ann"}, at)
		if !form.MatchString(text) || !strings.HasPrefix(text, "pk_"+k.ID+"_") {
			t.Fatalf("key %q with the id %q has another form", text, k.ID)
		}
		if seen[k.ID] || seen[text] {
			t.Fatalf("key %q comes twice", text)
		}
		seen[k.ID], seen[text] = true, true
		want := &auth.Key{
			ID: k.ID, Principal: auth.Principal{ID: "ann"}, Hash: sha256.Sum256([]byte(text)),
			Hint: "pk_" + k.ID + "_…", CreatedAt: at.UTC().Truncate(time.Millisecond),
		}
		if diff := cmp.Diff(want, k); diff != "" {
			t.Fatalf("key mismatch (-want +got):\n%s", diff)
		}
	}
	if k, _ := auth.NewKey(auth.Principal{}, at); k.Principal.ID != "key-"+k.ID {
		t.Errorf("principal of a key without a principal = %q, want one of its own", k.Principal.ID)
	}
}

func TestHashKey(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 58, 1024, 1025, 5000} {
		text := strings.Repeat("k", n)
		if auth.HashKey(text) != sha256.Sum256([]byte(text)) {
			t.Errorf("hash of %d bytes is not SHA-256", n)
		}
	}
}

func TestGood(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for name, tt := range map[string]struct {
		key  auth.Key
		want bool
	}{
		"for ever":       {auth.Key{}, true},
		"not yet":        {auth.Key{ExpiresAt: now.Add(1)}, true},
		"at its end":     {auth.Key{ExpiresAt: now}, false},
		"expired":        {auth.Key{ExpiresAt: now.Add(-1)}, false},
		"revoked":        {auth.Key{RevokedAt: now.Add(-1)}, false},
		"revoked for it": {auth.Key{RevokedAt: now.Add(-1), ExpiresAt: now.Add(1)}, false},
	} {
		if got := tt.key.Good(now); got != tt.want {
			t.Errorf("%s: good = %t", name, got)
		}
	}
}

func TestConfiguredKey(t *testing.T) {
	t.Parallel()
	const text = "s3cret-of-16-by!"
	ann := auth.Principal{ID: "ann", Roles: []string{"admin"}}
	hash := sha256.Sum256([]byte(text))
	want := &auth.Key{
		ID: "config-" + hex.EncodeToString(hash[:4]), Principal: ann, Hash: hash, Hint: "s3cr…", Configured: true,
	}
	got, err := auth.ConfiguredKey(text, ann)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("key = %v, mismatch (-want +got):\n%s", err, diff)
	}
	want.Hint = ""
	got, err = auth.ConfiguredKey("sha256:"+hex.EncodeToString(hash[:]), ann)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("key by its hash = %v, mismatch (-want +got):\n%s", err, diff)
	}
}

// An operator may allow shorter keys; these get no hint.
func TestShortKeys(t *testing.T) {
	t.Parallel()
	alice := auth.Principal{ID: "alice"}
	k, err := auth.ConfiguredKeyOf("my-key", alice, 6)
	if err != nil || k.Hash != auth.HashKey("my-key") || k.Hint != "" {
		t.Errorf("key = %+v, %v", k, err)
	}
	for text, shortest := range map[string]int{"my-ke": 6, "my-key": 0, "": 1, "fifteen-bytes-x": -1} {
		if _, err := auth.ConfiguredKeyOf(text, alice, shortest); !errors.Is(err, auth.ErrShortKey) {
			t.Errorf("%q with at least %d: %v", text, shortest, err)
		}
	}
}

func TestConfiguredKeyRefuses(t *testing.T) {
	t.Parallel()
	const good = "a-very-secret-key"
	ann := auth.Principal{ID: "ann"}
	for name, tt := range map[string]struct {
		text string
		p    auth.Principal
		want string
	}{
		"short":          {"fifteen-bytes-x", ann, "shorter than 16 bytes"},
		"empty":          {"", ann, "shorter than 16 bytes"},
		"long":           {strings.Repeat("k", 1025), ann, "longer than 1024 bytes"},
		"space":          {"a very secret key", ann, "visible"},
		"line":           {"a-very-secret-key\n", ann, "visible"},
		"letter":         {"a-very-sécret-key", ann, "visible"},
		"short hash":     {"sha256:0123456789abcdef", ann, "64 hexadecimal"},
		"no hash":        {"sha256:" + strings.Repeat("x", 64), ann, "64 hexadecimal"},
		"nobody":         {good, auth.Principal{}, "missing"},
		"local":          {good, auth.Principal{ID: auth.Local}, "without credentials"},
		"control":        {good, auth.Principal{ID: "a\nb"}, "control character"},
		"not UTF-8":      {good, auth.Principal{ID: "a", DisplayName: "\xff"}, "control character"},
		"long name":      {good, auth.Principal{ID: "a", Org: strings.Repeat("o", 257)}, "256 bytes"},
		"role":           {good, auth.Principal{ID: "a", Roles: []string{""}}, "role is empty"},
		"role of spaces": {good, auth.Principal{ID: "a", Roles: []string{"\t"}}, "control character"},
	} {
		_, err := auth.ConfiguredKey(tt.text, tt.p)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %q", name, err, tt.want)
		}
		if err != nil && len(tt.text) > 8 && strings.Contains(err.Error(), tt.text[:8]) {
			t.Errorf("%s: error %q contains the key", name, err)
		}
	}
}
