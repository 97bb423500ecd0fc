package config_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/internal/config"
)

func TestPartsProblems(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]string{
		"parts: {expiry: 1h}":                     "parts.threshold",
		"parts: {dir: elsewhere}":                 "", // it may hold files from a time with a threshold
		"parts: {threshold: 2MiB, max: 1MiB}":     "parts.max",
		"parts: {threshold: -1}":                  "parts.threshold",
		"parts: {threshold: 1MiB, expiry: never}": "parts.expiry",
		"parts: {threshold: 0}":                   "",
		"parts: {threshold: 1MiB}":                "",
	} {
		_, err := config.Parse("parley.yaml", []byte(src), func(string) (string, bool) { return "", false })
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("Parse(%s) = %v, want a problem of %q", src, err, want)
		}
	}
}

func TestPartsDir(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "parley.yaml")
	c, err := config.Parse(file, []byte("parts: {threshold: 1, dir: big}"), func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(filepath.Dir(file), "big"); c.Parts.Dir != want {
		t.Errorf("parts.dir = %s, want %s", c.Parts.Dir, want)
	}
}
