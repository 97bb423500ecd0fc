// Command release makes the files of a release that the Go command does not make.
//
//	go run ./internal/release prepare FOLDER    # manual page, completions, licences of all modules
//	go run ./internal/release sbom PROGRAM FILE # the modules of a program, as CycloneDX
//
// The output depends on its input only: two runs write the same bytes.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

func main() {
	var err error
	switch args := os.Args[1:]; {
	case len(args) == 2 && args[0] == "prepare":
		err = prepare(args[1])
	case len(args) == 3 && args[0] == "sbom":
		err = writeSBOM(args[1], args[2])
	default:
		err = fmt.Errorf("usage: release prepare FOLDER, or release sbom PROGRAM FILE")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// prepare writes the manual page, the completions and the licences.
func prepare(dir string) error {
	temp, err := os.MkdirTemp("", "release")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	program := filepath.Join(temp, "parley")
	build := exec.Command("go", "build", "-trimpath", "-o", program, "./cmd/parley")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // the flags of the release, which compiles the same packages
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build parley: %w\n%s", err, out)
	}
	return document(dir, program)
}

// document writes the files of the release that describe a program.
func document(dir, program string) error {
	for file, args := range map[string][]string{
		"parley.1": {"man"}, "completions/parley.bash": {"completion", "bash"}, "completions/_parley": {"completion", "zsh"},
		"completions/parley.fish": {"completion", "fish"}, "completions/parley.ps1": {"completion", "powershell"},
	} {
		if err := output(filepath.Join(dir, file), exec.Command(program, args...)); err != nil {
			return err
		}
	}
	return writeLicences(filepath.Join(dir, "THIRD_PARTY_LICENSES"))
}

// output writes the output of a command to a file.
func output(file string, command *exec.Cmd) error {
	text, err := command.Output()
	if err != nil {
		return fmt.Errorf("%v: %w", command.Args, err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o644)
}
