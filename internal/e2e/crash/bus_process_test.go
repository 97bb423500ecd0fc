package crash

import "time"

// roleVar makes this program run as a program of an agent. The other variables are those of its process.
const (
	roleVar     = "CRASH_ROLE"
	programRole = "program"
	recordVar   = "CRASH_RECORD"
)

// hubRole is the role of the hub. The role of a worker is the name of its agent.
const hubRole = "hub"

// busToken is the token of the broker within the hub.
const busToken = "secret"

// jobLease is the lease of a job.
const jobLease = 3 * time.Second

// The agents: robust is idempotent, careful may be executed only once.
const (
	robust  = "robust"
	careful = "careful"
)

// record is one line in the file of executions by workers.
type record struct {
	Agent   string `json:"agent"`
	Key     string `json:"key"`
	Attempt int    `json:"attempt"`
	Task    string `json:"task"`
	Run     string `json:"run"`
}
