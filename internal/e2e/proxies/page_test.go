package proxies

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// page is the text of docs/howto/proxy.md.
func page(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "howto", "proxy.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// block returns the block of the page that is a file.
func block(t *testing.T, file string) string {
	t.Helper()
	m := regexp.MustCompile("(?ms)^```\\w+ " + regexp.QuoteMeta(file) + "\n(.*?)^```$").FindStringSubmatch(page(t))
	if m == nil {
		t.Fatalf("the page has no file %s", file)
	}
	return m[1]
}

// lines returns the line of a proxy's configuration at the root, and the one below a path, from the table
// of the page.
func lines(t *testing.T, proxy string) (root, below string) {
	t.Helper()
	for line := range strings.Lines(page(t)) {
		cells := strings.Split(strings.TrimSpace(line), " | ")
		if len(cells) == 3 && cells[0] == "| "+proxy {
			return strings.Trim(cells[1], "`"), strings.Trim(strings.TrimSuffix(cells[2], "|"), " `")
		}
	}
	t.Fatalf("the table of the page has no row for %s", proxy)
	return "", ""
}

// replaced returns text with each old text replaced by the new one after it. Each must occur.
func replaced(t *testing.T, text string, pairs ...string) string {
	t.Helper()
	for i := 0; i+1 < len(pairs); i += 2 {
		if !strings.Contains(text, pairs[i]) {
			t.Fatalf("the page no longer has %q in\n%s", pairs[i], text)
		}
		text = strings.ReplaceAll(text, pairs[i], pairs[i+1])
	}
	return text
}
