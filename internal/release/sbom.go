package main

import (
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
)

// bom is a bill of materials in the format CycloneDX 1.6.
type bom struct {
	Format     string      `json:"bomFormat"`
	Spec       string      `json:"specVersion"`
	Version    int         `json:"version"`
	Metadata   metadata    `json:"metadata"`
	Components []component `json:"components"`
}

type metadata struct {
	Component component `json:"component"`
}

// component is a module.
type component struct {
	Type    string `json:"type"`
	Name    string `json:"name"`
	Version string `json:"version"`
	PURL    string `json:"purl"`
	Ref     string `json:"bom-ref"`
}

func writeSBOM(program, file string) error {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return fmt.Errorf("read the modules of %s: %w", program, err)
	}
	text, err := json.MarshalIndent(bomOf(info), "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o644)
}

func bomOf(info *buildinfo.BuildInfo) bom {
	b := bom{Format: "CycloneDX", Spec: "1.6", Version: 1, Metadata: metadata{componentOf(&info.Main, "application")}}
	b.Components = append(b.Components, componentOf(&debug.Module{Path: "std", Version: strings.TrimPrefix(info.GoVersion, "go")}, "library"))
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		b.Components = append(b.Components, componentOf(m, "library"))
	}
	return b
}

func componentOf(m *debug.Module, kind string) component {
	purl := "pkg:golang/" + m.Path + "@" + m.Version
	return component{Type: kind, Name: m.Path, Version: m.Version, PURL: purl, Ref: purl}
}
