package config

import (
	"slices"
	"strings"
	"testing"
)

func TestCheckStore(t *testing.T) {
	t.Parallel()
	for text, valid := range map[string]bool{
		"": true, "sqlite": true, "postgres://u:p@h/d": true, "postgresql:///d?host=/run/postgresql": true,
		"postgres://h": false, "postgres://h/": false, "mysql://h/d": false, "file.db": false, "postgres://u:p@[::1/d": false,
	} {
		if got := CheckStore(text); (got == "") != valid {
			t.Errorf("CheckStore(%q) = %q, valid: %t", text, got, valid)
		}
	}
}

// A log over several databases names each once, and the home among them.
func TestDatabases(t *testing.T) {
	t.Parallel()
	const a, b = `"postgres://u:first@h/a"`, `"postgres://u:second@h/b"`
	for text, want := range map[string]string{
		"hub_id: x\nstore: {home: " + a + ", databases: [" + a + ", " + b + "]}":            "",
		"hub_id: x\nstore: {home: " + a + ", databases: [" + b + "]}":                       "store.home: must be one of store.databases",
		"hub_id: x\nstore: {databases: [" + a + "]}":                                        "store.home: must be one of store.databases",
		"hub_id: x\nstore: {home: " + a + ", databases: [" + a + ", " + b + ", " + b + "]}": "store.databases[2]: lists a database twice",
		"hub_id: x\nstore: {home: sqlite, databases: [sqlite]}":                             "store.databases[0]: must be the address of a database",
		"hub_id: x\nstore: {home: " + a + ", databases: ['mysql://h/a']}":                   "store.databases[0]: must be",
		"store: {home: " + a + ", databases: [" + a + "]}":                                  "store.databases: needs hub_id",
	} {
		c, err := Parse("parley.yaml", []byte(text), nil)
		switch {
		case want != "":
			if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "second") {
				t.Errorf("%s: %v, want %q", text, err, want)
			}
		case err != nil:
			t.Errorf("%s: %v", text, err)
		default:
			if got := c.Secrets(); !slices.Contains(got, "first") || !slices.Contains(got, "second") || len(c.Store.Others()) != 1 {
				t.Errorf("secrets %q, others %q", got, c.Store.Others())
			}
		}
	}
}

func TestStoreIsASecret(t *testing.T) {
	t.Parallel()
	c, err := Parse("parley.yaml", []byte("store: \"postgres://u:s3cret@h/d\"\nmaster_key: k3y"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Secrets(); len(got) != 2 || got[0] != "s3cret" || got[1] != "k3y" {
		t.Errorf("Secrets = %q", got)
	}
	if _, err := Parse("parley.yaml", []byte("store: \"mysql://u:s3cret@h/d\""), nil); err == nil {
		t.Error("a store of another kind was accepted")
	}
}

func TestStoreDirect(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"store: postgres://pooler/d\nstore_direct: postgres://u:s3cret@h/d": "",
		"store_direct: postgres://h/d":                                      "", // the environment may name the store
		"store: sqlite\nstore_direct: postgres://h/d":                       "store is sqlite",
		"store: postgres://pooler/d\nstore_direct: sqlite":                  "must be the address",
		"store: postgres://pooler/d\nstore_direct: postgres://u:s3cret@h":   "must be the address",
	} {
		c, err := Parse("parley.yaml", []byte(text), nil)
		if (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cret")) {
			t.Errorf("Parse(%q): %v, want %q", text, err, want)
		}
		if err == nil && strings.Contains(text, "s3cret") && !slices.Contains(c.Secrets(), "s3cret") {
			t.Errorf("Secrets of %q = %q", text, c.Secrets())
		}
	}
}
