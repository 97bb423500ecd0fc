package guard

import (
	"math/rand/v2"
	"strings"
	"testing"
)

func TestReadable(t *testing.T) {
	t.Parallel()
	const text = "A bridge over a river, für Anna."
	wide := strings.NewReplacer("ü", "\xfc\x00").Replace(strings.Join(strings.Split(text, ""), "\x00") + "\x00")
	for name, tt := range map[string]struct {
		raw  string
		want bool
	}{
		"text":          {text, true},
		"after bytes":   {"\x89PNG\x00\x00" + text + "\x00\xff\x00", true},
		"short":         {"\xff\x00A bridge\x00\xff", false},
		"not in UTF-16": {"\xff\x00" + wide[:20] + "\xff\xff", false},
	} {
		if got := strings.Contains(Readable([]byte(tt.raw)), text); got != tt.want {
			t.Errorf("%s: %q is read: %v", name, Readable([]byte(tt.raw)), got)
		}
	}
}

// Bytes without a meaning have no orders.
func TestRandomFiles(t *testing.T) {
	t.Parallel()
	random := rand.NewChaCha8([32]byte{1})
	raw := make([]byte, 1<<18)
	for range 2 {
		_, _ = random.Read(raw)
		if found := graveOnly(ScreenFile(raw)); len(found) > 0 {
			t.Errorf("random bytes have the orders %v: %q", found, Readable(raw)[found[0].Start:found[0].End])
		}
	}
}
