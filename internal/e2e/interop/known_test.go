package interop

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/goccy/go-yaml"
)

// known is an accepted failure of a peer.
type known struct {
	// Scenario is the one that fails (of a server: the command), on these bindings. Without
	// bindings it fails on all of the peer's.
	Scenario string
	Bindings []string
	// Reason states the cause: the behaviour of the SDK, and the violated rule of the protocol.
	Reason string
}

// readKnown reads the accepted failures of a peer. Without a file there are none.
func readKnown(file string, p *peer) ([]known, error) {
	return readAccepted(file, p.bindings, func(name string) bool {
		return slices.ContainsFunc(scenarios, func(s scenario) bool { return s.name == name })
	})
}

// readFails reads the failing commands of a server, in the same way.
func readFails(file string, s *server) ([]known, error) {
	return readAccepted(file, s.bindings, func(name string) bool {
		return slices.ContainsFunc(commands, func(c command) bool { return c.name == name })
	})
}

func readAccepted(file string, bindings []string, exists func(name string) bool) ([]known, error) {
	data, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all struct{ Known []known }
	err = yaml.NewDecoder(bytes.NewReader(data), yaml.DisallowUnknownField()).Decode(&all)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	seen := map[string]bool{}
	for _, k := range all.Known {
		if k.Reason == "" || !exists(k.Scenario) {
			return nil, fmt.Errorf("%s: %q has no reason, or is no scenario", file, k.Scenario)
		}
		if len(k.Bindings) == 0 {
			k.Bindings = bindings
		}
		for _, b := range k.Bindings {
			if cell := b + " " + k.Scenario; seen[cell] || !slices.Contains(bindings, b) {
				return nil, fmt.Errorf("%s: %q is listed twice, or is no binding of the peer", file, cell)
			}
			seen[b+" "+k.Scenario] = true
		}
	}
	return all.Known, nil
}

// accepted returns the reason of an accepted failure, or "".
func accepted(all []known, binding, scenario string) string {
	for _, k := range all {
		if k.Scenario == scenario && (len(k.Bindings) == 0 || slices.Contains(k.Bindings, binding)) {
			return k.Reason
		}
	}
	return ""
}

func knownFile(p *peer) string { return filepath.Join("testdata", "known", p.name+".yaml") }

// TestKnownFiles checks that every file of accepted failures belongs to a peer.
func TestKnownFiles(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("testdata", "known", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !slices.ContainsFunc(peers, func(p peer) bool { return knownFile(&p) == f }) {
			t.Errorf("%s belongs to no peer", f)
		}
	}
}

func TestReadKnown(t *testing.T) {
	t.Parallel()
	p := &peer{name: "x", bindings: []string{"JSONRPC", "GRPC"}}
	for name, tt := range map[string]struct {
		file string
		ok   bool
	}{
		"good":            {"known:\n  - scenario: send\n    bindings: [GRPC]\n    reason: r\n", true},
		"empty":           {"", true},
		"without reason":  {"known:\n  - scenario: send\n", false},
		"no scenario":     {"known:\n  - scenario: fly\n    reason: r\n", false},
		"no binding":      {"known:\n  - scenario: send\n    bindings: [HTTP+JSON]\n    reason: r\n", false},
		"twice":           {"known:\n  - scenario: send\n    reason: r\n  - scenario: send\n    bindings: [GRPC]\n    reason: r\n", false},
		"misspelt member": {"known:\n  - scenaro: send\n    reason: r\n", false},
	} {
		file := filepath.Join(t.TempDir(), "known.yaml")
		if err := os.WriteFile(file, []byte(tt.file), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readKnown(file, p); (err == nil) != tt.ok {
			t.Errorf("%s: error %v, want ok = %v", name, err, tt.ok)
		}
	}
}
