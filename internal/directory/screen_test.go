package directory

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

	"github.com/parley-a2a/parley/task"
)

func TestScreen(t *testing.T) {
	t.Parallel()
	c := &a2a.AgentCard{
		Name: "Re\u200bsearch\x1b[31m", Description: strings.Repeat("ä", maxDescription), Version: "1",
		DefaultInputModes: make([]string, maxList+1),
		Skills: []a2a.AgentSkill{
			{ID: "good", Name: "Good 👩\u200d🔬", Description: "a\u202eb\nc", Tags: []string{"t"}},
			{ID: "GOOD"},
			{ID: ""},
			{ID: "bad\x00"},
			{ID: strings.Repeat("x", maxSkillID+1)},
		},
	}
	c.Capabilities.Extensions = make([]a2a.AgentExtension, maxExtensions+5)
	before := c.Description
	got, problems := screen(c)
	if got.Name != "Research[31m" || len(got.Description) > maxDescription || !utf8.ValidString(got.Description) || len(got.DefaultInputModes) != maxList {
		t.Errorf("card = %+v", got)
	}
	if len(got.Capabilities.Extensions) != maxExtensions || c.Description != before {
		t.Errorf("%d extensions, and the card that came in was changed: %v", len(got.Capabilities.Extensions), c.Description != before)
	}
	want := []a2a.AgentSkill{{ID: "good", Name: "Good 👩\u200d🔬", Description: "ab\nc", Tags: []string{"t"}}}
	if diff := cmp.Diff(want, got.Skills); diff != "" {
		t.Errorf("skills (-want +got):\n%s", diff)
	}
	for _, part := range []string{
		"name: had characters", "description: was cut", "defaultInputModes: only the first 50", "extensions: only the first 50",
		`skills[1]: duplicate skill "GOOD"`, "skills[2]: ", `skills[3]: "bad" is not the ID`, "skills[4]: ",
	} {
		if !strings.Contains(strings.Join(problems, "\n"), part) {
			t.Errorf("problems do not say %q:\n%s", part, strings.Join(problems, "\n"))
		}
	}
	many := new(a2a.AgentCard)
	for i := range 3 * maxSkills {
		many.Skills = append(many.Skills, a2a.AgentSkill{ID: fmt.Sprint("skill", i), Name: "\x00"})
	}
	if got, problems := screen(many); len(got.Skills) != maxSkills || len(problems) > 10 {
		t.Errorf("%d skills, %d problems", len(got.Skills), len(problems))
	}
}

// TestScreenLinks checks that a card passes addresses on for browsers only.
func TestScreenLinks(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ link, want string }{
		{"https://docs.example/a?b=1", "https://docs.example/a?b=1"},
		{"http://docs.example", "http://docs.example"},
		{"", ""},
		{"javascript:alert(1)", ""},
		{"data:image/png;base64,AAAA", ""},
		{"//docs.example", ""},
		{"https://docs.example/\u202e", ""},
		{"https://docs.example/" + strings.Repeat("x", maxDescription), ""},
	} {
		c := &a2a.AgentCard{DocumentationURL: tt.link, IconURL: tt.link, Provider: &a2a.AgentProvider{Org: "A\x00cme", URL: tt.link}}
		got, problems := screen(c)
		want := &a2a.AgentProvider{Org: "Acme", URL: tt.want}
		if got.DocumentationURL != tt.want || got.IconURL != tt.want || *got.Provider != *want || c.Provider.Org == "Acme" {
			t.Errorf("screen(%q) = %q, %q, %+v", tt.link, got.DocumentationURL, got.IconURL, got.Provider)
		}
		if n := len(problems); n != 1 && tt.link == tt.want || n != 4 && tt.link != tt.want {
			t.Errorf("problems of %q = %q", tt.link, problems)
		}
	}
}

// For any text, the result is valid UTF-8, short and visible.
func FuzzClean(f *testing.F) {
	for _, s := range []string{"", "a", "a\x00b", "\xff", "\u202e", strings.Repeat("ä", 150)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var p problems
		got := p.text("x", s, 100)
		if !utf8.ValidString(got) || len(got) > 100 || clean(got) != got || (got != s) != (len(p) > 0) {
			t.Errorf("text(%q) = %q, problems %q", s, got, p)
		}
	})
}

func TestNameOf(t *testing.T) {
	t.Parallel()
	for title, want := range map[string]task.Agent{
		"ResearchAgent": "researchagent", "SampleAgent-Http": "sampleagent-http", " My  agent! ": "my-agent", "Äther 2": "ther-2", "!": "", "a--b": "a-b",
	} {
		if got := NameOf(title); got != want {
			t.Errorf("NameOf(%q) = %q, want %q", title, got, want)
		}
	}
}

func TestVersions(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		versions []a2a.ProtocolVersion
		want     string
	}{
		{nil, ""},
		{[]a2a.ProtocolVersion{"0.3.0", "1.0"}, "1.0"},
		{[]a2a.ProtocolVersion{"1.0", "0.3"}, "1.0"},
		{[]a2a.ProtocolVersion{"1.2", "1.10"}, "1.10"},
		{[]a2a.ProtocolVersion{""}, ""},
	} {
		c := new(a2a.AgentCard)
		for _, v := range tt.versions {
			c.SupportedInterfaces = append(c.SupportedInterfaces, &a2a.AgentInterface{ProtocolVersion: v})
		}
		if got := protocolOf(c); got != tt.want {
			t.Errorf("newest of %q = %q, want %q", tt.versions, got, tt.want)
		}
	}
}
