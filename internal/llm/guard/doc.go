// Package guard prevents text of other agents and servers from acting as instructions when a
// language model reads it.
//
// # Overview
//
// Text from an agent, a card, an MCP server or a web page is data. [Label] wraps such a text so
// that a model can recognize its author, and [Notice] explains the label to the model. [Screen]
// finds passages that look like instructions to the reader: "ignore previous instructions",
// role markers, the syntax of tool calls, invisible characters, instructions in comments or in
// base64. A [Guard] does all of this, by a [Policy]: [Mark] adds a warning for the model,
// [Redact] removes the passages, [Refuse] withholds the text.
//
// # Guarantees
//
// A text cannot close the label around it: the label ends with a boundary that is derived from
// the text and does not occur in it, and anything like a label in the text is escaped. The same
// text of the same origin gets the same label. The result of Redact has no grave finding. Time
// and memory are linear in the length of the text. Only its first [MaxText] bytes are read, and
// a Guard shows no more than these. Positions are byte offsets into the original text.
//
// # Non-guarantees
//
// No screen finds all instructions. This one knows phrases and cues of some thirty languages, English
// best, and some ways to disguise them. It does not find paraphrases, poems, text in pictures, or
// instructions spread over several messages. A label does not force a model to anything: it
// helps models that were trained to distinguish instructions from data. The allow-lists of
// tools, trust and approvals decide which actions a model may take, as if the screen did not
// exist. Texts about such attacks are found like attacks. Testdata and the test record the
// measured rates, the misses and the false alarms.
//
// # Testing
//
// TestEvaluation holds the measured rates in internal/e2e/threats.md, TestCorpus those of an older corpus. All functions depend on their arguments alone.
package guard
