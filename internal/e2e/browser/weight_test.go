package browser_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// without stands for the package console in a program without it.
const without = `package console

import (
	"log/slog"
	"net/http"

	"github.com/parley-a2a/parley/internal/secret/openid"
)

const Root = "/console/"

type Handler struct {
	Hub       http.Handler
	Version   string
	Logger    *slog.Logger
	PublicURL string
	Providers []*openid.Provider
}

func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) { h.Hub.ServeHTTP(w, r) }
func (h *Handler) Close() {}
`

// TestWeight builds the program like a release, with and without the console, if PARLEY_WEIGHT is
// set. The console adds less than 400 KiB.
func TestWeight(t *testing.T) {
	if os.Getenv("PARLEY_WEIGHT") == "" {
		return
	}
	dir := t.TempDir()
	folder, err := filepath.Abs(filepath.Join("..", "..", "front", "console"))
	if err != nil {
		t.Fatal(err)
	}
	all, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	replaced := make(map[string]string)
	for _, name := range all {
		if !strings.HasSuffix(name, "_test.go") {
			replaced[name] = ""
		}
	}
	replaced[filepath.Join(folder, "console.go")] = filepath.Join(dir, "without.go")
	overlay, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"without.go": without, "overlay.json": string(overlay)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	size := func(name string, args ...string) int64 {
		out := filepath.Join(dir, name)
		build := exec.Command("go", append([]string{"build", "-trimpath", "-tags", "grpcnotrace", "-gcflags", "github.com/nats-io/nats-server/v2/server=-l", "-ldflags", "-s -w -funcalign=16", "-o", out}, append(args, "./cmd/parley")...)...)
		build.Dir, build.Env = filepath.Join("..", "..", ".."), append(os.Environ(), "CGO_ENABLED=0")
		if text, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		info, err := os.Stat(out)
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	grown := size("with") - size("without", "-overlay", filepath.Join(dir, "overlay.json"))
	t.Logf("the console adds %d KiB", grown>>10)
	if grown >= 400<<10 {
		t.Errorf("the console adds %d bytes, want less than 400 KiB", grown)
	}
}
