package adminjson

// AuditReport is the answer of GET /api/v1/audit/verify.
type AuditReport struct {
	// Log is the name of the log, Key its public key.
	Log string `json:"log"`
	Key string `json:"key"`
	// Files and Entries are the numbers of files and entries read, First and Last the numbers of
	// the first and the last entry, and Signed that of the last one with a valid signature.
	Files   int    `json:"files"`
	Entries uint64 `json:"entries"`
	First   uint64 `json:"first"`
	Last    uint64 `json:"last"`
	Signed  uint64 `json:"signed"`
	// Problems are the faults of the log, and Notes remarks that are none.
	Problems []string `json:"problems"`
	Notes    []string `json:"notes"`
}
