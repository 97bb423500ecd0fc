package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// hostileText moves the cursor, sets the title of the window, and rings the bell; its last
// sequence begins with a character of C1.
const hostileText = "plain\x1b[2J\x1b]0;owned\x07\rover\u009b31mend"

// hostileShown is hostileText on a terminal.
const hostileShown = "plain[2J]0;ownedover31mend"

// TestTextOnTerminal checks that text from others reaches a terminal without control characters,
// and other output unchanged.
func TestTextOnTerminal(t *testing.T) {
	t.Parallel()
	quoted, err := json.Marshal(hostileText)
	if err != nil {
		t.Fatal(err)
	}
	note := fmt.Sprintf(`{"key":%s,"category":%[1]s,"preview":%[1]s,"value":%[1]s,"updatedAt":"2026-01-01T00:00:00Z","expiresAt":"2026-01-02T00:00:00Z"}`, quoted)
	notes := fmt.Sprintf(`{"notes":[%s]}`, note)
	for _, tt := range []struct {
		body string
		args []string
		raw  bool // whether other output has the text itself
	}{
		{note, []string{"memory", "get", "k"}, true},
		{notes, []string{"memory", "list"}, false},
		{notes, []string{"memory", "search", "w"}, false},
		{note, []string{"memory", "set", "k", "text"}, true},
	} {
		url, _ := fakeHub(t, 200, tt.body)
		args := append(tt.args, "--url", url)
		code, out, errs := invoke(t, OS{Terminal: true}, args...)
		if code != 0 || !strings.Contains(out, hostileShown) || out != printable(out) {
			t.Errorf("%v on a terminal: exit %d, %q, %q, want %q without control characters", tt.args, code, out, errs, hostileShown)
		}
		code, out, errs = invoke(t, OS{}, args...)
		if want := hostileText; code != 0 || tt.raw && !strings.Contains(out, want) {
			t.Errorf("%v elsewhere: exit %d, %q, %q, want %q", tt.args, code, out, errs, want)
		}
	}
}

// TestNoteIsExactElsewhere checks the bytes of a note in output that is no terminal.
func TestNoteIsExactElsewhere(t *testing.T) {
	t.Parallel()
	url, _ := fakeHub(t, 200, `{"key":"k","value":"a\u001b[31m\r\nb\t\u0000\u009b"}`)
	code, out, _ := invoke(t, OS{}, "memory", "get", "k", "--url", url)
	if want := "a\x1b[31m\r\nb\t\x00\u009b\n"; code != 0 || out != want {
		t.Errorf("memory get = %d, %q, want %q", code, out, want)
	}
}

// TestErrorsOnTerminal checks that text from others is not written raw to standard error, which
// may be a terminal when standard output is none.
func TestErrorsOnTerminal(t *testing.T) {
	t.Parallel()
	quoted, _ := json.Marshal(hostileText)
	url, _ := steps(t, `data: {"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING","message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":`+
		string(quoted)+`}]}}}}`+"\n\ndata: {\"task\":"+taskDone+"}\n\n")
	code, _, errs := invoke(t, OS{}, "send", "--stream", "--url", url, "hi")
	if code != 0 || errs != "working: "+hostileShown+"\n" {
		t.Errorf("send --stream = %d, standard error %q, want %q", code, errs, hostileShown)
	}
}

// TestEscapedWriter checks that characters are removed however the writes divide them.
func TestEscapedWriter(t *testing.T) {
	t.Parallel()
	text := "grüße 🎉\x1b[1m\u009b2J\ttab\nend\x7f"
	want := "grüße 🎉[1m2J\ttab\nend"
	for size := 1; size <= len(text); size++ {
		var b bytes.Buffer
		e := &escaped{w: &b}
		for rest := text; rest != ""; {
			n := min(size, len(rest))
			if got, err := e.Write([]byte(rest[:n])); got != n || err != nil {
				t.Fatalf("Write = %d, %v, want %d", got, err, n)
			}
			rest = rest[n:]
		}
		if b.String() != want {
			t.Errorf("writes of %d bytes: %q, want %q", size, b.String(), want)
		}
	}
	var b bytes.Buffer
	e := &escaped{w: &b}
	fmt.Fprint(e, "a\x9b")
	fmt.Fprint(e, "b\xc2", "c")
	if b.String() != "a\ufffdb\ufffdc" {
		t.Errorf("bytes that are no UTF-8: %q", b.String())
	}
	gone := errors.New("gone")
	if n, err := (&escaped{w: failing{gone}}).Write([]byte("x")); n != 0 || !errors.Is(err, gone) {
		t.Errorf("Write to a closed terminal = %d, %v", n, err)
	}
}

// failing is a writer that fails.
type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

// TestSavedFilesOfReply checks that a reply with hostile file names is saved completely.
func TestSavedFilesOfReply(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var parts []string
	for _, name := range []string{strings.Repeat("n", 300) + ".pdf", "two\nlines.txt", "../../up.txt", "last.txt"} {
		text, _ := json.Marshal(name)
		parts = append(parts, `{"raw":"YWJj","filename":`+string(text)+`}`)
	}
	url, _ := steps(t, `data: {"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"},"artifacts":[{"artifactId":"a","parts":[`+
		strings.Join(parts, ",")+`]}]}}`+"\n\n")
	code, out, errs := invoke(t, OS{Terminal: true}, "send", "--url", url, "--out", dir, "hi")
	if code != 0 || strings.Count(out, "\n") != 4 || strings.Count(out, "[saved ") != 4 {
		t.Errorf("send --out = %d, %q, %q, want four lines with saved files", code, out, errs)
	}
	saved, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(saved) != 4 {
		t.Errorf("saved files = %q, %v, want four", saved, err)
	}
	for _, path := range saved {
		if name := filepath.Base(path); len(name) > maxFileName || name != fileName(name) || filepath.Ext(name) == "" {
			t.Errorf("the name %q is not safe, or has no extension", name)
		}
	}
}

// TestReplyWithUnsavedFile checks that a file that cannot be saved fails the command, after the
// rest of the reply was printed.
func TestReplyWithUnsavedFile(t *testing.T) {
	t.Parallel()
	for state, code := range map[a2a.TaskState]int{a2a.TaskStateCompleted: exitFailed, a2a.TaskStateInputRequired: exitInterrupted} {
		url, _ := steps(t, `data: {"task":{"id":"t","contextId":"c","status":{"state":"`+string(state)+
			`"},"artifacts":[{"artifactId":"a","parts":[{"raw":"YWJj","filename":"x.txt"},{"text":"the end"}]}]}}`+"\n\n")
		got, out, errs := invoke(t, OS{}, "send", "--url", url, "--out", "/dev/null/x", "hi")
		if got != code || !strings.Contains(out, "x.txt, 3 B, not saved]\nthe end\n") || !strings.Contains(errs, "save x.txt: ") {
			t.Errorf("%s: exit %d, %q, %q, want exit %d, the text and the error", state, got, out, errs, code)
		}
	}
}
