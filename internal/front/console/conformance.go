package console

import (
	"net/http"
	"slices"
	"strings"

	"github.com/parley-a2a/parley/internal/adminjson"
)

// checkView is the page that checks whether an agent complies with the specification.
type checkView struct {
	URL, Only, Error string
	// Report is nil before the first check.
	Report *adminjson.CheckReport
	Levels []*checkTally
	// Faces are the results by interface, in the order of the report.
	Faces []*checkFace
}

// checkTally has the numbers of results by outcome.
type checkTally struct {
	Name string
	N    map[string]int
}

// checkFace is an interface with its results.
type checkFace struct {
	checkTally
	Problems, Passed, Others []adminjson.CheckResult
}

// showCheck answers with the page before a check.
func showCheck(p *page) error {
	if !p.caller.Admin {
		return &refusal{http.StatusForbidden, "Agents are checked by administrators only."}
	}
	p.show(http.StatusOK, "conformance", checkView{URL: strings.TrimSpace(p.r.FormValue("url"))})
	return nil
}

// runCheck checks an agent and shows the report. A browser that opens another page ends the check.
func runCheck(p *page) error {
	v := checkView{URL: strings.TrimSpace(p.r.PostFormValue("url")), Only: strings.TrimSpace(p.r.PostFormValue("only"))}
	q := adminjson.CheckRequest{URL: v.URL, Key: strings.TrimSpace(p.r.PostFormValue("bearer"))}
	q.Only = strings.FieldsFunc(v.Only, func(r rune) bool { return r == ',' || r == ' ' })
	err := p.do(http.MethodPost, "/api/v1/conformance", &q, &v.Report)
	if refused := mistake(err); refused != nil {
		v.Error = refused.Message
		p.show(refused.Code, "conformance", v)
		return nil
	}
	if err != nil {
		return err
	}
	v.sort()
	p.show(http.StatusOK, "conformance", v)
	return nil
}

// sort arranges the results for the page.
func (v *checkView) sort() {
	for i := range v.Report.Results {
		r := &v.Report.Results[i]
		level := slices.IndexFunc(v.Levels, func(l *checkTally) bool { return l.Name == r.Level })
		if level < 0 {
			level = len(v.Levels)
			v.Levels = append(v.Levels, &checkTally{r.Level, make(map[string]int)})
		}
		v.Levels[level].N[r.Outcome]++
		face := slices.IndexFunc(v.Faces, func(f *checkFace) bool { return f.Name == r.Interface })
		if face < 0 {
			face = len(v.Faces)
			v.Faces = append(v.Faces, &checkFace{checkTally: checkTally{r.Interface, make(map[string]int)}})
		}
		v.Faces[face].add(r)
	}
}

// add adds a result to those of its kind.
func (f *checkFace) add(r *adminjson.CheckResult) {
	f.N[r.Outcome]++
	switch r.Outcome {
	case "pass":
		f.Passed = append(f.Passed, *r)
	case "not offered":
		f.Others = append(f.Others, *r)
	default:
		f.Problems = append(f.Problems, *r)
	}
}
