package config

import (
	"time"

	"github.com/parley-a2a/parley/auth/audit"
	"github.com/parley-a2a/parley/internal/file/yamlfile"
)

// Audit says what the audit log holds, where it is, and how long it is kept.
type Audit struct {
	// Level is off; changes, which is what is done to the hub, and whom it refuses; tasks,
	// which is what callers do to tasks, too; or reads, which is what they look at, too:
	// tasks.
	Level string `yaml:"level" enum:"off,changes,tasks,reads"`
	// Dir is the folder of the log: the folder audit in the data folder.
	Dir string `yaml:"dir" path:"yes"`
	// Keep is how long entries are kept: for ever.
	Keep Duration `yaml:"keep"`
	// KeepSize is how large the log becomes before its oldest segments are removed: any
	// size.
	KeepSize Size `yaml:"keep_size"`
	// SegmentSize is how large a file of the log becomes: 16MiB.
	SegmentSize Size `yaml:"segment_size"`
}

// Off reports whether there is no audit log.
func (a *Audit) Off() bool { return a.Level == string(audit.Off) }

// Options returns how the log is kept, without its folder and its key.
func (a *Audit) Options() audit.Options {
	return audit.Options{
		Level: audit.Level(a.Level), SegmentSize: int64(a.SegmentSize), KeepAge: time.Duration(a.Keep), KeepSize: int64(a.KeepSize),
	}
}

// minSegment is the least that a file of the log must have room for.
const minSegment = 64 << 10

// checkAudit notes what is wrong with a.
func checkAudit(d *yamlfile.Decoder, a *Audit) {
	if a.SegmentSize > 0 && a.SegmentSize < minSegment {
		d.Problem(nil, "audit.segment_size", "is less than 64KiB")
	}
	segment := a.SegmentSize
	if segment == 0 {
		segment = 16 << 20
	}
	if a.KeepSize > 0 && a.KeepSize < 2*segment {
		d.Problem(nil, "audit.keep_size", "is less than two files of audit.segment_size, which is %d bytes", segment)
	}
}
