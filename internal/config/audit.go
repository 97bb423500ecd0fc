package config

import (
	"time"

	"github.com/parley-a2a/parley/internal/audit"
	"github.com/parley-a2a/parley/internal/file/yamlfile"
)

// Audit configures the content, the folder and the retention of the audit log.
type Audit struct {
	// Level selects the logged actions: off; changes (administrative changes and denied
	// requests); tasks (changes plus task operations of callers); reads (tasks plus read
	// access). The default is tasks.
	Level string `yaml:"level" enum:"off,changes,tasks,reads"`
	// Dir is the folder of the log. The default is the folder audit in the data folder.
	Dir string `yaml:"dir" path:"yes"`
	// Keep is the retention time of entries. By default they are kept forever.
	Keep Duration `yaml:"keep"`
	// KeepSize is the largest size of the log; the oldest segments are removed above it. The
	// default is no limit.
	KeepSize Size `yaml:"keep_size"`
	// SegmentSize is the largest size of a file of the log. The default is 16MiB.
	SegmentSize Size `yaml:"segment_size"`
}

// Off reports whether there is no audit log.
func (a *Audit) Off() bool { return a.Level == string(audit.Off) }

// Options returns the options of the log, without its folder and its key.
func (a *Audit) Options() audit.Options {
	return audit.Options{
		Level: audit.Level(a.Level), SegmentSize: int64(a.SegmentSize), KeepAge: time.Duration(a.Keep), KeepSize: int64(a.KeepSize),
	}
}

// minSegment is the smallest allowed SegmentSize.
const minSegment = 64 << 10

func checkAudit(d *yamlfile.Decoder, a *Audit) {
	if a.SegmentSize > 0 && a.SegmentSize < minSegment {
		d.Problem(nil, "audit.segment_size", "must be at least 64KiB")
	}
	segment := a.SegmentSize
	if segment == 0 {
		segment = 16 << 20
	}
	if a.KeepSize > 0 && a.KeepSize < 2*segment {
		d.Problem(nil, "audit.keep_size", "must be at least two files of audit.segment_size, which is %d bytes", segment)
	}
}
