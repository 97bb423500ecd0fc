package datadir

import (
	"strings"
	"testing"
)

func TestAnonymous(t *testing.T) {
	t.Parallel()
	id := strings.Repeat("3f", 32)
	mounts := func(source, at string) string {
		return `612 480 0:51 / / rw,relatime master:204 - overlay overlay rw,lowerdir=/var/lib/docker/overlay2/l/` + id + `
613 612 0:54 / /proc rw,nosuid - proc proc rw
620 612 254:1 ` + source + ` ` + at + ` rw,relatime master:1 - ext4 /dev/vda1 rw,discard
621 612 254:1 /var/lib/docker/containers/` + id + `/hosts /etc/hosts rw,relatime - ext4 /dev/vda1 rw
`
	}
	for _, tt := range []struct {
		name, source, at, path string
		want                   bool
	}{
		{"Docker", "/var/lib/docker/volumes/" + id + "/_data", "/data", "/data", true},
		{"Docker with a disk of its own", "/volumes/" + id + "/_data", "/data", "/data", true},
		{"containerd", "/var/lib/containerd/io.containerd.grpc.v1.cri/containers/1/volumes/" + id, "/data", "/data", true},
		{"a folder below", "/var/lib/docker/volumes/" + id + "/_data", "/data", "/data/hub", true},
		{"a volume with a name", "/var/lib/docker/volumes/parley/_data", "/data", "/data", false},
		{"a folder of the machine", "/home/ada/" + id, "/data", "/data", false},
		{"another folder", "/var/lib/docker/volumes/" + id + "/_data", "/data", "/database", false},
		{"no volume", "/var/lib/docker/volumes/" + id + "/_data", "/other", "/data", false},
	} {
		if got := anonymous.MatchString(sourceOf(mounts(tt.source, tt.at), tt.path)); got != tt.want {
			t.Errorf("%s: a volume without a name: %v, want %v", tt.name, got, tt.want)
		}
	}
	over := mounts("/var/lib/docker/volumes/"+id+"/_data", "/data") + "630 620 0:60 / /data rw - tmpfs tmpfs rw\n"
	if got := sourceOf(over, "/data"); got != "/" {
		t.Errorf("the visible mount has the source %q, want that of the last one", got)
	}
	if got := sourceOf("damaged\n\n1 2 3\n", "/data"); got != "" {
		t.Errorf("the source in a damaged file is %q, want none", got)
	}
}
