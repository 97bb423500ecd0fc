// Command perturb writes an overlay of the Go runtime whose goroutines yield at random. Tests that
// are built with the overlay meet orders of events that a quiet machine hardly ever produces:
//
//	go run ./internal/testing/perturb /tmp/perturb
//	PERTURB=30 go test -overlay /tmp/perturb/overlay.json -race -vet=off -shuffle=on -count=20 ./inbox/...
//
// PERTURB is the number of yields in a thousand operations on locks and channels and starts of
// goroutines; the default is 0. Most yields let a few other goroutines run. One in 16 keeps its
// processor for up to 0.2 ms, and one in 64 sleeps for up to 2 ms, but not within a synctest bubble,
// whose clock it would move. A program that is built without the overlay is
// not perturbed, even if a perturbed test starts it.
//
// The overlay fits the Go release that wrote it. A failure cannot be repeated by a seed,
// since the kernel schedules the threads; repeat the test instead.
package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// An edit inserts a call of perturb into a file of the standard library, after a line that occurs
// there once.
type edit struct{ file, after, call string }

var edits = []edit{
	{"internal/sync/mutex.go", "func (m *Mutex) Lock() {\n", "perturb()"},
	{"internal/sync/mutex.go", "func (m *Mutex) Unlock() {\n", "defer perturb()"},
	{"sync/rwmutex.go", "func (rw *RWMutex) RLock() {\n", "perturb()"},
	{"sync/rwmutex.go", "func (rw *RWMutex) RUnlock() {\n", "defer perturb()"},
	{"runtime/chan.go", "func chansend(c *hchan, ep unsafe.Pointer, block bool, callerpc uintptr) bool {\n", "perturbIf(block)"},
	{"runtime/chan.go", "func chanrecv(c *hchan, ep unsafe.Pointer, block bool) (selected, received bool) {\n", "perturbIf(block)"},
	{"runtime/chan.go", "func closechan(c *hchan) {\n", "perturb()"},
	{"runtime/select.go", "func selectgo(cas0 *scase, order0 *uint16, pc0 *uintptr, nsends, nrecvs int, block bool) (int, bool) {\n", "perturb()"},
	{"runtime/proc.go", "\t\t\twakep()\n\t\t}\n\t})\n", "perturb()"},
	{"runtime/proc.go", "\tmainStarted = true\n", "perturbInit()"},
}

// Files that the overlay adds. The runtime calls its own function; the others link to it.
var (
	//go:embed runtime.go.txt
	inRuntime string
	added     = map[string]string{
		"runtime/perturb.go":       inRuntime,
		"internal/sync/perturb.go": linked,
		"sync/perturb.go":          linked,
	}
)

const linked = `package sync

import _ "unsafe"

//go:linkname perturb
func perturb()
`

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: perturb FOLDER")
		os.Exit(2)
	}
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err == nil {
		err = write(strings.TrimSpace(string(root)), os.Args[1])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "perturb:", err)
		os.Exit(1)
	}
}

// write writes the overlay of the standard library below root into folder.
func write(root, folder string) error {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return err
	}
	files := make(map[string]string)
	for name, text := range added {
		files[name] = text
	}
	for _, e := range edits {
		text, ok := files[e.file]
		if !ok {
			data, err := os.ReadFile(filepath.Join(root, "src", e.file))
			if err != nil {
				return err
			}
			text = string(data)
		}
		if n := strings.Count(text, e.after); n != 1 {
			return fmt.Errorf("%s of this Go release has %d times %q", e.file, n, e.after)
		}
		files[e.file] = strings.Replace(text, e.after, e.after+"\t"+e.call+"\n", 1)
	}
	return store(root, folder, files)
}

// store writes files into folder, and the list of the files that they replace.
func store(root, folder string, files map[string]string) error {
	replace := make(map[string]string)
	for name, text := range files {
		path := filepath.Join(folder, strings.ReplaceAll(name, "/", "_"))
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
		replace[filepath.Join(root, "src", name)] = path
	}
	list, err := json.MarshalIndent(map[string]any{"Replace": replace}, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "overlay.json"), list, 0o644)
}
