// Package childenv selects the environment of programs that the hub runs.
//
// # Guarantees
//
// A program gets the variables that programs need on their platform, such as PATH and HOME, and
// nothing else. The environment of a hub holds its secrets, from which parley.yaml takes keys and
// tokens, and programs need only those that their env names.
package childenv

import (
	"os"
	"runtime"
	"slices"
	"strings"
)

// Names are the variables that programs get, with LC_* for the locale.
var Names = []string{"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR"}

// windows are further variables, without which programs on Windows do not start. Their names may
// be written in any case.
var windows = []string{
	"SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "TEMP", "TMP", "USERNAME", "USERPROFILE", "HOMEDRIVE", "HOMEPATH",
	"APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "PROGRAMFILES", "PROGRAMFILES(X86)", "COMMONPROGRAMFILES", "NUMBER_OF_PROCESSORS", "PROCESSOR_ARCHITECTURE", "OS",
}

// Base returns the variables of this process for a program, as NAME=value.
func Base() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool { return !passed(v, runtime.GOOS) })
}

func passed(variable, system string) bool {
	name, _, _ := strings.Cut(variable, "=")
	if system == "windows" {
		name = strings.ToUpper(name)
		if slices.Contains(windows, name) {
			return true
		}
	}
	return slices.Contains(Names, name) || strings.HasPrefix(name, "LC_")
}
