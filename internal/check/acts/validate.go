package acts

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// validate returns an error if the document violates the grammar.
func (d *Document) validate() error {
	major, _, _ := strings.Cut(d.ActsVersion, ".")
	switch {
	case major != "0" && major != "1":
		return fmt.Errorf("unsupported acts_version %q (supported: 0 and 1)", d.ActsVersion)
	case d.SpecVersion == "":
		return errors.New("spec_version is missing")
	case len(d.Suites) == 0 && len(d.Include) == 0:
		return errors.New("suites or include is required")
	}
	for _, s := range d.Suites {
		if s.ID == "" || len(s.Tests) == 0 {
			return fmt.Errorf("suite %q lacks its id or its tests", s.ID)
		}
		for i := range s.Tests {
			if err := s.Tests[i].validate(); err != nil {
				return fmt.Errorf("test %q: %w", s.Tests[i].ID, err)
			}
		}
	}
	return nil
}

var (
	levels       = []string{"must", "should", "may"}
	transports   = []string{"jsonrpc", "grpc", "rest"}
	requirements = []string{"webhook_endpoint", "concurrent_streams", "stream_disconnect", "auth_credentials", "header_inspection"}
)

func (t *Test) validate() error {
	switch {
	case t.ID == "":
		return errors.New("there is no id")
	case !slices.Contains(levels, t.Level):
		return fmt.Errorf("invalid level %q: must be one of %q", t.Level, levels)
	case len(t.Steps) == 0:
		return errors.New("there are no steps")
	}
	for _, b := range t.Transport {
		if !slices.Contains(transports, string(b)) {
			return fmt.Errorf("unknown transport %q: must be one of %q", b, transports)
		}
	}
	for _, n := range t.Needs {
		if !slices.Contains(requirements, n) {
			return fmt.Errorf("unknown runner requirement %q: must be one of %q", n, requirements)
		}
	}
	ids := map[string]bool{}
	for i := range t.Steps {
		s := &t.Steps[i]
		if s.ID == "" || ids[s.ID] {
			return fmt.Errorf("step %d has no ID, or a duplicate: %q", i+1, s.ID)
		}
		ids[s.ID] = true
		if err := s.validate(len(t.Transport) > 0); err != nil {
			return fmt.Errorf("step %q: %w", s.ID, err)
		}
	}
	return nil
}

func (s *step) validate(filtered bool) error {
	kinds := 0
	for _, has := range []bool{s.Operation != "", s.Raw != nil, s.Client != nil, s.Assertion != nil} {
		if has {
			kinds++
		}
	}
	_, known := operations[s.Operation]
	switch {
	case kinds != 1:
		return errors.New("want exactly one of operation, raw, client_response and assertion")
	case s.Operation != "" && !known:
		return fmt.Errorf("unknown operation %q", s.Operation)
	case s.Expect != nil && s.ExpectError != nil:
		return errors.New("expect cannot be combined with expect_error")
	case s.Client != nil && s.Parsed == nil:
		return errors.New("a client_response needs expect_parsed")
	case s.Raw != nil && !filtered:
		return errors.New("a raw step needs a transport in its test")
	case s.Raw != nil && !slices.Contains([]string{"GET", "POST", "PUT", "DELETE"}, s.Raw.Method):
		return fmt.Errorf("invalid method %q: must be GET, POST, PUT or DELETE", s.Raw.Method)
	case s.Stream != nil && s.Stream.Ordering != "" && s.Stream.Ordering != "monotonic_state":
		return fmt.Errorf("unknown ordering %q", s.Stream.Ordering)
	case s.Repeat != nil && !slices.Contains([]string{"", "none", "linear", "exponential"}, s.Repeat.Backoff):
		return fmt.Errorf("unknown backoff %q", s.Repeat.Backoff)
	case s.Repeat != nil:
		_, err := parseCondition(s.Repeat.Until)
		return err
	}
	return nil
}
