package audit

import (
	"bytes"
	"path/filepath"
	"testing"
)

// FuzzVerify verifies arbitrary bytes as a log: Verify never panics, and accepts no log with an
// invalid line.
func FuzzVerify(f *testing.F) {
	dir := write(f, 3, Options{})
	whole := text(f, only(f, dir))
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	f.Add([]byte("{}\n{\"seq\":1}\n"))
	f.Add([]byte(`{"seq":18446744073709551615,"at":"2026-11-22T12:00:00Z","action":"audit.pruned","prev":"","hash":""}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		path := filepath.Join(t.TempDir(), "log.jsonl")
		put(t, path, b)
		rep := check(t, path, Check{})
		bad := 0
		for line := range bytes.Lines(b) {
			if _, err := Parse(line); err != nil && line[len(line)-1] == '\n' {
				bad++
			}
		}
		if bad > 0 && len(rep.Problems) == 0 {
			t.Errorf("%d lines are not entries, and nothing was found", bad)
		}
	})
}
