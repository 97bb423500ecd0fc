package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// targets are the systems of the released programs. Their modules differ.
var targets = []string{"linux", "darwin", "windows"}

// moduleInfo is a module of "go list -deps -json".
type moduleInfo struct {
	Path, Version, Dir string
	Main               bool
	Replace            *moduleInfo
}

func writeLicences(file string) error {
	modules, err := modulesOf("./cmd/parley")
	if err != nil {
		return err
	}
	var b bytes.Buffer
	b.WriteString("Parley contains the following modules. Each is followed by its licence.\n")
	for _, m := range modules {
		text, err := licence(m)
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "\n%s\n%s %s\n%s\n\n%s", strings.Repeat("=", 80), m.Path, m.Version, strings.Repeat("=", 80), text)
	}
	return os.WriteFile(file, b.Bytes(), 0o644)
}

// modulesOf returns the modules of a program on all systems, by their paths.
func modulesOf(program string) ([]moduleInfo, error) {
	found := map[string]moduleInfo{}
	for _, system := range targets {
		cmd := exec.Command("go", "list", "-deps", "-json=Module", program)
		cmd.Env = append(os.Environ(), "GOOS="+system, "CGO_ENABLED=0")
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("go list for %s: %w", system, err)
		}
		if err := collect(json.NewDecoder(bytes.NewReader(out)), found); err != nil {
			return nil, err
		}
	}
	modules := make([]moduleInfo, 0, len(found))
	for _, m := range found {
		modules = append(modules, m)
	}
	slices.SortFunc(modules, func(a, b moduleInfo) int { return strings.Compare(a.Path, b.Path) })
	return modules, nil
}

func collect(packages *json.Decoder, found map[string]moduleInfo) error {
	for {
		var p struct{ Module *moduleInfo }
		switch err := packages.Decode(&p); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case p.Module == nil || p.Module.Main:
			continue
		}
		m := *p.Module
		if m.Replace != nil {
			m = *m.Replace
		}
		found[m.Path] = m
	}
}

// licenceFile matches the names of licences and of the notices that belong to them.
var licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents)([.-].*)?$`)

func licence(m moduleInfo) (string, error) {
	entries, err := os.ReadDir(m.Dir)
	if err != nil {
		return "", fmt.Errorf("module %s: %w", m.Path, err)
	}
	var texts []string
	for _, e := range entries {
		if !licenceFile.MatchString(e.Name()) || e.IsDir() {
			continue
		}
		text, err := os.ReadFile(filepath.Join(m.Dir, e.Name()))
		if err != nil {
			return "", err
		}
		texts = append(texts, strings.TrimSpace(string(text))+"\n")
	}
	if len(texts) == 0 {
		return "", fmt.Errorf("module %s has no licence in %s", m.Path, m.Dir)
	}
	return strings.Join(texts, "\n"), nil
}
