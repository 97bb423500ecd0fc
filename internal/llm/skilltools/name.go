package skilltools

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// Prefix begins the names of the tools.
const Prefix = "a2a__"

// maxName is how long the name of a tool may be.
const maxName = 64

// pair is a skill of an agent.
type pair struct{ agent, skill string }

// names returns the names of the tools of skills. They do not depend on the order.
func names(pairs []pair) map[pair]string {
	plain, count := make(map[pair]string, len(pairs)), make(map[string]int)
	for _, p := range pairs {
		if _, known := plain[p]; !known {
			plain[p] = Prefix + plainly(p.agent) + "__" + plainly(p.skill)
			count[plain[p]]++
		}
	}
	for p, name := range plain {
		if count[name] > 1 || len(name) >= maxName || plainly(p.agent) == "" || plainly(p.skill) == "" {
			plain[p] = hashed(name, p)
		}
	}
	return plain
}

// plainly returns a text in small letters and digits, with "_" for every run of others but
// at its ends.
func plainly(s string) string {
	var b strings.Builder
	gap := false
	for _, r := range strings.ToLower(s) {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			if gap && b.Len() > 0 {
				b.WriteByte('_')
			}
			b.WriteRune(r)
			gap = false
		} else {
			gap = true
		}
	}
	return b.String()
}

// hashed returns a name that no other skill has. Whatever is as long as the longest one is
// hashed, so that no plain name looks like one that was cut.
func hashed(name string, p pair) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q", p.agent, p.skill))
	const digits = 10
	// Two underscores: a plain name of this length, or with three pairs of them, there is none.
	return name[:min(len(name), maxName-digits-2)] + "__" + hex.EncodeToString(sum[:])[:digits]
}
