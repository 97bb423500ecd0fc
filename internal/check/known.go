package check

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/goccy/go-yaml"
)

// Known is a failure that is accepted.
type Known struct {
	// ID is the id of the requirement, or of the test of a suite.
	ID string `yaml:"id"`
	// Interfaces are those with the failure ("jsonrpc 1.0", or "jsonrpc" for every version, or
	// "card"); empty means all.
	Interfaces []string `yaml:"interfaces"`
	// Reason is the reason why the failure is accepted.
	Reason string `yaml:"reason"`
	// Contradicts is the sentence of the specification that a test of a suite contradicts, if
	// that is the reason.
	Contradicts string `yaml:"contradicts"`
}

// ReadKnown reads a file of known failures: a YAML mapping with the list "known".
// Each has an id and a reason.
func ReadKnown(data []byte) ([]Known, error) {
	var file struct {
		Known []Known `yaml:"known"`
	}
	err := yaml.NewDecoder(bytes.NewReader(data), yaml.DisallowUnknownField()).Decode(&file)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	for i, k := range file.Known {
		switch {
		case k.ID == "":
			return nil, fmt.Errorf("entry %d has no id", i+1)
		case k.Reason == "":
			return nil, fmt.Errorf("%s has no reason", k.ID)
		}
		for _, other := range file.Known[:i] {
			if other.ID == k.ID && overlap(other.Interfaces, k.Interfaces) {
				return nil, fmt.Errorf("%s is listed twice", k.ID)
			}
		}
	}
	return file.Known, nil
}

func overlap(a, b []string) bool {
	return len(a) == 0 || len(b) == 0 || slices.ContainsFunc(a, func(s string) bool { return slices.Contains(b, s) })
}

// about reports whether k matches a result.
func (k *Known) about(id, iface string) bool {
	if k.ID != id {
		return false
	}
	return len(k.Interfaces) == 0 || slices.ContainsFunc(k.Interfaces, func(i string) bool {
		return i == iface || len(iface) > len(i) && iface[:len(i)+1] == i+" "
	})
}

// Accept marks the known failures in the report. After that the report is OK if the failures
// are exactly these: a known failure that passes is a failure, and one that was not offered in
// this run is ignored.
func (r *Report) Accept(known []Known) {
	r.Exact = true
	for i := range r.Results {
		result := &r.Results[i]
		for j := range known {
			if !known[j].about(result.ID, result.Interface) {
				continue
			}
			switch result.Outcome {
			case Fail:
				result.Known = known[j].Reason
			case Pass:
				result.Known, result.Unexpected = known[j].Reason, true
			case NotOffered:
			}
		}
	}
}
