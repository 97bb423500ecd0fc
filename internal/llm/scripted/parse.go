package scripted

import (
	"encoding/json"
	"regexp"
	"strconv"
	"time"

	"github.com/parley-a2a/parley/internal/file/yamlfile"
)

// file is a script in its YAML form.
type file struct {
	Turns []spec `yaml:"turns"`
}

// spec is a turn in its YAML form.
type spec struct {
	When   when         `yaml:"when"`
	Text   string       `yaml:"text"`
	Calls  []callSpec   `yaml:"calls"`
	Data   yamlfile.Any `yaml:"data"`
	Usage  usage        `yaml:"usage"`
	Delay  string       `yaml:"delay"`
	Finish string       `yaml:"finish"`
	Times  int          `yaml:"times"`
	Error  *failure     `yaml:"error"`
	Cut    bool         `yaml:"cut"`
	Stall  bool         `yaml:"stall"`
}

type when struct {
	Role   string `yaml:"role" enum:"user,tool"`
	Last   string `yaml:"last"`
	Tool   string `yaml:"tool"`
	Said   string `yaml:"said"`
	System string `yaml:"system"`
	Model  string `yaml:"model"`
	Turn   *int   `yaml:"turn"`
	Offers string `yaml:"offers"`
}

type callSpec struct {
	Name      string       `yaml:"name"`
	Arguments yamlfile.Any `yaml:"arguments"`
	Raw       string       `yaml:"raw"`
}

type usage struct {
	Input  int `yaml:"input"`
	Output int `yaml:"output"`
}

type failure struct {
	Status     int    `yaml:"status"`
	RetryAfter string `yaml:"retry_after"`
	Message    string `yaml:"message"`
}

// Parse parses src, which was read from the file at path. Errors name the file, line and key.
func Parse(path string, src []byte) (*Script, error) {
	var f file
	s := new(Script)
	err := yamlfile.Parse(path, src, &f, func(d *yamlfile.Decoder) {
		for i := range f.Turns {
			s.turns = append(s.turns, parseTurn(d, "turns["+strconv.Itoa(i)+"]", &f.Turns[i]))
		}
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

func parseTurn(d *yamlfile.Decoder, key string, s *spec) *turn {
	t := &turn{spec: *s, text: s.Text}
	pattern := func(name, text string) *regexp.Regexp { return d.Pattern(key+".when."+name, text) }
	w := &s.When
	t.last, t.tool, t.said = pattern("last", w.Last), pattern("tool", w.Tool), pattern("said", w.Said)
	t.system, t.model = pattern("system", w.System), pattern("model", w.Model)
	t.delay = duration(d, key+".delay", s.Delay)
	if s.Error != nil {
		t.retryAfter = duration(d, key+".error.retry_after", s.Error.RetryAfter)
	}
	for i := range s.Calls {
		t.calls = append(t.calls, parseCall(d, key+".calls["+strconv.Itoa(i)+"]", &s.Calls[i]))
	}
	if s.Data.V != nil {
		t.data = encode(d, key+".data", s.Data.V)
	}
	return t
}

func parseCall(d *yamlfile.Decoder, key string, c *callSpec) call {
	if c.Name == "" {
		d.Problem(nil, key+".name", "is missing")
	}
	if c.Raw != "" {
		return call{c.Name, c.Raw}
	}
	if c.Arguments.V == nil {
		return call{c.Name, "{}"}
	}
	return call{c.Name, string(encode(d, key+".arguments", c.Arguments.V))}
}

func encode(d *yamlfile.Decoder, key string, v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		d.Problem(nil, key, "cannot be written as JSON: %v", err)
	}
	return b
}

func duration(d *yamlfile.Decoder, key, text string) time.Duration {
	if text == "" {
		return 0
	}
	v, err := time.ParseDuration(text)
	if err != nil || v < 0 {
		d.Problem(nil, key, "%q is not a duration such as 50ms", yamlfile.Clip(text))
	}
	return v
}
