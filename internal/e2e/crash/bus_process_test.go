package crash

import "time"

// The variables of the programs: the agent that they perform, and the path of the ledger.
const (
	agentVar  = "CRASH_AGENT"
	recordVar = "CRASH_RECORD"
)

// toldTo ends the error of a program that was told to fail.
const toldTo = "was told to fail"

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
