package config

import "github.com/parley-a2a/parley/internal/file/yamlfile"

// Parts says how large parts of messages and artifacts are kept. If it is zero, all parts
// are in the log of their tasks, and callers get their bytes.
type Parts struct {
	// Threshold is the size above which the bytes of a part are kept in a file, and readers
	// get its address instead of them; zero means never.
	Threshold Size `yaml:"threshold"`
	// Expiry is how long parts are kept after the end of their task, at the longest as long
	// as the task: 7d.
	Expiry Duration `yaml:"expiry"`
	// Max is the largest part that is taken: 64MiB.
	Max Size `yaml:"max"`
	// Dir is the folder of the files: parts in the data folder.
	Dir string `yaml:"dir" path:"yes"`
}

// checkParts notes bounds that contradict each other.
func checkParts(d *yamlfile.Decoder, p *Parts) {
	if p.Threshold == 0 && (p.Expiry != 0 || p.Max != 0) {
		d.Problem(nil, "parts.threshold", "is missing, and without it no part is kept by itself")
	}
	if p.Max != 0 && p.Max < p.Threshold {
		d.Problem(nil, "parts.max", "is less than parts.threshold")
	}
}
