package dialect

// Readers of parts, for tests that read the writers' output.
var (
	ReadV03Part   = readV03Part
	ReadProtoPart = readProtoPart
	ReadJobPart   = readJobPart
	UnwrapPart    = unwrapPart
	Untexted      = untexted
)
