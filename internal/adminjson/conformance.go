package adminjson

// CheckRequest is the body of POST /api/v1/conformance.
type CheckRequest struct {
	// URL is the address above the agent's card, or of the card itself.
	URL string `json:"url"`
	// Only lists ids of requirements, or their first words, such as "push"; absent means all.
	Only []string `json:"only,omitempty"`
	// Key is the credential that the agent requires: a bearer token, or an API key. It is in no
	// report.
	Key string `json:"key,omitempty"`
}

// CheckReport is the answer of POST /api/v1/conformance.
type CheckReport struct {
	URL string `json:"url"`
	// OK is set if no requirement of the level MUST has failed, and the check is complete.
	OK bool `json:"ok"`
	// Incomplete is the reason why the check ended before its last requirement; absent if it
	// did not.
	Incomplete string `json:"incomplete,omitempty"`
	// Interfaces are the tested interfaces: binding, version and URL.
	Interfaces []string `json:"interfaces"`
	// LeftOut are interfaces of the card that could not be tested, each with the reason.
	LeftOut []string `json:"leftOut,omitempty"`
	// Results are in the order of the check.
	Results []CheckResult `json:"results"`
	// Seconds is the duration of the check.
	Seconds float64 `json:"seconds"`
}

// CheckResult is the outcome of a requirement on one interface.
type CheckResult struct {
	// ID is the name of the requirement, such as "get.unknown", Level its obligation as in RFC
	// 2119, Section its section of the specification, and Text the requirement in one sentence.
	ID      string `json:"id"`
	Level   string `json:"level"`
	Section string `json:"section"`
	Text    string `json:"text"`
	// Interface is "card" for requirements on the whole agent, or a binding with its version.
	Interface string `json:"interface"`
	// Outcome is "pass", "fail", "not offered", or "declared": not met, as an extension of the
	// card declares.
	Outcome string `json:"outcome"`
	// Detail describes the problem, or the reason why there is nothing to judge.
	Detail string `json:"detail,omitempty"`
	// Evidence are the exchanged bytes that show a failure, without credentials: ">" before
	// sent and "<" before received lines.
	Evidence []string `json:"evidence,omitempty"`
}
