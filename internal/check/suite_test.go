package check

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/parley-a2a/parley/internal/check/acts"
)

var (
	ownSuite  = filepath.Join("..", "e2e", "suite")
	knownFile = filepath.Join("..", "e2e", "acts-known.yaml")
	draft     = filepath.Join("..", "..", "..", "shared", "acts")
)

func load(t *testing.T, path string) []*acts.Document {
	t.Helper()
	docs, err := acts.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	return docs
}

// suited runs documents against a server with these options in a bubble.
func suited(t *testing.T, docs []*acts.Document, f features) (*Report, []*acts.Report) {
	t.Helper()
	r, all, err := Suite(t.Context(), docs, started(t, &f), nil)
	if err != nil {
		t.Fatalf("Suite: %v", err)
	}
	return r, all
}

func wantOK(t *testing.T, r *Report) {
	t.Helper()
	var b bytes.Buffer
	if err := r.Text(&b, false); err != nil {
		t.Fatal(err)
	}
	if !r.OK() {
		t.Errorf("the report is not OK:\n%s", &b)
	}
	t.Logf("%s", b.Bytes()[max(0, b.Len()-200):])
}

// TestOwnSuite runs the files of internal/e2e/suite against correct servers. Each test passes
// on a server with all features or on one with none.
func TestOwnSuite(t *testing.T) {
	t.Parallel()
	docs := load(t, ownSuite)
	synctest.Test(t, func(t *testing.T) {
		passed, all := map[string]bool{}, map[string]bool{}
		for _, o := range []features{{streaming: true, push: true, key: "k-123456789"}, {}} {
			r, reports := suited(t, docs, o)
			r.Accept(nil)
			wantOK(t, r)
			if len(reports) != 3 {
				t.Errorf("there are %d reports, want one for each of three bindings", len(reports))
			}
			for _, result := range r.Results {
				all[result.ID] = true
				passed[result.ID] = passed[result.ID] || result.Outcome == Pass
			}
		}
		for id := range all {
			if !passed[id] {
				t.Errorf("%s passes nowhere", id)
			}
		}
	})
}

// TestDraft runs the draft's own files, if present, with the list of those that contradict the
// specification.
func TestDraft(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat(draft); err != nil {
		t.Logf("the draft's files are not here: %v", err)
		return
	}
	docs := load(t, draft)
	data, err := os.ReadFile(knownFile)
	if err != nil {
		t.Fatal(err)
	}
	known, err := ReadKnown(data)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		failed := map[string]bool{}
		for _, o := range []features{{streaming: true, push: true}, {}} {
			r, _ := suited(t, docs, o)
			r.Accept(known)
			wantOK(t, r)
			for _, result := range r.Results {
				failed[result.ID] = failed[result.ID] || result.Outcome == Fail
			}
		}
		for _, k := range known {
			if !failed[k.ID] {
				t.Errorf("%s is known to fail and never does", k.ID)
			}
		}
	})
}

// TestKnownFile reads the list even if the draft's files are missing, so that its format stays
// valid.
func TestKnownFile(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(knownFile)
	if err != nil {
		t.Fatal(err)
	}
	known, err := ReadKnown(data)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range known {
		if k.Contradicts == "" {
			t.Errorf("%s has no contradicts", k.ID)
		}
	}
	if !slices.ContainsFunc(known, func(k Known) bool { return k.ID == "CORE-CTX-001" }) {
		t.Error("CORE-CTX-001 is not listed")
	}
}

// TestSuiteReport checks the draft's report format.
func TestSuiteReport(t *testing.T) {
	t.Parallel()
	docs := load(t, filepath.Join(ownSuite, "wire.yaml"))
	synctest.Test(t, func(t *testing.T) {
		_, reports := suited(t, docs, features{})
		b, err := json.Marshal(reports[1])
		if err != nil {
			t.Fatal(err)
		}
		var got struct {
			Transport string
			Summary   struct {
				Total, Passed, Failed, Skipped, Errors int
				ByLevel                                map[string]acts.Count `json:"by_level"`
			}
			Suites []struct{ Tests []struct{ ID, Result string } }
		}
		if err := json.Unmarshal(b, &got); err != nil {
			t.Fatal(err)
		}
		if s := got.Summary; got.Transport != "rest" || s.Total != 6 || s.Passed != 3 || s.Skipped != 3 || s.ByLevel["must"].Passed != 3 {
			t.Errorf("the report is %s", b)
		}
	})
}
