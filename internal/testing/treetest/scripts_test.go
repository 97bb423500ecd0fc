package treetest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/internal/testing/testenv"
)

func TestShellScripts(t *testing.T) {
	t.Parallel()
	bash := testenv.Tool(t, "bash")
	tr := load(t)
	found := 0
	for _, name := range tr.files {
		if !strings.HasPrefix(name, ".ci/") {
			continue
		}
		found++
		path := filepath.Join(tr.root, filepath.FromSlash(name))
		if out, err := exec.Command(bash, "-n", path).CombinedOutput(); err != nil {
			t.Errorf("bash -n %s: %v: %s", name, err, out)
		}
		if info, err := os.Stat(path); err != nil || info.Mode()&0o100 == 0 {
			t.Errorf("%s is not executable (%v); chmod +x it", name, err)
		}
		if text := tr.read(t, name); !strings.HasPrefix(text, "#!/usr/bin/env bash\n") || !strings.Contains(text, "\nset -euo pipefail\n") {
			t.Errorf("%s must begin with #!/usr/bin/env bash and set -euo pipefail", name)
		}
	}
	if found == 0 {
		t.Error("there is no script in .ci")
	}
}
