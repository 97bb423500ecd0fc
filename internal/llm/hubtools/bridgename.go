package hubtools

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/parley-a2a/parley/internal/llm/guard"
)

// Prefix is the prefix of the names of the tools.
const Prefix = "a2a__"

// maxToolName is the largest length of a tool's name.
const maxToolName = 64

// pair is a skill of an agent.
type pair struct{ agent, skill string }

// names returns the names of the tools of skills. They do not depend on the order of pairs. A name
// whose words are an order to the model is replaced by a hash.
func names(pairs []pair) map[pair]string {
	plain, count := make(map[pair]string, len(pairs)), make(map[string]int)
	for _, p := range pairs {
		if _, known := plain[p]; !known {
			plain[p] = Prefix + plainly(p.agent) + "__" + plainly(p.skill)
			count[plain[p]]++
		}
	}
	for p, name := range plain {
		if count[name] > 1 || len(name) >= maxToolName || plainly(p.agent) == "" || plainly(p.skill) == "" {
			plain[p] = hashed(name, p)
		}
		if !guard.IsName(plain[p]) { // its words are an order
			plain[p] = hashed(Prefix+"skill", p)
		}
	}
	return plain
}

// plainly returns a text in lower-case letters and digits. Each run of other characters becomes
// "_", except at both ends.
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

// hashed returns a name that no other skill has. Names of the maximum length are hashed as
// well, so that no plain name equals a cut one.
func hashed(name string, p pair) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q", p.agent, p.skill))
	const digits = 10
	// Two underscores before the hash: no plain name of this length, or with three such pairs,
	// exists.
	return name[:min(len(name), maxToolName-digits-2)] + "__" + hex.EncodeToString(sum[:])[:digits]
}
