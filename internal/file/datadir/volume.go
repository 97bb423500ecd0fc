package datadir

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// anonymous matches the source of a volume that a container engine has created without a name: Docker
// and Podman use a folder _data, and containerd uses none.
var anonymous = regexp.MustCompile(`/volumes/[0-9a-f]{64}(/_data)?$`)

// Anonymous reports whether the folder is in a volume without a name, which a container engine creates
// if its user mounts none. The next container does not get it. It is false on systems without
// /proc/self/mountinfo.
func (d *Dir) Anonymous() bool {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return false
	}
	path, err := filepath.Abs(d.path)
	if err != nil {
		return false
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	return anonymous.MatchString(sourceOf(string(mounts), path))
}

// sourceOf returns the folder that is mounted at path or at its closest parent. A line of mounts has
// that folder as its fourth field, and the mount point as its fifth. The last of equal mount points is
// the visible one.
func sourceOf(mounts, path string) string {
	source, longest := "", ""
	for line := range strings.Lines(mounts) {
		fields := strings.Fields(line)
		if len(fields) < 5 {
			continue
		}
		at := strings.TrimSuffix(fields[4], "/")
		if len(at) >= len(longest) && (path == at || strings.HasPrefix(path, at+"/")) {
			source, longest = fields[3], at
		}
	}
	return source
}
