package workertest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// step is a line of a transcript.
type step struct {
	line string
	// actor is the first word, which names the sender or the action; kind is the type of
	// the message, and flag "again" or "queue".
	actor, flag, kind string
	// text is the rest of the line, and members its JSON, if it is an object.
	text    string
	members map[string]any
}

// words match the beginning of a line.
var words = regexp.MustCompile(`^(hub|forger|unsigned|tampered|worker|dead|raw|content|piece|damaged|stop)(?: +(again|queue)\b)?(?: +([a-z]+(?:\.[a-z]+)*)\b)? ?(.*)$`)

// parse reads a transcript.
func parse(text string) ([]step, error) {
	var steps []step
	for n, line := range strings.Split(text, "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		m := words.FindStringSubmatch(line)
		if m == nil {
			return nil, fmt.Errorf("line %d: %q is no line of a transcript", n+1, line)
		}
		s := step{line: fmt.Sprintf("line %d: %s", n+1, line), actor: m[1], flag: m[2], kind: m[3], text: m[4]}
		if s.actor == "raw" {
			s.kind, s.text = "", strings.TrimPrefix(line, "raw ")
		} else if strings.HasPrefix(s.text, "{") {
			if err := json.Unmarshal([]byte(s.text), &s.members); err != nil {
				return nil, fmt.Errorf("line %d: %w", n+1, err)
			}
		}
		steps = append(steps, s)
	}
	return steps, nil
}

// transcripts returns the steps of each transcript by its name.
func transcripts(t *testing.T) map[string][]step {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root(t), "internal", "bus", "transcripts", "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	all := make(map[string][]step)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		steps, err := parse(string(text))
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		all[strings.TrimSuffix(filepath.Base(file), ".txt")] = steps
	}
	return all
}

// root returns the folder of the main module.
func root(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "internal", "bus", "transcripts")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			t.Fatal("no folder above has internal/bus/transcripts")
		}
		dir = filepath.Dir(dir)
	}
}

// values are those of the names in a transcript.
type values map[string]any

// fill returns v with the values of its names.
func (n values) fill(v any) any {
	switch v := v.(type) {
	case string:
		if bound, ok := n[v]; ok {
			return bound
		}
	case map[string]any:
		filled := make(map[string]any, len(v))
		for name, member := range v {
			filled[name] = n.fill(member)
		}
		return filled
	case []any:
		filled := make([]any, len(v))
		for i, item := range v {
			filled[i] = n.fill(item)
		}
		return filled
	}
	return v
}

// match compares a pattern with a value, and binds the new names of the pattern if all agree. It
// returns the path of the difference, or "".
func (n values) match(pattern, got any) string {
	bound := values{}
	if diff := n.differ("", pattern, got, bound); diff != "" {
		return diff
	}
	for name, v := range bound {
		n[name] = v
	}
	return ""
}

func (n values) differ(path string, pattern, got any, bound values) string {
	switch p := pattern.(type) {
	case map[string]any:
		m, ok := got.(map[string]any)
		if !ok {
			return fmt.Sprintf("%s: %v is no object", path, got)
		}
		for name, member := range p {
			if diff := n.differ(path+"."+name, member, m[name], bound); diff != "" {
				return diff
			}
		}
		return ""
	case []any:
		return n.differList(path, p, got, bound)
	case string:
		return n.differText(path, p, got, bound)
	}
	if pattern != got {
		return fmt.Sprintf("%s: %v, want %v", path, got, pattern)
	}
	return ""
}

func (n values) differList(path string, pattern []any, got any, bound values) string {
	list, ok := got.([]any)
	if !ok || len(list) != len(pattern) {
		return fmt.Sprintf("%s: %v, want a list of %d", path, got, len(pattern))
	}
	for i := range pattern {
		if diff := n.differ(fmt.Sprintf("%s[%d]", path, i), pattern[i], list[i], bound); diff != "" {
			return diff
		}
	}
	return ""
}

func (n values) differText(path, pattern string, got any, bound values) string {
	if expression, ok := strings.CutPrefix(pattern, "~"); ok {
		if text, _ := got.(string); regexp.MustCompile(expression).MatchString(text) {
			return ""
		}
		return fmt.Sprintf("%s: %v does not match %s", path, got, expression)
	}
	want, given := any(pattern), ""
	if name := regexp.MustCompile(`\$[A-Z0-9]+`).FindString(pattern); name != "" {
		value, ok := n[name]
		switch {
		case !ok && name == pattern && got != nil:
			bound[name] = got
			return ""
		case name == pattern:
			want = value
		default:
			given, _ = value.(string)
			want = strings.Replace(pattern, name, given, 1)
		}
	}
	if want != got {
		return fmt.Sprintf("%s: %v, want %v", path, got, want)
	}
	return ""
}
