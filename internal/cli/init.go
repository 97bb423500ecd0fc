package cli

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/parley-a2a/parley/internal/config"
)

//go:embed template
var template embed.FS

// purposes has a folder with the files for each value of --for.
//
//go:embed purpose
var purposes embed.FS

// schemaName is the file with the schema of parley.yaml.
const schemaName = "parley.schema.json"

type initCmd struct {
	For    string `help:"The purpose of the hub: program, python, remote, model, queue or production. Without it, the files show an agent of each simple kind." enum:"program,python,remote,model,queue,production," default:"" placeholder:"NAME"`
	Force  bool   `help:"Overwrite existing files."`
	Schema bool   `help:"Print the JSON Schema of parley.yaml and write nothing."`
	Dir    string `arg:"" optional:"" help:"The folder to write to; created if it does not exist." default:"." type:"path"`
}

// Run writes the files, all or none of them.
func (c *initCmd) Run(o *OS) error {
	if c.Schema {
		_, err := o.Stdout.Write(config.Schema())
		return err
	}
	files, err := fs.Sub(template, "template")
	if c.For != "" {
		files, err = fs.Sub(purposes, "purpose/"+c.For)
	}
	if err != nil {
		return err
	}
	var names []string
	err = fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		return err
	}
	if err := c.free(names); err != nil {
		return err
	}
	for _, name := range names {
		if err := c.write(files, name); err != nil {
			return err
		}
		fmt.Fprintln(o.Stdout, filepath.Join(c.shown(), name))
	}
	// The first line of parley.yaml names the schema for editors.
	if err := os.WriteFile(filepath.Join(c.Dir, schemaName), config.Schema(), 0o644); err != nil {
		return err
	}
	fmt.Fprintln(o.Stdout, filepath.Join(c.shown(), schemaName))
	fmt.Fprintf(o.Stdout, "Try: %sparley serve\n", c.enter())
	return nil
}

// free returns an error if files would be overwritten.
func (c *initCmd) free(names []string) error {
	var taken []string
	for _, name := range names {
		if _, err := os.Lstat(filepath.Join(c.Dir, name)); err == nil {
			taken = append(taken, filepath.Join(c.shown(), name))
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if len(taken) > 0 && !c.Force {
		return fmt.Errorf("%s: already exists; use --force to overwrite", strings.Join(taken, ", "))
	}
	return nil
}

func (c *initCmd) write(files fs.FS, name string) error {
	content, err := fs.ReadFile(files, name)
	if err != nil {
		return err
	}
	mode := fs.FileMode(0o644)
	if path.Ext(name) == ".sh" {
		mode = 0o755
	}
	to := filepath.Join(c.Dir, name)
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(to, content, mode); err != nil {
		return err
	}
	return os.Chmod(to, mode) // an existing file kept its mode
}

// shown returns the folder for a person: relative if it is below the current one.
func (c *initCmd) shown() string {
	wd, err := os.Getwd()
	if err != nil {
		return c.Dir
	}
	rel, err := filepath.Rel(wd, c.Dir)
	if err != nil || strings.HasPrefix(rel, "..") {
		return c.Dir
	}
	return rel
}

// enter returns the shell command that changes to the folder, if it is another one.
func (c *initCmd) enter() string {
	if dir := c.shown(); dir != "." {
		return "cd " + quote(dir) + " && "
	}
	return ""
}
