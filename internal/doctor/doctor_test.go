package doctor

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var now = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// levels returns a short form of the findings.
func levels(all []Finding) []string {
	var out []string
	for _, f := range all {
		out = append(out, string(f.Level)+" "+f.Subject)
	}
	return out
}

func TestSound(t *testing.T) {
	t.Parallel()
	got := levels(Examine(&Facts{
		Now: now, Listen: []string{"0.0.0.0:4100"}, PublicURL: "https://hub.example", Issuers: 1,
		Keys:     []Key{{ID: "k", Agent: "a", Created: now.Add(-time.Hour)}, {ID: "old", Dead: true, Created: now.Add(-9 * keyAge)}},
		Openings: []Opening{{Key: "push.allow", Access: "10.1.0.0/16"}},
		Files:    []File{{"master.key", 0o600}}, Free: 50 << 30, Total: 100 << 30,
		Peers: []Peer{{Name: "agent w", URL: "https://w.example", Credentials: true, Skew: time.Second}},
	}))
	want := []string{"ok access", "ok transport", "ok policy", "ok disk", "ok peers"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}

func TestWeak(t *testing.T) {
	t.Parallel()
	all := Examine(&Facts{
		Now: now, Listen: []string{"127.0.0.1:4100", "0.0.0.0:4101"}, AllowAnonymous: true,
		Keys: []Key{
			{ID: "k1", Agent: "a", Created: now.Add(-2 * keyAge)},
			{ID: "k2", Agent: "b", Created: now, Expires: now.Add(time.Hour)},
		},
		Openings: []Opening{{Key: "push.allow", Access: "every address", Wide: true}},
		Files:    []File{{"parley.yaml", 0o644}}, Free: 1 << 20, Total: 100 << 30,
		Peers: []Peer{
			{Name: "agent gone", URL: "https://gone.example", Problem: "connection refused"},
			{Name: "agent plain", URL: "http://plain.example", Credentials: true},
			{Name: "agent late", URL: "https://late.example", Skew: -2 * time.Hour},
			{Name: "agent here", URL: "http://127.0.0.1:9", Credentials: true},
		},
	})
	want := []string{
		"wrong access", "wrong peers", "weak transport", "weak keys", "weak keys", "weak policy", "weak files", "weak disk",
		"weak peers", "weak peers", "ok peers",
	}
	if diff := cmp.Diff(want, levels(all)); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
	for _, f := range all {
		if f.Text == "" || f.Level != OK && f.Advice == "" {
			t.Errorf("%+v lacks its text or advice", f)
		}
	}
}

// TestAccess has the callers that are accepted, for each way to configure that.
func TestAccess(t *testing.T) {
	t.Parallel()
	everywhere, here := []string{"[::]:4100"}, []string{"[::1]:4100"}
	good := []Key{{ID: "k"}}
	for name, tc := range map[string]struct {
		facts Facts
		want  string
	}{
		"no keys, only here":   {Facts{Listen: here}, "ok only this machine"},
		"keys":                 {Facts{Listen: everywhere, Keys: good}, "ok every caller needs"},
		"tokens":               {Facts{Listen: everywhere, Issuers: 1}, "ok every caller needs"},
		"anonymous":            {Facts{Listen: everywhere, Keys: good, AllowAnonymous: true}, "wrong every machine"},
		"anonymous, only here": {Facts{Listen: here, AllowAnonymous: true}, "weak callers without"},
		"does not start":       {Facts{Listen: everywhere}, "wrong the hub will not start"},
		"all are dead":         {Facts{Listen: here, Keys: []Key{{Dead: true}}}, "wrong no key is valid"},
		"not known":            {Facts{Listen: here, NoKeys: "the hub does not answer"}, "unknown cannot determine whether callers"},
	} {
		got := access(&tc.facts)[0]
		if text := string(got.Level) + " " + got.Text; !strings.HasPrefix(text, tc.want) {
			t.Errorf("%s: %q, want %q", name, text, tc.want)
		}
	}
}

func TestTransport(t *testing.T) {
	t.Parallel()
	for public, want := range map[string]Level{"": Weak, "http://hub.example": Weak, "https://hub.example": OK} {
		if got := transport(&Facts{Listen: []string{":4100"}, PublicURL: public}); got[0].Level != want {
			t.Errorf("public_url %q: %+v, want %s", public, got[0], want)
		}
	}
	if got := transport(&Facts{Listen: []string{"localhost:4100"}}); got != nil {
		t.Errorf("on this machine: %+v", got)
	}
}

// TestNoAudit: a hub without an audit log is reported.
func TestNoAudit(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		listen string
		off    bool
		want   Level
	}{{"0.0.0.0:4100", true, Weak}, {"127.0.0.1:4100", true, OK}, {"0.0.0.0:4100", false, ""}} {
		var got Level
		for _, f := range Examine(&Facts{Listen: []string{tt.listen}, NoAudit: tt.off}) {
			if f.Subject == "audit" {
				got = f.Level
			}
		}
		if got != tt.want {
			t.Errorf("a hub at %s whose audit log is off (%v): %q, want %q", tt.listen, tt.off, got, tt.want)
		}
	}
}

// TestRevocationLists: lists that have expired, expire soon, or are missing are reported.
func TestRevocationLists(t *testing.T) {
	t.Parallel()
	at := func(d time.Duration) time.Time { return now.Add(d) }
	var got []string
	for _, f := range revoked(&Facts{Now: now, TLS: &TLS{
		Lists: []RevocationList{
			{Authority: "CN=ended", Ends: at(-time.Minute)},
			{Authority: "CN=soon", Ends: at(time.Hour)},
			{Authority: "CN=good", Ends: at(24 * time.Hour)},
			{Authority: "CN=endless"},
		},
		Unlisted: []string{"CN=none"},
	}}) {
		got = append(got, string(f.Level)+" "+f.Text)
	}
	want := []string{
		"wrong the revocation list of CN=ended expired at 2026-05-01T11:59:00Z: its certificates are rejected",
		"weak the revocation list of CN=soon expires at 2026-05-01T13:00:00Z: its certificates are rejected after that",
		"weak the authority CN=none has no list in tls.client_crl: certificates that it has revoked are accepted",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}

// TestDisk checks at which free space a disk is reported, for small and large disks.
func TestDisk(t *testing.T) {
	t.Parallel()
	const gib = 1 << 30
	for _, tt := range []struct {
		free, total uint64
		want        Level
	}{
		{0, 0, Unknown},
		{gib - 1, 2 * gib, Weak},
		{gib, 2 * gib, OK},
		{2 * gib, 50 * gib, Weak},
		{3 * gib, 50 * gib, OK},
		{4*gib - 1, 1000 * gib, Weak},
		{4 * gib, 1000 * gib, OK},
	} {
		if got := disk(&Facts{Free: tt.free, Total: tt.total})[0].Level; got != tt.want {
			t.Errorf("%d of %d MiB free: %v, want %v", tt.free>>20, tt.total>>20, got, tt.want)
		}
	}
}
