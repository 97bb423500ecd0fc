// Package version has the version of Parley. It imports no other package of the module, so that each of them can
// name the version. The facade exports it as parley.Version.
package version

import (
	"cmp"
	"runtime/debug"
	"strings"
)

// Next is the version of the next release. The workers in other languages and the chart have the same.
const Next = "0.1.0"

// source is the version that the linker was given; empty for none. Set it to package a program from an archive of
// the source:
//
//	go build -ldflags "-X github.com/parley-a2a/parley/internal/version.source=0.1.0" ./cmd/parley
var source string

// Version is the version of this module in the program.
var Version = cmp.Or(source, published(debug.ReadBuildInfo()), Next+"-dev")

// published returns the version that the Go command has recorded for this module: the tag without its v, or after a
// tag a pseudo-version. It is "" for a changed working copy, and for one before the first tag. In the program of an
// embedder, the module is one of its dependencies.
func published(info *debug.BuildInfo, ok bool) string {
	if !ok {
		return ""
	}
	for _, m := range append(info.Deps, &info.Main) {
		if m.Path != "github.com/parley-a2a/parley" {
			continue
		}
		if m.Replace != nil {
			m = m.Replace
		}
		v, ok := strings.CutPrefix(m.Version, "v")
		if ok && !strings.HasPrefix(v, "0.0.0-") && !strings.Contains(v, "+") {
			return v
		}
	}
	return ""
}
