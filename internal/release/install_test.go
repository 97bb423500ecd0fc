package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/parley-a2a/parley/internal/testing/testenv"
)

// packed returns an archive of a release, whose program prints a text.
func packed(t *testing.T, prints string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for name, text := range map[string]string{"LICENSE": "Apache", "parley": "#!/bin/sh\necho " + prints + "\n"} {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// published returns the files of releases at their addresses: version 1.2.3, which is the latest; 1.0.0 with a
// changed archive, 1.0.1 whose checksums lack the archive, 1.0.2 without checksums, 1.0.3 without archives.
func published(t *testing.T) fstest.MapFS {
	t.Helper()
	files := fstest.MapFS{}
	put := func(folder, name string, content []byte) { files[folder+"/"+name] = &fstest.MapFile{Data: content} }
	var sums bytes.Buffer
	for _, target := range []string{"linux_amd64", "linux_arm64", "darwin_amd64", "darwin_arm64"} {
		name, good := "parley_1.2.3_"+target+".tar.gz", packed(t, target)
		fmt.Fprintf(&sums, "%x  %s\n%x  parley_1.2.3_%s.deb\n", sha256.Sum256(good), name, sha256.Sum256(nil), target)
		put("download/v1.2.3", name, good)
		put("download/v1.0.0", name, packed(t, "changed"))
		put("download/v1.0.1", name, good)
		put("download/v1.0.2", name, good)
	}
	for _, folder := range []string{"download/v1.2.3", "download/v1.0.0", "download/v1.0.3"} {
		put(folder, "checksums.txt", sums.Bytes())
	}
	put("download/v1.0.1", "checksums.txt", fmt.Appendf(nil, "%x  parley_1.0.1_windows_amd64.zip\n", sha256.Sum256(nil)))
	for path, f := range maps.Clone(files) {
		if name, ok := strings.CutPrefix(path, "download/v1.2.3/"); ok {
			files["latest/download/"+name] = f
		}
	}
	return files
}

// installer runs install.sh as on another system.
type installer struct {
	script       []byte
	shell, uname string // sh, and the folder of testdata/uname
	url          string // of the releases
}

func newInstaller(t *testing.T) *installer {
	t.Helper()
	i := &installer{shell: testenv.Tool(t, "sh")}
	testenv.Tool(t, "curl")
	var err error
	if i.script, err = os.ReadFile(filepath.Join("..", "..", "install.sh")); err != nil {
		t.Fatal(err)
	}
	if i.uname, err = filepath.Abs("testdata"); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.FileServerFS(published(t)))
	t.Cleanup(server.Close)
	i.url = server.URL
	return i
}

// command returns the command that installs a version in a folder, with the programs of path.
func (i *installer) command(t *testing.T, version, bin, path string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), i.shell, "-s", "--", version)
	cmd.Stdin = bytes.NewReader(i.script) // as from curl
	cmd.Env = []string{"PATH=" + i.uname + string(filepath.ListSeparator) + path, "PARLEY_DOWNLOAD=" + i.url, "PARLEY_BIN=" + bin}
	return cmd
}

// TestInstall: install.sh replaces the program by that of the release if the archive has the listed checksum, and
// prints a command that starts it. Otherwise it changes nothing and says why.
func TestInstall(t *testing.T) {
	t.Parallel()
	i := newInstaller(t)
	for _, c := range []struct {
		version, system, processor string
		bin                        string // in the folder of the test; relative if it begins with a dot
		installs, fails            string // what the program prints, or the error
	}{
		{"", "Linux", "x86_64", "bin", "linux_amd64", ""},
		{"latest", "Linux", "aarch64", "bin", "linux_arm64", ""},
		{"1.2.3", "Darwin", "x86_64", "bin", "darwin_amd64", ""},
		{"v1.2.3", "Darwin", "arm64", "new/folder with space", "darwin_arm64", ""},
		{"", "Linux", "x86_64", "./relative", "linux_amd64", ""},
		{"", "Linux", "x86_64", `it's a\folder $HOME`, "linux_amd64", ""},
		{"1.0.0", "Linux", "x86_64", "bin", "", "parley_1.2.3_linux_amd64.tar.gz does not match its SHA-256 checksum"},
		{"1.0.1", "Linux", "x86_64", "bin", "", "lists no archive for linux/amd64"},
		{"1.0.2", "Linux", "x86_64", "bin", "", "release 1.0.2 not found"},
		{"1.0.3", "Linux", "x86_64", "bin", "", "cannot download"},
		{"9.9.9", "Linux", "x86_64", "bin", "", "release 9.9.9 not found"},
		{"", "Plan9", "x86_64", "bin", "", "no archive for Plan9"},
		{"", "Linux", "riscv64", "bin", "", "no archive for the processor riscv64"},
		{"", "Linux", "x86_64", "bin/parley/below", "", "set PARLEY_BIN"}, // parley is a file
		{"", "Linux", "x86_64", "taken", "", "taken/parley is a folder"},
	} {
		t.Run(fmt.Sprint(c.version, " ", c.system, " ", c.processor, " ", c.bin), func(t *testing.T) {
			dir := t.TempDir()
			old := filepath.Join(dir, "bin", "parley")
			if err := errors.Join(os.Mkdir(filepath.Dir(old), 0o755), os.MkdirAll(filepath.Join(dir, "taken", "parley"), 0o755)); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(old, []byte("old"), 0o600); err != nil {
				t.Fatal(err)
			}
			bin := c.bin
			if !strings.HasPrefix(bin, ".") {
				bin = filepath.Join(dir, filepath.FromSlash(bin))
			}
			cmd := i.command(t, c.version, bin, os.Getenv("PATH"))
			cmd.Dir, cmd.Env = dir, append(cmd.Env, "TEST_SYSTEM="+c.system, "TEST_PROCESSOR="+c.processor)
			out, err := cmd.CombinedOutput()
			_, start, _ := strings.Cut(string(out), "Start a hub with: ")
			if c.fails != "" {
				if text, _ := os.ReadFile(old); cmd.ProcessState.ExitCode() != 1 || !strings.Contains(string(out), c.fails) || string(text) != "old" {
					t.Errorf("install.sh: %v, and the program is %q; want the error %q\n%s", err, text, c.fails, out)
				}
			} else if err != nil {
				t.Errorf("install.sh: %v\n%s", err, out)
			} else if got, err := exec.CommandContext(t.Context(), i.shell, "-c", start).Output(); err != nil || string(got) != c.installs+"\n" {
				t.Errorf("%q prints %q, %v; want %q", start, got, err, c.installs)
			}
			if left, _ := filepath.Glob(filepath.Join(dir, "*", ".parley*")); len(left) > 0 {
				t.Errorf("install.sh left %v", left)
			}
		})
	}
}

// TestInstallUnchecked: install.sh names the programs that it needs to verify checksums.
func TestInstallUnchecked(t *testing.T) {
	t.Parallel()
	i := newInstaller(t)
	cmd := i.command(t, "", filepath.Join(t.TempDir(), "bin"), "")
	cmd.Env = append(cmd.Env, "TEST_SYSTEM=Linux", "TEST_PROCESSOR=x86_64")
	if out, _ := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() != 1 || !strings.Contains(string(out), "sha256sum or shasum is required") {
		t.Errorf("install.sh: %v\n%s", cmd.ProcessState, out)
	}
}
