// Package packages tests the configuration of releases with goreleaser's own types, and builds the
// Debian and RPM packages that it describes.
package packages

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goreleaser/goreleaser/v2/pkg/config"
	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm"
	"github.com/sassoftware/go-rpmutils"
)

const root = "../../.."

// project reads .goreleaser.yaml; unknown keys are errors.
func project(t *testing.T) *config.Project {
	t.Helper()
	f, err := os.Open(filepath.Join(root, ".goreleaser.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p, err := config.LoadReader(f)
	if err != nil {
		t.Fatal(err)
	}
	return &p
}

// TestConfiguration: releases have six targets, and are built like "make".
func TestConfiguration(t *testing.T) {
	p := project(t)
	b := p.Builds[0]
	if got := strings.Join(b.Goos, " ") + "/" + strings.Join(b.Goarch, " "); got != "linux darwin windows/amd64 arm64" {
		t.Errorf("targets are %s", got)
	}
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	for _, flag := range []string{"-trimpath", `-ldflags="-s -w"`, "CGO_ENABLED=0"} {
		if !strings.Contains(string(makefile), flag) {
			t.Errorf("the Makefile has no %s", flag)
		}
	}
	if b.ModTimestamp != "{{ .CommitTimestamp }}" || strings.Join(b.Flags, " ") != "-trimpath -buildvcs=true" || strings.Join(b.Ldflags, " ") != "-s -w" || len(b.Gcflags) > 0 {
		t.Errorf("the build is %+v; two builds of a tag must be the same bytes, and those of make", b)
	}
}

// TestBill runs the command of the bill of materials as goreleaser does: in a folder below the root,
// its distribution directory.
func TestBill(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c, bill := project(t).SBOMs[0], filepath.Join(t.TempDir(), "bill.json")
	args := slices.Clone(c.Args)
	for i, a := range args {
		args[i] = strings.NewReplacer("$artifact", program, "$document", bill).Replace(a)
	}
	run := exec.Command(c.Cmd, args...)
	run.Dir = filepath.Join(root, "docs")
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", run.Args, err, out)
	}
	if text, err := os.ReadFile(bill); err != nil || !bytes.Contains(text, []byte(`"CycloneDX"`)) {
		t.Errorf("the bill is not one of CycloneDX (%v):\n%s", err, text)
	}
}

// unpack has the program or library that unpacks each format.
var unpack = map[string]func(name, dir string) error{
	"deb": func(name, dir string) error { return exec.Command("dpkg-deb", "-x", name, dir).Run() },
	"rpm": func(name, dir string) error {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		p, err := rpmutils.ReadRpm(f)
		if err != nil {
			return err
		}
		if err := p.ExpandPayload(dir); err != nil {
			return err
		}
		files, err := p.Header.GetFiles()
		if err != nil {
			return err
		}
		for _, f := range files { // ExpandPayload ignores the modes
			if err := os.Chmod(filepath.Join(dir, f.Name()), os.FileMode(f.Mode()).Perm()); err != nil {
				return err
			}
		}
		return nil
	},
}

// TestPackages builds a package of each format with the files of the configuration, unpacks it, and runs its
// program.
func TestPackages(t *testing.T) {
	dir := t.TempDir()
	prepared, program := filepath.Join(dir, "files"), filepath.Join(dir, "parley")
	for _, args := range [][]string{{"run", "./internal/release", "prepare", prepared}, {"build", "-trimpath", "-ldflags=-s -w", "-o", program, "./cmd/parley"}} {
		run := exec.Command("go", args...)
		run.Dir = root
		if out, err := run.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", run.Args, err, out)
		}
	}
	for _, format := range project(t).NFPMs[0].Formats {
		name, installed := filepath.Join(dir, "parley."+format), filepath.Join(dir, format)
		build(t, format, name, prepared, program)
		if err := unpack[format](name, installed); err != nil {
			t.Fatalf("unpack the %s: %v", format, err)
		}
		for _, want := range []string{
			"usr/lib/systemd/system/parley.service", "usr/lib/sysusers.d/parley.conf", "etc/parley/parley.yaml",
			"usr/share/man/man1/parley.1", "usr/share/bash-completion/completions/parley", "usr/share/doc/parley/THIRD_PARTY_LICENSES",
		} {
			if _, err := os.Stat(filepath.Join(installed, want)); err != nil {
				t.Errorf("the %s has no %s: %v", format, want, err)
			}
		}
		if out, err := exec.Command(filepath.Join(installed, "usr", "bin", "parley"), "version").Output(); err != nil || !bytes.HasPrefix(out, []byte("parley ")) {
			t.Errorf("the program of the %s: %v\n%s", format, err, out)
		}
	}
}

// build writes a package of a program and the prepared files.
func build(t *testing.T, format, name, prepared, program string) {
	t.Helper()
	c := project(t).NFPMs[0]
	contents := files.Contents{{Source: program, Destination: "/usr/bin/parley", FileInfo: &files.ContentFileInfo{Mode: 0o755}}}
	for _, f := range c.Contents {
		src := filepath.Join(root, f.Source)
		if rest, ok := strings.CutPrefix(f.Source, "dist-files/"); ok {
			src = filepath.Join(prepared, rest)
		}
		contents = append(contents, &files.Content{Source: src, Destination: f.Destination, Type: f.Type})
	}
	info := nfpm.WithDefaults(&nfpm.Info{
		Name: c.PackageName, Arch: "amd64", Version: "0.1.0", Maintainer: c.Maintainer, Description: c.Description, License: c.License,
		Overridables: nfpm.Overridables{Contents: contents, Scripts: nfpm.Scripts{PostInstall: filepath.Join(root, c.Scripts.PostInstall)}},
	})
	if err := nfpm.PrepareForPackager(info, format); err != nil {
		t.Fatalf("%s: %v", format, err)
	}
	p, err := nfpm.Get(format)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := p.Package(info, &b); err != nil {
		t.Fatalf("%s: %v", format, err)
	}
	if err := os.WriteFile(name, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}
