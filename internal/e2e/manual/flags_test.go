package manual

import (
	"fmt"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// called matches a command line of parley in a page: at the beginning of a line or of a span of
// code, or after a shell's operator.
var called = regexp.MustCompile("(?m)(?:^ *|`|[|&;] *|[A-Z_]+=\\S* )(?:\\./)?parley((?: +[^`|&;)\\n]+)+)")

// flagOf matches a flag in a command line or in the help.
var flagOf = regexp.MustCompile(`(?:^|[\s\[])(-[a-z]\b|--[a-z][a-z0-9-]*)`)

// valueOf matches a flag with a value in the help, usageOf the arguments in the first line of the help.
var (
	valueOf = regexp.MustCompile(`(?:(-[a-z]), )?(--[a-z][a-z0-9-]*)=`)
	usageOf = regexp.MustCompile(`^Usage: [^<\[\n]*([^\n]*?)(?: \[flags\])?\n`)
)

// grammar holds the commands of the program.
type grammar map[string]*usage

// usage lists the flags and the arguments of a command.
type usage struct {
	// flags are the flags, valued those with a value.
	flags, valued []string
	// most is the maximum number of arguments.
	most int
}

func grammarOf(t *testing.T) grammar {
	t.Helper()
	g := grammar{"": {flags: []string{"--help"}}}
	names, _ := commandsOf(t)
	for _, name := range names {
		text := help(t, strings.Fields(name)...)
		_, flags, _ := strings.Cut(text, "\nFlags:\n")
		u := new(usage)
		for _, m := range flagOf.FindAllStringSubmatch(flags, -1) {
			u.flags = append(u.flags, m[1])
		}
		for _, m := range valueOf.FindAllStringSubmatch(flags, -1) {
			u.valued = append(u.valued, m[1:]...)
		}
		arguments := usageOf.FindStringSubmatch(text)
		if arguments == nil {
			t.Fatalf("the help of %s begins with no usage", name)
		}
		if u.most = strings.Count(arguments[1], "<"); strings.Contains(arguments[1], "...") {
			u.most = math.MaxInt
		}
		g[name] = u
	}
	for _, name := range names { // the group of a command has a help, too
		if group, _, found := strings.Cut(name, " "); found && g[group] == nil {
			g[group] = &usage{flags: []string{"--help"}}
		}
	}
	return g
}

// TestCommandsExist: each command and flag that a page or the console names is one of the program.
func TestCommandsExist(t *testing.T) {
	t.Parallel()
	g := grammarOf(t)
	count := 0
	for _, page := range pagesOfTree(t) {
		n, problems := g.examine(read(t, filepath.Join(root, page)))
		count += n
		for _, p := range problems {
			t.Errorf("%s: %s", page, p)
		}
	}
	templates, err := filepath.Glob(filepath.Join(root, "internal/front/console/templates/*.html"))
	if err != nil || len(templates) == 0 {
		t.Fatalf("templates of the console: %v, %v", templates, err)
	}
	for _, template := range templates {
		html := regexp.MustCompile(`{{[^}]*}}`).ReplaceAllString(read(t, template), "x")
		_, problems := g.examine(strings.NewReplacer("<pre>", "\n", "</pre>", "\n", "<code>", "`", "</code>", "`").Replace(html))
		for _, p := range problems {
			t.Errorf("%s: %s", filepath.Base(template), p)
		}
	}
	if count < 150 {
		t.Errorf("the pages have %d command lines; the pattern of this test does not match them", count)
	}
	t.Logf("%d command lines", count)
}

// pagesOfTree returns the pages for users.
func pagesOfTree(t *testing.T) []string {
	t.Helper()
	pages := []string{"README.md", "SECURITY.md"}
	for _, p := range manualPages(t) {
		if !strings.HasPrefix(p, "adr/") {
			pages = append(pages, "docs/"+p)
		}
	}
	examples, err := filepath.Glob(filepath.Join(root, "examples", "*", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range examples {
		pages = append(pages, strings.TrimPrefix(filepath.ToSlash(e), "../../../"))
	}
	return pages
}

// examine returns the number of command lines in a page, and those that do not exist.
func (g grammar) examine(page string) (count int, problems []string) {
	page = strings.NewReplacer("\\\n", " ", "$(", "\n").Replace(page)
	for _, m := range called.FindAllStringSubmatch(page, -1) {
		words := strings.Fields(before(m[1]))
		if len(words) == 0 || !regexp.MustCompile(`^(--|[a-z]+$)`).MatchString(words[0]) {
			continue // a sentence, or an address
		}
		count++
		if p := g.wrong(words); p != "" {
			problems = append(problems, fmt.Sprintf("%s in %q", p, "parley"+m[1]))
		}
	}
	return count, problems
}

// before returns the part of a command line before a comment and before the words after "--".
func before(line string) string {
	line, _, _ = strings.Cut(line, " #")
	line, _, _ = strings.Cut(line, " -- ")
	return regexp.MustCompile(`'[^']*'|"[^"]*"`).ReplaceAllString(line, "x")
}

// wrong describes the word of a command line that does not exist.
func (g grammar) wrong(words []string) string {
	name := words[0]
	if len(words) > 1 && g[name+" "+words[1]] != nil {
		name += " " + words[1]
	}
	u, rest := g[name], words[1+strings.Count(name, " "):]
	if strings.HasPrefix(name, "--") {
		u, rest = g[""], words
	}
	if u == nil {
		return "there is no command " + name
	}
	for _, m := range flagOf.FindAllStringSubmatch(" "+strings.Join(words, " "), -1) {
		if !slices.Contains(u.flags, m[1]) {
			return fmt.Sprintf("%s has no flag %s", name, m[1])
		}
	}
	if n := u.arguments(rest); n > u.most {
		return fmt.Sprintf("%s has %d arguments, of at most %d", name, n, u.most)
	}
	return ""
}

// arguments counts the words that are neither flags nor their values, up to a redirection. A sentence has
// none.
func (u *usage) arguments(words []string) (n int) {
	if len(words) > 0 && regexp.MustCompile(`[a-z]\.$`).MatchString(words[len(words)-1]) {
		return 0
	}
	for i := 0; i < len(words); i++ {
		switch w := words[i]; {
		case strings.ContainsAny(w, "<>"):
			return n
		case slices.Contains(u.valued, w):
			i++
		case !strings.HasPrefix(w, "-"):
			n++
		}
	}
	return n
}

func TestCommandsExistRule(t *testing.T) {
	t.Parallel()
	g := grammar{
		"": {flags: []string{"--help"}}, "send": {flags: []string{"--agent", "-o"}, valued: []string{"--agent", "-o"}, most: 1},
		"tasks": {flags: []string{"--help"}}, "tasks list": {flags: []string{"--all"}},
	}
	page := "`parley send --agent x hello`\n```sh\nparley send --nothing x  # --agent\nid=$(parley tasks list --all)\nX=1 parley what now\nparley tasks list \\\n  --some\nparley tasks list t\nparley send --agent x two words\nparley send -o json hello >out\nparley send -x hello\n```\nthe parley of agents; parley-data"
	count, problems := g.examine(page)
	if count != 9 || len(problems) != 6 {
		t.Errorf("examine: %d command lines, %q; want 9 and 6 problems", count, problems)
	}
}
