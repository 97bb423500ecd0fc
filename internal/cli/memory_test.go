package cli

import (
	"strings"
	"testing"
)

// TestKeysThatFitNoRequest: a key that is far too long is refused before anybody is asked.
func TestKeysThatFitNoRequest(t *testing.T) {
	t.Parallel()
	key := strings.Repeat("k", 1<<20)
	for _, args := range [][]string{{"get", key}, {"set", key, "x"}, {"delete", key}, {"delete", "--prefix", key}} {
		code, out, errs := invoke(t, OS{}, append([]string{"memory"}, args...)...)
		if code != 2 || out != "" || !strings.Contains(errs, "it has 1048576 bytes; the longest has 512") || len(errs) > 500 {
			t.Errorf("memory %s: exit %d, %q, %.300q", args[0], code, out, errs)
		}
	}
}
