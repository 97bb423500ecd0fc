package manual

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
	"github.com/parley-a2a/parley/internal/testing/testenv"
)

// docs is the folder of the pages.
var docs = filepath.Join("..", "..", "..", "docs")

// TestPages types the blocks of the README, the tutorial and each how-to.
func TestPages(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob(filepath.Join(docs, "howto", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range append(pages, filepath.Join(docs, "start.md"), filepath.Join(root, "README.md")) {
		t.Run(filepath.Base(page), func(t *testing.T) {
			t.Parallel()
			typed(t, page)
		})
	}
}

// typed runs all blocks of a page in one shell, and compares their output.
func typed(t *testing.T, page string) {
	t.Helper()
	all, err := blocks(read(t, page))
	if err != nil {
		t.Fatalf("%s: %v", page, err)
	}
	s := &session{t: t, page: page, dir: t.TempDir()}
	s.ask(all)
	s.write("script", s.script(all))
	log, err := os.Create(filepath.Join(s.dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd := inCell(t, filepath.Join(s.dir, "script"), s.environment())
	cmd.Stdout, cmd.Stderr = log, log
	ended := cmd.Run()
	for i, b := range all {
		s.check(i, b, following(all, i))
	}
	if ended != nil {
		t.Errorf("%s: %v\n%s", page, ended, read(t, log.Name()))
	}
}

// following returns the output block after block i, or nil.
func following(all []block, i int) *block {
	if i+1 < len(all) && all[i+1].kind == output {
		return &all[i+1]
	}
	return nil
}

// session is the shell that types a page.
type session struct {
	t    *testing.T
	page string
	dir  string // for the files of the test; the shell works in its subfolder home
}

// ask asks for the programs that blocks start and that small machines lack.
func (s *session) ask(all []block) {
	s.t.Helper()
	for _, name := range []string{"curl", "openssl", "pgrep", "python3"} {
		word := regexp.MustCompile(`\b` + name + `\b`)
		starts := func(b block) bool { return (b.kind == commands || b.kind == background) && word.MatchString(b.text) }
		if !slices.ContainsFunc(all, starts) {
			continue
		}
		path := testenv.Tool(s.t, name)
		if name == "python3" {
			// An environment with packages needs a network to be made, so it is made before.
			venv := testenv.Made(s.t, "internal/e2e/interop/python/v1/.venv")
			s.write("bin/python3", fmt.Sprintf("#!/bin/sh\nif [ \"$1 $2\" = '-m venv' ]; then exec ln -s %s \"$3\"; fi\nexec %s \"$@\"\n", venv, path))
		}
	}
}

// environment makes the home folder and the programs of the machine, and returns its variables.
func (s *session) environment() []string {
	if err := os.MkdirAll(filepath.Join(s.dir, "bin"), 0o755); err != nil {
		s.t.Fatal(err)
	}
	program, err := filepath.Abs(hubtest.Binary(s.t))
	if err != nil {
		s.t.Fatal(err)
	}
	if err := os.Symlink(program, filepath.Join(s.dir, "bin", "parley")); err != nil {
		s.t.Fatal(err)
	}
	return []string{
		"HOME=" + filepath.Join(s.dir, "home"), "PATH=" + filepath.Join(s.dir, "bin") + ":/usr/bin:/bin",
		"LANG=C.UTF-8", "PIP_DISABLE_PIP_VERSION_CHECK=1", "PIP_ROOT_USER_ACTION=ignore", "GORACE=atexit_sleep_ms=0",
	}
}

// script returns the script that runs the blocks. It stops at the first command that fails.
func (s *session) script(all []block) string {
	var b strings.Builder
	fmt.Fprintf(&b, "set -eu\nmkdir %[1]s/home; cd %[1]s/home\n", s.dir)
	for i, k := range all {
		at := filepath.Join(s.dir, fmt.Sprint(i))
		s.write(fmt.Sprint(i), k.text)
		switch k.kind {
		case file:
			fmt.Fprintf(&b, "mkdir -p \"$(dirname %[2]s)\"; cp %[1]s %[2]s\n", at, k.name)
		case commands:
			fmt.Fprintf(&b, "exec >%[1]s.out 2>&1; . %[1]s\n", at)
		case background:
			fmt.Fprintf(&b, "exec {bg}< <(. %[1]s 2>&1)\n", at)
			fmt.Fprintf(&b, "until_line() { while IFS= read -r line <&$bg; do printf '%%s\\n' \"$line\"; [[ $line == %s ]] && return; done; return 1; }\n", s.ready(all, i))
			fmt.Fprintf(&b, "until_line >%s.out\ncat <&$bg >/dev/null &\n", at)
		}
	}
	return b.String()
}

// ready returns the pattern of the line at which the page continues after a background block.
func (s *session) ready(all []block, i int) string {
	want := following(all, i)
	if want == nil {
		s.t.Fatalf("%s:%d: no text block shows when the page continues", s.page, all[i].line)
	}
	lines := strings.Split(strings.TrimSuffix(want.text, "\n"), "\n")
	last := strings.Split(lines[len(lines)-1], "…")
	for i := range last {
		last[i] = "'" + strings.ReplaceAll(last[i], "'", `'\''`) + "'"
	}
	return strings.Join(last, "*")
}

// check compares the output of block i with the one that the page shows.
func (s *session) check(i int, b block, want *block) {
	s.t.Helper()
	switch b.kind {
	case file:
		if !strings.Contains(b.lead, "`"+b.name+"`") {
			s.t.Errorf("%s:%d: the text before the block does not name the file `%s`", s.page, b.line, b.name)
		}
	case elsewhere:
		s.foreign(b)
	case commands, background:
		got, err := os.ReadFile(filepath.Join(s.dir, fmt.Sprintf("%d.out", i)))
		if err != nil {
			s.t.Errorf("%s:%d: the block has not run", s.page, b.line)
		} else if want != nil && !matches(want.text, string(got)) {
			s.t.Errorf("%s:%d: the output is\n%s\nwant\n%s", s.page, b.line, got, want.text)
		} else {
			s.t.Logf("%s:%d: %s", s.page, b.line, got)
		}
	}
}

// others are the programs that blocks of the kind "sh elsewhere" are for. ./parley is the program that a clone
// builds, see .ci/empty. What sha256sum verifies and install.sh downloads is a release.
var others = regexp.MustCompile(`^(sudo |)(git|make|cp|go|npm|docker|helm|kubectl|systemctl|apt|dpkg|rpm|brew|scoop|sha256sum|claude|cd|\./parley|curl .*/install\.sh)\b`)

// foreign checks that a block which is not run is for programs that no test has.
func (s *session) foreign(b block) {
	for line := range strings.Lines(b.text) {
		if !others.MatchString(line) && !strings.HasPrefix(line, "#") {
			s.t.Errorf("%s:%d: a test can run %q; make the block sh", s.page, b.line, line)
		}
	}
}

func (s *session) write(name, text string) {
	s.t.Helper()
	at := filepath.Join(s.dir, name)
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(at, []byte(text), 0o755); err != nil {
		s.t.Fatal(err)
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
