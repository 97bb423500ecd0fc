package cli

import (
	"runtime/debug"
	"testing"
)

// TestReadBuild: a release knows its tag, its commit, the commit's time and its modules; a build
// of a working copy has the version of the source.
func TestReadBuild(t *testing.T) {
	t.Parallel()
	b := readBuild(&debug.BuildInfo{
		Main:     debug.Module{Version: "v1.2.3"},
		Deps:     []*debug.Module{{Path: "example.org/a", Version: "v1.0.0"}, {Path: "example.org/b", Version: "v1.1.0", Replace: &debug.Module{Path: "example.org/c", Version: "v9.0.0"}}},
		Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.time", Value: "2026-11-23T10:00:00Z"}, {Key: "vcs.modified", Value: "true"}},
	})
	if b.version != "1.2.3" || b.commit != "abc" || b.date != "2026-11-23T10:00:00Z" || !b.modified {
		t.Errorf("readBuild = %+v", b)
	}
	if len(b.modules) != 2 || b.modules[0] != (module{"example.org/a", "v1.0.0"}) || b.modules[1] != (module{"example.org/c", "v9.0.0"}) {
		t.Errorf("modules = %v", b.modules)
	}
	for _, working := range []string{"", "(devel)", "v0.0.0-20261123100000-abcdefabcdef", "v1.2.3+dirty"} {
		if got := readBuild(&debug.BuildInfo{Main: debug.Module{Version: working}}).version; got != "0.1.0-dev" {
			t.Errorf("the version of a build of %q is %q, want that of the source", working, got)
		}
	}
}
