package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parley-a2a/parley/internal/version"
)

type versionCmd struct {
	format
	Modules bool `help:"Also print the modules of the program with their versions."`
}

func (v *versionCmd) Run(o *OS) error {
	b := build()
	protocols := []string{string(a2a.Version)}
	if v.data() {
		return v.encode(o.Stdout, map[string]any{
			"version": version.Version, "commit": b.commit, "modified": b.modified, "date": b.date, "go": runtime.Version(), "protocols": protocols,
			"modules": b.modules,
		})
	}
	commit := b.commit
	if b.modified {
		commit += " (modified)"
	}
	if b.date != "" {
		commit += " of " + b.date
	}
	fmt.Fprintf(o.Stdout, "parley %s\ncommit %s\n%s %s/%s\nA2A %s\n",
		version.Version, commit, runtime.Version(), runtime.GOOS, runtime.GOARCH, strings.Join(protocols, ", "))
	if v.Modules {
		for _, m := range b.modules {
			fmt.Fprintln(o.Stdout, m.Path, m.Version)
		}
	}
	return nil
}

// buildInfo is the source revision and the modules of the program.
type buildInfo struct {
	commit, date string // date is the time of the commit
	modified     bool
	modules      []module
}

// module is a module that the program contains.
type module struct {
	Path    string `json:"path"`
	Version string `json:"version"`
}

// build reads the information that the Go command has embedded in the program.
func build() buildInfo {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = new(debug.BuildInfo)
	}
	return readBuild(info)
}

func readBuild(info *debug.BuildInfo) buildInfo {
	b := buildInfo{commit: "unknown"}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		b.modules = append(b.modules, module{m.Path, m.Version})
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.commit = s.Value
		case "vcs.time":
			b.date = s.Value
		case "vcs.modified":
			b.modified = s.Value == "true"
		}
	}
	return b
}
