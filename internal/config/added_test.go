package config_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/internal/config"
	"github.com/parley-a2a/parley/internal/registry"
)

// lists are the keys of the part of these tests.
type lists struct {
	Lists []string `yaml:"lists" path:"yes"`
}

// places are the keys of that part in an agent.
type places struct {
	Place string `yaml:"place"`
}

func (p *places) OnExchange() string { return p.Place }

func init() {
	registry.Register("lists",
		config.Keys{In: "agents[]", New: func() any { return new(places) }, Schema: `"place": {"$ref": "#/$defs/text", "description": "The name of the agent there."}`, Kind: "place"},
		config.Keys{In: "directory", New: func() any { return new(lists) }, Schema: `"lists": {"$ref": "#/$defs/texts", "description": "Lists of agents."}`},
		config.Profile{Name: "other", Interfaces: []string{"GRPC", "JSONRPC"}},
	)
}

// A part adds keys to a mapping and a profile, and keys of parts that the program does not have are
// reported with file, line and key.
func TestAddedKeys(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]string{
		"directory: {lists: [a]}\nprofile: other": "",
		"directory:\n  list: [a]":                 "parley.yaml:2: directory.list: unknown key; did you mean lists?",
		"lists: [a]":                              "parley.yaml:1: lists: unknown key; did you mean directory.lists?",
		"directory:\n  lists: [a]\n  lists: [b]":  "parley.yaml:3: directory.lists: appears twice",
		"directory: {lists: a}":                   `parley.yaml:1: directory.lists: must be a list, not "a"`,
		"profile: another":                        `parley.yaml:1: profile: "another" is not one of other`,
	} {
		_, err := config.Parse("parley.yaml", []byte(src), noVariables)
		if got := errorText(err); got != want {
			t.Errorf("Parse(%q): %s\nwant %s", src, got, want)
		}
	}
	c := parse(t, "log: {level: info}\ndirectory: {lists: [a]}\nprofile: other")
	if got := config.Get[lists](&c.Directory).Lists; strings.Join(got, " ") == "" {
		t.Errorf("lists = %q", got)
	}
	if got := c.Interfaces(); len(got) != 2 || got[0] != "GRPC" {
		t.Errorf("the bindings of the profile are %v", got)
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// Keys and values of a part that the program does not have.
func TestAbsentParts(t *testing.T) {
	t.Parallel()
	known := registry.Known()
	if len(known) == 0 {
		t.Fatal("no key belongs to a part")
	}
	for key, name := range known {
		path, value, isValue := strings.Cut(key, "=")
		src := ""
		for i, word := range strings.Split(path, ".") {
			list, isList := strings.CutSuffix(word, "[]")
			src += strings.Repeat("  ", i) + list + ":\n"
			if isList {
				src += "- name: a\n"
			}
		}
		at := strings.Count(src, "\n")
		src = strings.TrimSuffix(src, "\n") + " " + value + "\n"
		want := "parley.yaml:" + strconv.Itoa(at) + ": " + strings.ReplaceAll(path, "[]", "[0]") + ": this program was built without " + name
		_, err := config.Parse("parley.yaml", []byte(src), noVariables)
		if got := errorText(err); got != want {
			t.Errorf("Parse(%q), a value %t: %s\nwant %s", src, isValue, got, want)
		}
	}
}
