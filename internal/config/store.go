package config

import (
	"net/url"
	"strings"

	"github.com/parley-a2a/parley/internal/file/yamlfile"
)

// CheckStore returns a description of the problem of the value of store; empty if it is valid. The
// description does not contain the value, which may include a password.
func CheckStore(text string) string {
	if text == "" || text == "sqlite" {
		return ""
	}
	if !strings.HasPrefix(text, "postgres://") && !strings.HasPrefix(text, "postgresql://") {
		return "must be sqlite, or the address of a database like postgres://user:password@host/name"
	}
	if u, err := url.Parse(text); err != nil || u.Path == "" || u.Path == "/" {
		return "is not the address of a database like postgres://user:password@host/name"
	}
	return ""
}

func checkStore(d *yamlfile.Decoder, c *Config) {
	if wrong := CheckStore(c.Store); wrong != "" {
		d.Problem(nil, "store", "%s", wrong)
	}
}
