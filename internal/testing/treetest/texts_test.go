package treetest

import (
	"flag"
	"go/ast"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var updateTexts = flag.Bool("update-texts", false, "record the texts of the program")

// textsFile has all texts of the program that people read, to be read in one sitting.
const textsFile = "internal/testing/treetest/testdata/texts.txt"

// TestTexts compares the texts that people read with the recorded ones: errors, log messages, what
// commands print, and their help. The author of a change sees the text among all others of the package.
func TestTexts(t *testing.T) {
	t.Parallel()
	tr := load(t)
	byDir := make(map[string][]string)
	for _, s := range tr.code() {
		if dir := s.dir(); !strings.HasPrefix(dir, "internal/testing") && !strings.HasPrefix(dir, "internal/e2e") && !strings.Contains(dir+"/", "/e2e/") && !strings.HasPrefix(dir, "cmd/bench") && !strings.HasPrefix(dir, "examples") {
			byDir[dir] = append(byDir[dir], s.texts()...)
		}
	}
	var b strings.Builder
	for _, dir := range slices.Sorted(maps.Keys(byDir)) {
		texts := byDir[dir]
		slices.Sort(texts)
		if texts = slices.Compact(texts); len(texts) > 0 {
			b.WriteString("# " + dir + "\n" + strings.Join(texts, "\n") + "\n\n")
		}
	}
	if *updateTexts {
		if err := os.WriteFile(filepath.Join(tr.root, textsFile), []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if tr.read(t, textsFile) != b.String() {
		t.Errorf("texts of the program have changed; run: go test ./internal/testing/treetest -run TestTexts -update-texts, and read what differs")
	}
}

// texts returns the texts of more than one word in s, without SQL, and those of help tags.
func (s *source) texts() (all []string) {
	ast.Inspect(s.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BasicLit:
			if text, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING && isText(text) {
				all = append(all, strconv.Quote(text))
			}
		case *ast.Field:
			if n.Tag == nil {
				return true
			}
			if tag, err := strconv.Unquote(n.Tag.Value); err == nil {
				if help := reflect.StructTag(tag).Get("help"); help != "" {
					all = append(all, strconv.Quote(help))
				}
			}
			return false // fields of structs within are reached by no one who prints a text
		}
		return true
	})
	return all
}

// isText reports whether a string is a text that people read.
func isText(s string) bool {
	first, rest, ok := strings.Cut(strings.TrimSpace(s), " ")
	return ok && rest != "" && !strings.HasPrefix(s, "{") && strings.ToUpper(first) != first && strings.ContainsAny(rest, "abcdefghijklmnopqrstuvwxyz") ||
		strings.HasPrefix(s, "%") && strings.ContainsAny(s, " ")
}
