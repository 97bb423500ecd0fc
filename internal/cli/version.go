package cli

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley"
)

// versionCmd prints the version of the program.
type versionCmd struct {
	JSON bool `name:"json" help:"Print a JSON object."`
}

// Help shows an example.
func (versionCmd) Help() string {
	return "Example:\n\n    parley version --json"
}

// Run prints the version.
func (v *versionCmd) Run(o *OS) error {
	b := build()
	protocols := []string{string(a2a.Version)}
	if v.JSON {
		return json.NewEncoder(o.Stdout).Encode(map[string]any{
			"version": b.version, "commit": b.commit, "modified": b.modified, "go": runtime.Version(), "protocols": protocols,
		})
	}
	commit := b.commit
	if b.modified {
		commit += " (modified)"
	}
	_, err := fmt.Fprintf(o.Stdout, "parley %s\ncommit %s\n%s %s/%s\nA2A %s\n",
		b.version, commit, runtime.Version(), runtime.GOOS, runtime.GOARCH, strings.Join(protocols, ", "))
	return err
}

// buildInfo is the version and the source revision of the program.
type buildInfo struct {
	version, commit string
	modified        bool
}

// build reads the information that the Go command has embedded in the program.
func build() buildInfo {
	b := buildInfo{version: parley.Version, commit: "unknown"}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.commit = s.Value
		case "vcs.modified":
			b.modified = s.Value == "true"
		}
	}
	return b
}
