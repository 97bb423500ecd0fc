// Package guard keeps words of others from passing as orders when a language model
// reads them.
//
// # What it is
//
// What an agent, a card, an MCP server or a web page says is data. [Label] wraps such a
// text so that a model can tell whose words it reads, and [Notice] tells the model what
// the wrapping means. [Screen] finds what in a text looks like orders to its reader:
// "ignore previous instructions", marks of roles, the syntax of tool calls, characters
// that do not show, orders in comments or in base64. A [Guard] does all of it, by a
// [Policy]: [Mark] tells the model what was found, [Redact] takes it out, [Refuse]
// withholds the text.
//
// # Guarantees
//
// A text cannot close the label around it: the label ends with a boundary that is
// derived from the text and does not occur in it, and what looks like a label in the text
// is escaped. The same text of the same origin gets the same label. What Redact leaves has
// no grave finding. Time and memory are linear in the length of the text, of which the
// first [MaxText] bytes are read; a Guard shows no more than these. Positions are byte
// offsets into the text as it came.
//
// # What it does not promise
//
// No screen finds all orders. It knows phrases of ten languages, English best, and ways
// to disguise them; who says the same in other words, in a poem, in a picture, or spread
// over several messages, is not found. Nor does a label oblige a model to anything: it
// helps those that were trained to tell data from orders. What a model may do at all is
// for the allow-lists of its tools, for trust and for approvals to say, as if the screen
// did not exist. Texts about such attacks are found like attacks. The measured rates, and
// the texts that are missed or taken for what they are not, are in testdata and in the
// test.
//
// # Concurrency
//
// Everything is safe for concurrent use.
//
// # Testing
//
// TestCorpus holds the measured rates; everything is a function of its arguments.
package guard
