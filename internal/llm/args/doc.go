// Package args reads the arguments that language models give to tools.
//
// # What it is
//
// Fields describe the arguments of a tool. Schema is what the model is shown, Read takes
// what it gives: both come from the same table, so that neither says something else than
// the other.
//
// # Guarantees
//
// Read takes what Schema allows, and null for what may be left out; nothing has a value that
// was not checked. A name that is there twice, and a text that is blank, are refused. Its
// error is for the model: it names each field that is wrong, says what would be right, and
// which name may have been meant. What it repeats of the arguments is short. Objects keep
// the digits of their numbers.
//
// # What it does not promise
//
// A schema says what a value looks like, not whether there is an agent of that name.
//
// # Concurrency
//
// Fields are not changed by anything here.
//
// # Testing
//
// Reading has a fuzz target, which compares it with a validator of schemas.
package args
