package acts

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const frame = `acts_version: "1.0"
spec_version: "1.0"
suites:
  - id: s
    name: S
    tests:
      - id: T-1
        name: T
        level: must
`

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, doc, want string }{
		{"empty", "", "acts_version"},
		{"not YAML", "a: [", ""},
		{"version", `{acts_version: "2.0", spec_version: "1.0", include: [a]}`, `acts_version "2.0"`},
		{"no spec version", `{acts_version: "1.0", include: [a]}`, "spec_version is missing"},
		{"nothing in it", `{acts_version: "1.0", spec_version: "1.0"}`, "suites or include is required"},
		{"unknown key", `{acts_version: "1.0", spec_version: "1.0", suits: []}`, `unknown field "suits"`},
		{"no tests", `{acts_version: "1.0", spec_version: "1.0", suites: [{id: s, name: S, tests: []}]}`, "lacks its id or its tests"},
		{"no steps", frame + "        steps: []", "there are no steps"},
		{"level", strings.Replace(frame, "must", "maybe", 1) + "        steps: [{id: a, operation: get_task}]", `level "maybe"`},
		{"transport", frame + "        transport: [soap]\n        steps: [{id: a, operation: get_task}]", `transport "soap"`},
		{"runner requirement", frame + "        runner_requirements: [luck]\n        steps: [{id: a, operation: get_task}]", `requirement "luck"`},
		{"step without id", frame + "        steps: [{operation: get_task}]", "has no ID"},
		{"two steps with an id", frame + "        steps: [{id: a, operation: get_task}, {id: a, operation: get_task}]", "or a duplicate"},
		{"no kind", frame + "        steps: [{id: a}]", "exactly one of"},
		{"two kinds", frame + "        steps: [{id: a, operation: get_task, assertion: {source: x}}]", "exactly one of"},
		{"operation", frame + "        steps: [{id: a, operation: guess}]", `unknown operation "guess"`},
		{"both expectations", frame + "        steps: [{id: a, operation: get_task, expect: {status: 200}, expect_error: {}}]", "cannot be combined"},
		{"client without expectation", frame + "        steps: [{id: a, client_response: {operation: get_task, wire_payload: {}}}]", "needs expect_parsed"},
		{"raw without transport", frame + "        steps: [{id: a, raw: {method: GET, path: /}}]", "needs a transport"},
		{"raw method", frame + "        transport: [rest]\n        steps: [{id: a, raw: {method: BREW, path: /}}]", `method "BREW"`},
		{"ordering", frame + "        steps: [{id: a, operation: subscribe_to_task, expect_stream: {ordering: random}}]", `ordering "random"`},
		{"backoff", frame + "        steps: [{id: a, operation: get_task, repeat: {until: a == b, backoff: wild}}]", `backoff "wild"`},
		{"until", frame + "        steps: [{id: a, operation: get_task, repeat: {until: someday}}]", "condition"},
		{"too large", strings.Repeat(" ", maxFile+1), "more than"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if d, err := Parse([]byte(tt.doc)); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Parse: %+v, %v; want %q", d, err, tt.want)
			}
		})
	}
}

func TestParseJSON(t *testing.T) {
	t.Parallel()
	d, err := Parse([]byte(`{"acts_version": "0.1.0", "spec_version": "1.0", "suites": [{"id": "s", "name": "S", "tests": [
		{"id": "T-1", "name": "T", "level": "may", "steps": [{"id": "a", "operation": "get_task", "params": {"id": "1"}}]}]}]}`))
	if err != nil || d.Suites[0].Tests[0].Steps[0].Params["id"] != "1" {
		t.Errorf("Parse: %+v, %v", d, err)
	}
}

func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestLoad(t *testing.T) {
	t.Parallel()
	step := "        steps: [{id: a, operation: get_task}]\n"
	dir := write(t, map[string]string{
		"suite.yaml": "acts_version: '1.0'\nspec_version: '1.0'\nvariables: {a: master, b: master}\ninclude: [one.yaml]\n",
		"one.yaml":   "variables: {b: own}\n" + frame + step,
		"two.yml":    strings.Replace(frame, "T-1", "T-2", 1) + step,
		"notes.txt":  "not a document",
	})
	docs, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(docs) != 3 {
		t.Fatalf("there are %d documents, want 3", len(docs))
	}
	if v := docs[1].Variables; v["a"] != "master" || v["b"] != "own" {
		t.Errorf("the variables of the included file are %v", v)
	}
	if one, err := Load(filepath.Join(dir, "two.yml")); err != nil || len(one) != 1 {
		t.Errorf("Load of one file: %d, %v", len(one), err)
	}
}

func TestLoadRefuses(t *testing.T) {
	t.Parallel()
	step := "        steps: [{id: a, operation: get_task}]\n"
	for name, files := range map[string]map[string]string{
		"two tests with an id": {"a.yaml": frame + step, "b.yaml": frame + step},
		"a broken file":        {"a.yaml": "x: 1"},
		"a missing include":    {"a.yaml": "acts_version: '1.0'\nspec_version: '1.0'\ninclude: [gone.yaml]\n"},
		"nothing":              {"a.txt": ""},
	} {
		if docs, err := Load(write(t, files)); err == nil {
			t.Errorf("Load of %s: %v", name, docs)
		}
	}
	if _, err := Load(filepath.Join(t.TempDir(), "missing")); err == nil {
		t.Error("Load of a folder that is not there succeeds")
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(frame + "        steps: [{id: a, operation: get_task, repeat: {until: a in [b]}}]"))
	f.Add([]byte(`{"acts_version": "1.0", "spec_version": "1.0", "include": ["x"]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := Parse(data)
		if err != nil {
			return
		}
		for _, s := range d.Suites {
			for i := range s.Tests {
				if len(s.Tests[i].Steps) == 0 {
					t.Errorf("a test without steps was let in")
				}
			}
		}
	})
}
