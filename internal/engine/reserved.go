package engine

import (
	"slices"

	"github.com/parley-a2a/parley/internal/json/rawjson"
)

// reserved are the metadata names that only the hub may set. From callers or agents they would
// be mistaken for a question or an answer of the hub.
var reserved = []string{questionKey, answerKey}

// purposes are the metadata names with which agents of the hub state the purpose of a message.
// The receiving agents trust them.
var purposes = []string{"parley.asked", "parley.summary"}

// unreserved returns metadata without reserved names.
func unreserved(meta []byte) []byte { return without(meta, reserved) }

// without returns metadata without the given names: meta unchanged if it has none of them, nil
// if nothing remains.
func without(meta []byte, names []string) []byte {
	if meta == nil || !slices.ContainsFunc(names, func(name string) bool { return rawjson.Member(meta, name) != nil }) {
		return meta
	}
	b := []byte{'{'}
	for name, value := range rawjson.Fields(meta) {
		if !slices.Contains(names, name) {
			b = appendMember(b, name, value)
		}
	}
	if len(b) == 1 {
		return nil
	}
	return append(b, '}')
}

// bodyOf returns the message of a caller without the names reserved for the hub. Unless an
// agent has delegated the message, it also removes those of purposes.
func bodyOf(body []byte, delegated bool) []byte {
	meta := rawjson.Member(body, "metadata")
	left := unreserved(meta)
	if !delegated {
		left = without(left, purposes)
	}
	if len(left) == len(meta) {
		return body
	}
	b := []byte{'{'}
	for name, value := range rawjson.Fields(body) {
		if name == "metadata" {
			value = left
		}
		if value != nil {
			b = appendMember(b, name, value)
		}
	}
	return append(b, '}')
}

// appendMember appends a member to an open object.
func appendMember(b []byte, name string, value []byte) []byte {
	if len(b) > 1 {
		b = append(b, ',')
	}
	return append(append(rawjson.AppendString(b, name), ':'), value...)
}
