package check

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

type junitSuites struct {
	XMLName xml.Name     `xml:"testsuites"`
	Suites  []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Time     string      `xml:"time,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string       `xml:"classname,attr"`
	Name    string       `xml:"name,attr"`
	Time    string       `xml:"time,attr"`
	Failure *junitReason `xml:"failure,omitempty"`
	Skipped *junitReason `xml:"skipped,omitempty"`
}

type junitReason struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// JUnit writes the report as JUnit XML, with a suite for each interface. Results that count
// against the server are failures; known failures, warnings and features not offered are
// skipped.
func (r *Report) JUnit(w io.Writer) error {
	var all junitSuites
	index := map[string]int{}
	for i := range r.Results {
		result := &r.Results[i]
		n, known := index[result.Interface]
		if !known {
			n = len(all.Suites)
			index[result.Interface] = n
			all.Suites = append(all.Suites, junitSuite{Name: result.Interface})
		}
		all.Suites[n].add(r.junitCase(result))
	}
	for i := range all.Suites {
		s := &all.Suites[i]
		s.Time = seconds(r.suiteTime(s.Name))
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func (s *junitSuite) add(c junitCase) {
	s.Tests++
	if c.Failure != nil {
		s.Failures++
	}
	if c.Skipped != nil {
		s.Skipped++
	}
	s.Cases = append(s.Cases, c)
}

func (r *Report) junitCase(result *Result) junitCase {
	c := junitCase{Class: strings.ReplaceAll(result.Interface, " ", "-"), Name: result.ID, Time: seconds(result.Duration)}
	why := &junitReason{Message: xmlText(result.Detail), Text: xmlText(strings.Join(result.Evidence, "\n"))}
	switch {
	case result.Unexpected:
		why.Message = "was known to fail and passes: " + xmlText(result.Known)
		c.Failure = why
	case r.bad(result):
		c.Failure = why
	case result.Outcome != Pass:
		why.Message = r.mark(result) + ": " + why.Message
		c.Skipped = why
	}
	return c
}

func (r *Report) suiteTime(name string) (sum float64) {
	for i := range r.Results {
		if r.Results[i].Interface == name {
			sum += r.Results[i].Duration
		}
	}
	return sum
}

func seconds(s float64) string { return fmt.Sprintf("%.3f", s) }

// xmlText removes characters that XML does not allow, because a server may answer with any
// bytes.
func xmlText(s string) string {
	return strings.Map(func(r rune) rune {
		if r == utf8.RuneError || r < ' ' && r != '\n' && r != '\t' || r == 0xFFFE || r == 0xFFFF {
			return -1
		}
		return r
	}, s)
}
