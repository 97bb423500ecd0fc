package audit_test

import (
	"crypto/ed25519"
	"fmt"
	"os"
	"path/filepath"

	"github.com/parley-a2a/parley/internal/audit"
)

// A program that archives copies of logs verifies them.
func ExampleVerify() {
	dir, err := os.MkdirTemp("", "audit")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	log, err := audit.Open(audit.Options{Dir: dir, Key: ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := log.Append(&audit.Record{Actor: audit.Actor{ID: "ann"}, Action: audit.KeyAdd}); err != nil {
		fmt.Println(err)
	}
	if err := log.Close(); err != nil {
		fmt.Println(err)
	}

	path := filepath.Join(dir, "000000000001.jsonl")
	text, _ := os.ReadFile(path)
	_ = os.WriteFile(path, append(text[:300], text[301:]...), 0o600)
	report, err := audit.Verify(dir, audit.Check{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, p := range report.Problems {
		fmt.Printf("line %d, entry %d: %s\n", p.Line, p.Seq, p.Kind)
	}
	// Output: line 1, entry 1: changed
}
