package transcript

import (
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "write the answers of the transcripts again")

// Suite is a set of transcripts for one kind of server.
type Suite struct {
	// Files is the pattern of the transcripts, as for [filepath.Glob].
	Files string
	// Given are the names of the files that each transcript begins with; usually none.
	Given []string
	// Headers are the headers of answers that are shown if set, in this order. The default is
	// none.
	Headers []string
	// Start starts the server of one transcript and registers its shutdown with t.Cleanup. It
	// fails t on errors. It must not be nil.
	Start func(t *testing.T, s Story) Server
}

// Story is the content of a transcript before its first request.
type Story struct {
	// Name is the name of the transcript, without folder and extension.
	Name string
	// Given are the contents of the files of [Suite.Given], by name.
	Given map[string]string
}

// Server answers the requests of one transcript.
type Server struct {
	// Do answers one request. It must not be nil.
	Do func(Request) Response
	// Masks give names to text that differs from run to run, besides times and ids. They are
	// applied in this order, before times and ids are named.
	Masks []Mask
}

// Request is one request of a transcript, with the names in it resolved.
type Request struct {
	// Method is the HTTP method, Path the target with its query.
	Method, Path string
	// Headers are lines like "Name: value".
	Headers []string
	// Body has no white space at its start or end.
	Body string
}

// Response is the answer to a [Request].
type Response struct {
	// Code is the HTTP status.
	Code int
	// Header contains at least those headers of [Suite.Headers] that the answer has.
	Header http.Header
	// Body is compared without one trailing line feed, if it has one.
	Body string
}

// Run runs each transcript of s as a parallel subtest with the transcript's name. With the flag
// -update it writes the answers instead of comparing them.
func (s Suite) Run(t *testing.T) {
	files, err := s.files()
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		t.Run(nameOf(file), func(t *testing.T) {
			t.Parallel()
			if err := s.check(t, file, *update); err != nil {
				t.Error(err)
			}
		})
	}
}

func (s Suite) files() ([]string, error) {
	files, err := filepath.Glob(s.Files)
	if err == nil && len(files) == 0 {
		err = errors.New("no transcript has such a name")
	}
	if err != nil {
		return nil, fmt.Errorf("find %s: %w", s.Files, err)
	}
	return files, nil
}

func nameOf(file string) string { return strings.TrimSuffix(filepath.Base(file), ".txtar") }

// check runs the transcript in file. It returns the differences of the answers as an error, or
// writes the answers if write is set.
func (s Suite) check(t *testing.T, file string, write bool) error {
	want, err := txtar.ParseFile(file)
	if err != nil {
		return err
	}
	story, requests, err := s.open(want)
	if err != nil {
		return fmt.Errorf("read %s: %w", file, err)
	}
	story.Name = nameOf(file)
	got := &txtar.Archive{Comment: want.Comment, Files: slices.Clone(want.Files[:len(s.Given)])}
	got.Files = append(got.Files, s.play(s.Start(t, story), requests)...)
	if write {
		return os.WriteFile(file, txtar.Format(got), 0o644)
	}
	if diff := cmp.Diff(string(txtar.Format(want)), string(txtar.Format(got))); diff != "" {
		return fmt.Errorf("transcript mismatch (-want +got):\n%s", diff)
	}
	return nil
}

// requestName and responseName are the names of the files in a transcript.
const (
	requestName  = "request"
	responseName = "response"
)

// open splits a into the given files and the requests.
func (s Suite) open(a *txtar.Archive) (Story, []txtar.File, error) {
	story := Story{Given: make(map[string]string)}
	for i, name := range s.Given {
		if i >= len(a.Files) || a.Files[i].Name != name {
			return story, nil, fmt.Errorf("file %d is not %s", i+1, name)
		}
		story.Given[name] = string(a.Files[i].Data)
	}
	var requests []txtar.File
	for _, f := range a.Files[len(s.Given):] {
		switch f.Name {
		case requestName:
			requests = append(requests, f)
		case responseName:
		default:
			return story, nil, fmt.Errorf("%s is neither a request nor a response", f.Name)
		}
	}
	if len(requests) == 0 {
		return story, nil, errors.New("there is no request")
	}
	return story, requests, nil
}

// play sends the requests and returns them, each followed by its answer.
func (s Suite) play(srv Server, requests []txtar.File) []txtar.File {
	n := names{masks: srv.Masks, ids: make(map[string]string), values: make(map[string]string)}
	var files []txtar.File
	for _, f := range requests {
		answer := srv.Do(ParseRequest(n.resolve(string(f.Data)))).Text(s.Headers...)
		files = append(files, f, txtar.File{Name: responseName, Data: []byte(n.hide(answer))})
	}
	return files
}

// ParseRequest parses a request in the form of transcripts, for tests that send a single one.
// It accepts any text; missing parts stay empty.
func ParseRequest(text string) Request {
	head, body, _ := strings.Cut(text, "\n\n")
	lines := strings.Split(strings.TrimSpace(head), "\n")
	method, path, _ := strings.Cut(lines[0], " ")
	return Request{Method: method, Path: path, Headers: lines[1:], Body: strings.TrimSpace(body)}
}

// Text returns an answer in the form of transcripts, without names for its values. It shows
// those of the given headers that are set, in this order.
func (r Response) Text(headers ...string) string {
	var b strings.Builder
	fmt.Fprintln(&b, r.Code)
	for _, name := range headers {
		if v := r.Header.Get(name); v != "" {
			fmt.Fprintf(&b, "%s: %s\n", name, v)
		}
	}
	if r.Body != "" {
		fmt.Fprintf(&b, "\n%s\n", strings.TrimSuffix(r.Body, "\n"))
	}
	return b.String()
}
