package version

import (
	"runtime/debug"
	"testing"
)

// TestPublished: a program has the version of its tag, an embedder's program the version that it requires, and a
// working copy has none.
func TestPublished(t *testing.T) {
	t.Parallel()
	const path = "github.com/parley-a2a/parley"
	embedder := debug.Module{Path: "example.org/hub", Version: "v9.0.0"}
	for _, c := range []struct {
		info debug.BuildInfo
		want string
	}{
		{debug.BuildInfo{Main: debug.Module{Path: path, Version: "v1.2.3"}}, "1.2.3"},
		{debug.BuildInfo{Main: debug.Module{Path: path, Version: "v1.2.3-rc.1"}}, "1.2.3-rc.1"},
		{debug.BuildInfo{Main: embedder, Deps: []*debug.Module{{Path: "example.org/a", Version: "v3.0.0"}, {Path: path, Version: "v1.2.3"}}}, "1.2.3"},
		{debug.BuildInfo{Main: embedder, Deps: []*debug.Module{{Path: path, Version: "v1.2.3", Replace: &debug.Module{Path: "../parley"}}}}, ""},
		{debug.BuildInfo{Main: debug.Module{Path: path}}, ""},
		{debug.BuildInfo{Main: debug.Module{Path: path, Version: "(devel)"}}, ""},
		{debug.BuildInfo{Main: debug.Module{Path: path, Version: "v0.0.0-20261123100000-abcdefabcdef"}}, ""},
		{debug.BuildInfo{Main: debug.Module{Path: path, Version: "v1.2.3+dirty"}}, ""},
	} {
		if got := published(&c.info, true); got != c.want {
			t.Errorf("published(%v, %v) = %q, want %q", c.info.Main, c.info.Deps, got, c.want)
		}
	}
	if got := published(nil, false); got != "" {
		t.Errorf("without the information of the Go command, published = %q", got)
	}
}
