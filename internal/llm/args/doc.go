// Package args reads the arguments that language models pass to tools. Fields describe the
// arguments of a tool. Schema returns the description for the model, and Read decodes and
// checks the model's arguments; both use the same table, so they cannot differ.
//
// # Guarantees
//
// Read accepts all arguments that match Schema, and null for optional ones; it never returns an
// unchecked value. It rejects duplicate names and blank texts. Its error is written for the
// model: it names each wrong field, the required value, and a similar name that may have been
// meant. Quotes of the arguments are short. Objects keep the digits of their numbers.
//
// # Non-guarantees
//
// A schema checks the form of a value, not for example whether an agent of that name exists.
package args
