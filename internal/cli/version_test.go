package cli

import (
	"runtime/debug"
	"testing"
)

// TestReadBuild: a release knows its commit, the commit's time and its modules.
func TestReadBuild(t *testing.T) {
	t.Parallel()
	b := readBuild(&debug.BuildInfo{
		Deps:     []*debug.Module{{Path: "example.org/a", Version: "v1.0.0"}, {Path: "example.org/b", Version: "v1.1.0", Replace: &debug.Module{Path: "example.org/c", Version: "v9.0.0"}}},
		Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.time", Value: "2026-11-23T10:00:00Z"}, {Key: "vcs.modified", Value: "true"}},
	})
	if b.commit != "abc" || b.date != "2026-11-23T10:00:00Z" || !b.modified {
		t.Errorf("readBuild = %+v", b)
	}
	if len(b.modules) != 2 || b.modules[0] != (module{"example.org/a", "v1.0.0"}) || b.modules[1] != (module{"example.org/c", "v9.0.0"}) {
		t.Errorf("modules = %v", b.modules)
	}
}
