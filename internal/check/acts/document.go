package acts

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/parley-a2a/parley/internal/check/wire"
	"github.com/parley-a2a/parley/internal/file/textfile"
)

// Document is a file of tests.
type Document struct {
	ActsVersion string          `json:"acts_version"`
	SpecVersion string          `json:"spec_version"`
	SpecRef     string          `json:"spec_ref"`
	Metadata    json.RawMessage `json:"metadata"`
	// Variables are available to all tests of the document.
	Variables map[string]string `json:"variables"`
	Include   []string          `json:"include"`
	Suites    []Suite           `json:"suites"`

	path string
}

// Suite is a group of tests.
type Suite struct {
	ID          string   `json:"id"`
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Tags        []string `json:"tags"`
	Tests       []Test   `json:"tests"`
}

// Test is one scenario.
type Test struct {
	ID            string         `json:"id"`
	Name          string         `json:"name"`
	Description   string         `json:"description"`
	SpecRef       string         `json:"spec_ref"`
	Level         string         `json:"level"`
	Tags          []string       `json:"tags"`
	Transport     []wire.Binding `json:"transport"`
	Preconditions *preconditions `json:"preconditions"`
	Behaviors     []string       `json:"requires_behaviors"`
	Origin        string         `json:"origin"`
	Needs         []string       `json:"runner_requirements"`
	Steps         []step         `json:"steps"`
	Assertions    []assertion    `json:"assertions"`
}

type preconditions struct {
	Capabilities map[string]any `json:"capabilities"`
	Skills       []struct {
		ID string `json:"id"`
	} `json:"skills"`
	Transport   []wire.Binding `json:"transport"`
	Extensions  []string       `json:"extensions"`
	Description string         `json:"description"`
}

// step is one action of a test: exactly one of Operation, Raw, Client and Assertion
// is set.
type step struct {
	ID          string            `json:"id"`
	Description string            `json:"description"`
	Operation   string            `json:"operation"`
	Params      map[string]any    `json:"params"`
	Raw         *rawRequest       `json:"raw"`
	Client      *clientResponse   `json:"client_response"`
	Parsed      map[string]any    `json:"expect_parsed"`
	Assertion   *assertion        `json:"assertion"`
	Expect      map[string]any    `json:"expect"`
	ExpectError map[string]any    `json:"expect_error"`
	Stream      *expectStream     `json:"expect_stream"`
	Capture     map[string]string `json:"capture"`
	Assertions  []assertion       `json:"assertions"`
	Repeat      *repeat           `json:"repeat"`
	DelayMS     int               `json:"delay_ms"`
}

type rawRequest struct {
	Method  string            `json:"method"`
	Path    string            `json:"path"`
	Headers map[string]string `json:"headers"`
	Body    any               `json:"body"`
	BodyRaw *string           `json:"body_raw"`
}

type clientResponse struct {
	Operation string `json:"operation"`
	Payload   any    `json:"wire_payload"`
}

type expectStream struct {
	MinCount  *int             `json:"min_count"`
	MaxCount  *int             `json:"max_count"`
	TimeoutMS int              `json:"timeout_ms"`
	Ordering  string           `json:"ordering"`
	Events    []map[string]any `json:"events"`
	Final     map[string]any   `json:"final_event"`
	Each      map[string]any   `json:"each_event"`
}

// assertion is a named or an inline assertion.
type assertion struct {
	ID          string      `json:"id"`
	Description string      `json:"description"`
	Source      string      `json:"source"`
	Path        string      `json:"path"`
	Match       any         `json:"match"`
	Any         *collection `json:"any"`
	All         *collection `json:"all"`
	None        *collection `json:"none"`
}

type collection struct {
	Path  string `json:"path"`
	Match any    `json:"match"`
}

type repeat struct {
	Until       string `json:"until"`
	MaxAttempts int    `json:"max_attempts"`
	DelayMS     *int   `json:"delay_ms"`
	Backoff     string `json:"backoff"`
}

// maxFile bounds the size of a file in bytes.
const maxFile = 4 << 20

// Load reads a file, or all .yaml, .yml and .json files of a folder, with the files that they
// include. Each file is read once. An error names the file.
func Load(path string) ([]*Document, error) {
	names := []string{path}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		if names, err = documents(path); err != nil {
			return nil, err
		}
	}
	l := &loader{byPath: map[string]*Document{}}
	for _, name := range names {
		if err := l.load(name, nil); err != nil {
			return nil, err
		}
	}
	return l.all, l.unique()
}

// documents returns the files of a folder that may be documents. Files with includes come
// first, so that their variables apply to the included files.
func documents(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if ext := filepath.Ext(e.Name()); !e.IsDir() && (ext == ".yaml" || ext == ".yml" || ext == ".json") {
			names = append(names, filepath.Join(dir, e.Name()))
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%s has no .yaml file: %w", dir, fs.ErrNotExist)
	}
	master := func(name string) int {
		if strings.HasPrefix(filepath.Base(name), "suite.") {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(names, func(a, b string) int { return master(a) - master(b) })
	return names, nil
}

// loader holds the documents read so far.
type loader struct {
	byPath map[string]*Document
	all    []*Document
}

// load reads a file and its includes. A file inherits the variables of the file that includes
// it, unless it defines its own.
func (l *loader) load(path string, variables map[string]string) error {
	path = filepath.Clean(path)
	if l.byPath[path] != nil {
		return nil
	}
	data, err := textfile.Read(path)
	if err != nil {
		return err
	}
	d, err := Parse(data)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	d.path = path
	if d.Variables == nil {
		d.Variables = map[string]string{}
	}
	for name, v := range variables {
		if _, own := d.Variables[name]; !own {
			d.Variables[name] = v
		}
	}
	l.byPath[path] = d
	l.all = append(l.all, d)
	for _, name := range d.Include {
		if err := l.load(filepath.Join(filepath.Dir(path), name), d.Variables); err != nil {
			return fmt.Errorf("included by %s: %w", filepath.Base(path), err)
		}
	}
	return nil
}

// unique returns an error if two tests have the same id.
func (l *loader) unique() error {
	seen := map[string]string{}
	for _, d := range l.all {
		for _, s := range d.Suites {
			for i := range s.Tests {
				id := s.Tests[i].ID
				if other, twice := seen[id]; twice {
					return fmt.Errorf("%s: the test %s is also in %s", d.path, id, other)
				}
				seen[id] = d.path
			}
		}
	}
	return nil
}

// Parse reads one document, in YAML or JSON, and validates it.
func Parse(data []byte) (*Document, error) {
	if len(data) > maxFile {
		return nil, fmt.Errorf("more than %d bytes", maxFile)
	}
	d := new(Document)
	if err := Decode(data, d); err != nil {
		return nil, err
	}
	return d, d.validate()
}
