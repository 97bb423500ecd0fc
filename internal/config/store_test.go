package config

import "testing"

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
