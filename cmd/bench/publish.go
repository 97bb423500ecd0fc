package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
)

// published returns the folder of the files that RESULTS.md links.
func (o *options) published() string { return filepath.Join(o.publish, "results") }

func (o *options) resultFile() string { return filepath.Join(o.published(), "result.json") }

// write writes the files that were requested.
func (o *options) write(r *report) error {
	if o.html == "" {
		return nil
	}
	p, files := r.drawn()
	if err := writeFile(o.html, p.Write); err != nil || o.publish == "" {
		return err
	}
	for i, name := range files {
		if err := writeFile(filepath.Join(o.published(), name), func(w io.Writer) error { return p.WriteChart(w, i) }); err != nil {
			return err
		}
	}
	return errors.Join(r.save(o.resultFile()), r.rewriteFile(filepath.Join(o.publish, "RESULTS.md")))
}

func (r *report) save(path string) error { return writeFile(path, r.json) }

// writeFile writes a file, and its folder if there is none.
func writeFile(path string, write func(io.Writer) error) error {
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, b.Bytes(), 0o644)
}
