package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// program prints how often, of 1,000 times on one processor, a goroutine ran before the statement
// after its start.
const program = `package main

import (
	"runtime"
	"sync/atomic"
)

func main() {
	runtime.GOMAXPROCS(1)
	first := 0
	for range 1000 {
		var ran atomic.Bool
		done := make(chan struct{})
		go func() { ran.Store(true); close(done) }()
		if ran.Load() {
			first++
		}
		<-done
	}
	print(first)
}
`

// TestOverlay checks that the overlay fits this Go release, and changes the order of goroutines.
func TestOverlay(t *testing.T) {
	t.Parallel()
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	if err := write(strings.TrimSpace(string(root)), folder); err != nil {
		t.Fatal(err)
	}
	source, binary := filepath.Join(folder, "program.go"), filepath.Join(folder, "program")
	if err := os.WriteFile(source, []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-overlay", filepath.Join(folder, "overlay.json"), "-o", binary, source)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	run := func(rate string) int {
		cmd := exec.Command(binary)
		cmd.Env = append(os.Environ(), "PERTURB="+rate)
		out, err := cmd.CombinedOutput()
		first, atoiErr := strconv.Atoi(string(out))
		if err != nil || atoiErr != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return first
	}
	if calm, wild := run(""), run("500"); wild < calm+200 {
		t.Errorf("a started goroutine ran first %d times of 1,000, and %d times without yields", wild, calm)
	}
}
