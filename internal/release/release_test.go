package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"go.uber.org/goleak"

	"github.com/parley-a2a/parley/internal/testing/hubtest"
	"github.com/parley-a2a/parley/internal/testing/testenv"
	"github.com/parley-a2a/parley/internal/version"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(hubtest.M{M: m}) }

// TestSBOM: the bill lists every module of the program.
func TestSBOM(t *testing.T) {
	t.Parallel()
	program, file := hubtest.Binary(t), filepath.Join(t.TempDir(), "sbom.json")
	if err := writeSBOM(program, file); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var b bom
	if err := json.Unmarshal(text, &b); err != nil || b.Format != "CycloneDX" {
		t.Fatalf("%v in %s", err, text)
	}
	listed := map[string]string{}
	for _, c := range b.Components {
		listed[c.Name] = c.Version
	}
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	if len(info.Deps) < 30 {
		t.Errorf("the program has %d modules", len(info.Deps))
	}
	for _, m := range info.Deps {
		if listed[m.Path] != m.Version {
			t.Errorf("the bill has %s at %q, want %s", m.Path, listed[m.Path], m.Version)
		}
	}
}

// TestPrepare: every module of the program has a licence, and there are completions and a page.
func TestPrepare(t *testing.T) {
	t.Chdir(filepath.Join("..", ".."))
	dir := t.TempDir()
	if err := document(dir, hubtest.Binary(t)); err != nil {
		t.Fatal(err)
	}
	licences, err := os.ReadFile(filepath.Join(dir, "THIRD_PARTY_LICENSES"))
	if err != nil {
		t.Fatal(err)
	}
	info, err := buildinfo.ReadFile(hubtest.Binary(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range info.Deps {
		if !strings.Contains(string(licences), "\n"+m.Path+" "+m.Version+"\n") {
			t.Errorf("no licence of %s %s", m.Path, m.Version)
		}
	}
	for file, want := range map[string]string{"parley.1": ".TH PARLEY 1", "completions/parley.bash": "complete -", "completions/_parley": "#compdef", "completions/parley.fish": "complete -c", "completions/parley.ps1": "Register-ArgumentCompleter"} {
		if text, err := os.ReadFile(filepath.Join(dir, file)); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s: %v, want %q", file, err, want)
		}
	}
}

// TestOneVersion: the workers in other languages, the chart and the steps of a release name the version of the next
// release. No page installs a version by its number, because main is ahead of the latest release.
func TestOneVersion(t *testing.T) {
	t.Parallel()
	for file, pattern := range map[string]string{
		"sdk/python/src/parley_worker/__init__.py": `__version__ = "(.+)"`,
		"sdk/ts/package.json":                      `"name": "parley-worker",\s+"version": "(.+)"`,
		"sdk/ts/package-lock.json":                 `"name": "parley-worker",\s+"version": "(.+)"`,
		"deploy/helm/parley/Chart.yaml":            `(?m)^(?:version|appVersion): "?([^"\n]+)`,
		"CONTRIBUTING.md":                          `(?m)^V=(.+)$`,
	} {
		text, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(file)))
		if err != nil {
			t.Fatal(err)
		}
		found := regexp.MustCompile(pattern).FindAllStringSubmatch(string(text), -1)
		if len(found) == 0 {
			t.Errorf("%s has no version like %s", file, pattern)
		}
		for _, m := range found {
			if m[1] != version.Next {
				t.Errorf("%s has the version %s, internal/version has %s", file, m[1], version.Next)
			}
		}
	}
	docs := filepath.Join("..", "..", "docs")
	installs := regexp.MustCompile(`parley\S*[_:@-]v?[0-9]+\.[0-9]+\.[0-9]+|tag: "?[0-9]+\.[0-9.]+|sh -s [0-9.]+`)
	err := filepath.WalkDir(docs, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || filepath.Ext(path) != ".md" || filepath.Dir(path) == filepath.Join(docs, "adr") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, one := range installs.FindAllString(string(text), -1) {
			t.Errorf("%s names a version in %q, which may not be the latest release: write *, VERSION or latest", path, one)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestDraft: while a release is a draft, goreleaser pushes nothing that downloads its files.
func TestDraft(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", ".goreleaser.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var sections map[string]any
	if err := yaml.Unmarshal(text, &sections); err != nil {
		t.Fatal(err)
	}
	if release, _ := sections["release"].(map[string]any); release["draft"] != true {
		t.Fatal("goreleaser publishes at once, without a draft")
	}
	pushed := 0
	for name, section := range sections {
		list, _ := section.([]any)
		for _, one := range list {
			if item, _ := one.(map[string]any); item["repository"] != nil {
				pushed++
				if item["skip_upload"] != true {
					t.Errorf("goreleaser pushes %s before the release is published; set skip_upload", name)
				}
			}
		}
	}
	if pushed != 2 {
		t.Errorf("%d sections have a repository, want those of the cask and the manifest", pushed)
	}
}

// TestReproducible: two builds in two folders are the same bytes, name no folder, and have the version that the
// linker was given.
func TestReproducible(t *testing.T) {
	t.Parallel()
	testenv.Env(t, testenv.CI) // it compiles the program with other flags than the tests
	first, second := linked(t), linked(t)
	if first != second {
		t.Errorf("two builds differ: %s and %s", first, second)
	}
}

// linked builds the tree from another folder and returns the digest of the program.
func linked(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	clone := filepath.Join(dir, "tree")
	if err := os.Symlink(root, clone); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "parley")
	const ldflags = "-ldflags=-s -w -X github.com/parley-a2a/parley/internal/version.source=1.2.3"
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", ldflags, "-o", program, "./cmd/parley")
	cmd.Dir, cmd.Env = clone, append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "PWD="+clone)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("the program has %d bytes", len(text))
	if out, err := exec.Command(program, "version").Output(); err != nil || !strings.HasPrefix(string(out), "parley 1.2.3\n") {
		t.Errorf("parley version: %v\n%s", err, out)
	}
	if strings.Contains(string(text), root) || strings.Contains(string(text), dir) {
		t.Errorf("the program contains the name of its folder")
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// TestServiceIsHardened: the unit has at most the exposure 2.0 of systemd's analysis.
func TestServiceIsHardened(t *testing.T) {
	t.Parallel()
	analyze := testenv.Tool(t, "systemd-analyze")
	out, err := exec.Command(analyze, "security", "--offline=true", filepath.Join("linux", "parley.service")).CombinedOutput()
	m := regexp.MustCompile(`exposure level for parley.service: ([0-9.]+)`).FindSubmatch(out)
	if m == nil {
		t.Fatalf("systemd-analyze: %v\n%s", err, out)
	}
	if level, _ := strconv.ParseFloat(string(m[1]), 64); level > 2 {
		t.Errorf("the exposure is %s, want at most 2.0:\n%s", m[1], out)
	}
}

// TestServiceStarts: the command of the unit has only flags of the program.
func TestServiceStarts(t *testing.T) {
	t.Parallel()
	unit, err := os.ReadFile(filepath.Join("linux", "parley.service"))
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^ExecStart=/usr/bin/parley serve --config (\S+) --data (\S+)$`).FindSubmatch(unit)
	if m == nil || string(m[1]) != "/etc/parley/parley.yaml" || string(m[2]) != "/var/lib/parley" {
		t.Fatalf("the unit does not start parley serve with the configuration and the data of the package:\n%s", unit)
	}
	hub := exec.CommandContext(t.Context(), hubtest.Binary(t), "doctor", "--offline", "--config", filepath.Join("linux", "parley.yaml"), "--data", filepath.Join(t.TempDir(), "data"))
	if out, err := hub.CombinedOutput(); hub.ProcessState.ExitCode() > 1 {
		t.Errorf("the configuration of the package does not load: %v\n%s", err, out)
	}
}
