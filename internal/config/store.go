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

// Parts configures the storage of large parts of messages and artifacts. The zero value keeps
// all parts in the log of their tasks, and callers get their bytes.
type Parts struct {
	// Threshold is the size above which the bytes of a part are stored in a file, and readers
	// get its address instead; zero means never.
	Threshold Size `yaml:"threshold"`
	// Expiry is the retention time of parts after the end of their task, at most that of the
	// task. The default is 7d.
	Expiry Duration `yaml:"expiry"`
	// Max is the largest accepted part. The default is 64MiB.
	Max Size `yaml:"max"`
	// Dir is the folder of the files. The default is parts in the data folder.
	Dir string `yaml:"dir" path:"yes"`
}

// checkParts reports contradictory limits.
func checkParts(d *yamlfile.Decoder, p *Parts) {
	if p.Threshold == 0 && (p.Expiry != 0 || p.Max != 0) {
		d.Problem(nil, "parts.threshold", "is missing, and without it no part is kept by itself")
	}
	if p.Max != 0 && p.Max < p.Threshold {
		d.Problem(nil, "parts.max", "is less than parts.threshold")
	}
}
