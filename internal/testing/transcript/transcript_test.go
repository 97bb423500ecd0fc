package transcript

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// story writes a transcript and returns its name.
func story(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "story.txtar")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

func content(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// parrot echoes the body of the request, with a header that no suite shows.
func parrot(r Request) Response {
	h := http.Header{"Content-Type": {"text/plain"}, "Date": {"today"}}
	if r.Body == "" {
		return Response{Code: http.StatusNoContent}
	}
	text := fmt.Sprintf("%s %s %q\n%s\n", r.Method, r.Path, r.Headers, r.Body)
	return Response{Code: http.StatusOK, Header: h, Body: text}
}

// parrots returns a suite with parrot as its server.
func parrots() Suite {
	return Suite{
		Headers: []string{"Allow", "Content-Type"},
		Start:   func(*testing.T, Story) Server { return Server{Do: parrot} },
	}
}

const spoken = `A parrot speaks.

-- request --
POST /a?b=c
A: 1
B: 2

hello

you
-- response --
200
Content-Type: text/plain

POST /a?b=c ["A: 1" "B: 2"]
hello

you
-- request --
GET /nothing
-- response --
204
`

func TestRightAnswersPass(t *testing.T) {
	t.Parallel()
	if err := parrots().check(t, story(t, spoken), false); err != nil {
		t.Error(err)
	}
}

func TestRunPlaysEachFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"one.txtar", "two.txtar", "three.txt"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(spoken), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	played := make(chan string, 3)
	s := parrots()
	s.Files = filepath.Join(dir, "*.txtar")
	s.Start = func(t *testing.T, story Story) Server {
		played <- t.Name() + " " + story.Name
		return Server{Do: parrot}
	}
	t.Run("all", s.Run)
	close(played)
	got := map[string]bool{}
	for name := range played {
		got[strings.TrimPrefix(name, t.Name())] = true
	}
	if diff := cmp.Diff(map[string]bool{"/all/one one": true, "/all/two two": true}, got); diff != "" {
		t.Errorf("transcripts played (-want +got):\n%s", diff)
	}
}

func TestWrongAnswersFail(t *testing.T) {
	t.Parallel()
	for name, change := range map[string][2]string{
		"code":          {"204", "200"},
		"shown header":  {"text/plain", "text/html"},
		"missing shown": {"Content-Type: text/plain\n", ""},
		"header unset":  {"204\n", "204\nAllow: GET\n"},
		"body":          {"\n\nyou\n-- request", "\n\nme\n-- request"},
		"body space":    {"\nyou\n-- request", "\nyou \n-- request"},
		"missing":       {"-- response --\n204\n", ""},
		"too many":      {"204\n", "204\n-- response --\n204\n"},
		"out of turn":   {"-- request --\nGET /nothing\n-- response --\n204\n", "-- response --\n204\n-- request --\nGET /nothing\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := strings.Replace(spoken, change[0], change[1], 1)
			if text == spoken {
				t.Fatalf("%q is not in the transcript", change[0])
			}
			file := story(t, text)
			err := parrots().check(t, file, false)
			if err == nil || !strings.Contains(err.Error(), "mismatch") {
				t.Errorf("check() = %v, want a mismatch", err)
			}
			if got := content(t, file); got != text {
				t.Errorf("without -update the transcript became\n%s", got)
			}
		})
	}
}

func TestUpdateWrites(t *testing.T) {
	t.Parallel()
	file := story(t, strings.NewReplacer("200", "500", "-- response --\n204\n", "").Replace(spoken))
	if err := parrots().check(t, file, true); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(spoken, content(t, file)); diff != "" {
		t.Errorf("transcript written (-want +got):\n%s", diff)
	}
}

func TestGivenFiles(t *testing.T) {
	t.Parallel()
	const text = "-- a.yaml --\na: 1\n-- b.yaml --\nb: 2\n-- request --\nGET /\n-- response --\n204\n"
	s := parrots()
	s.Given = []string{"a.yaml", "b.yaml"}
	var got Story
	s.Start = func(_ *testing.T, story Story) Server {
		got = story
		return Server{Do: parrot}
	}
	file := story(t, text)
	for _, write := range []bool{false, true} {
		if err := s.check(t, file, write); err != nil {
			t.Errorf("check(%v) = %v", write, err)
		}
	}
	want := Story{Name: "story", Given: map[string]string{"a.yaml": "a: 1\n", "b.yaml": "b: 2\n"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("story (-want +got):\n%s", diff)
	}
	if got := content(t, file); got != text {
		t.Errorf("after -update the transcript is\n%s", got)
	}
}

func TestFaultyTranscripts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text, want string
		given      []string
	}{
		"empty":       {"A story.\n", "there is no request", nil},
		"no request":  {"-- response --\n204\n", "there is no request", nil},
		"misspelled":  {"-- request --\nGET /\n-- respones --\n204\n", "respones is neither", nil},
		"not given":   {"-- request --\nGET /\n", "file 1 is not a.yaml", []string{"a.yaml"}},
		"one missing": {"-- a.yaml --\n", "file 2 is not b.yaml", []string{"a.yaml", "b.yaml"}},
		"not asked":   {"-- a.yaml --\n-- request --\nGET /\n", "a.yaml is neither", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := story(t, c.text)
			s := parrots()
			s.Given = c.given
			err := s.check(t, file, true)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("check() = %v, want %q", err, c.want)
			}
			if got := content(t, file); got != c.text {
				t.Errorf("-update made of it\n%s", got)
			}
		})
	}
}

func TestNoTranscripts(t *testing.T) {
	t.Parallel()
	for _, pattern := range []string{filepath.Join(t.TempDir(), "*.txtar"), "["} {
		if files, err := (Suite{Files: pattern}).files(); err == nil {
			t.Errorf("files() for %q = %q, want an error", pattern, files)
		}
	}
	if err := parrots().check(t, filepath.Join(t.TempDir(), "none.txtar"), true); err == nil {
		t.Error("a transcript that is not there passes")
	}
}

func TestBodyKeepsEmptyLines(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		"":             "200\n",
		"a":            "200\n\na\n",
		"a\n":          "200\n\na\n",
		"data: a\n\n":  "200\n\ndata: a\n\n",
		"\n a \r\n \n": "200\n\n\n a \r\n \n",
	} {
		if got := (Response{Code: 200, Body: body}).Text(); got != want {
			t.Errorf("Text() of %q = %q, want %q", body, got, want)
		}
	}
}

func TestParseRequest(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Request{
		"":                              {},
		"GET":                           {Method: "GET"},
		"GET /a\n":                      {Method: "GET", Path: "/a"},
		"GET /a\n\n":                    {Method: "GET", Path: "/a"},
		"GET /a\nA: 1\nB:\n":            {Method: "GET", Path: "/a", Headers: []string{"A: 1", "B:"}},
		"POST /a?b\n\n {}\n\n{} \n\n":   {Method: "POST", Path: "/a?b", Body: "{}\n\n{}"},
		"POST /a b\nA: 1\n\nPUT /\nB: ": {Method: "POST", Path: "/a b", Headers: []string{"A: 1"}, Body: "PUT /\nB:"},
	} {
		if diff := cmp.Diff(want, ParseRequest(text), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("ParseRequest(%q) (-want +got):\n%s", text, diff)
		}
	}
}
