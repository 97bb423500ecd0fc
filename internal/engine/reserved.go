package engine

import (
	"slices"

	"github.com/parley-a2a/parley/internal/json/rawjson"
	"github.com/parley-a2a/parley/internal/op"
)

// reserved reports whether a name in metadata is for the hub alone to set: what others
// say under it would be taken for a question or an answer of the hub.
func reserved(name string) bool { return name == questionKey || name == answerKey }

// unreserved returns metadata without reserved names: meta itself if it has none, nil if
// nothing is left.
func unreserved(meta []byte) []byte {
	if meta == nil || rawjson.Member(meta, questionKey) == nil && rawjson.Member(meta, answerKey) == nil {
		return meta
	}
	b := []byte{'{'}
	for name, value := range rawjson.Fields(meta) {
		if !reserved(name) {
			b = appendMember(b, name, value)
		}
	}
	if len(b) == 1 {
		return nil
	}
	return append(b, '}')
}

// purposes are the names by which agents of the hub say why they ask for it: those who
// answer believe them.
var purposes = []string{"parley.asked", "parley.summary"}

// withoutPurpose returns metadata without the names of purposes.
func withoutPurpose(meta []byte) []byte {
	if meta == nil || !slices.ContainsFunc(purposes, func(name string) bool { return rawjson.Member(meta, name) != nil }) {
		return meta
	}
	b := []byte{'{'}
	for name, value := range rawjson.Fields(meta) {
		if !slices.Contains(purposes, name) {
			b = appendMember(b, name, value)
		}
	}
	if len(b) == 1 {
		return nil
	}
	return append(b, '}')
}

// bodyOf returns the message of a request, in whose metadata the hub alone says what it
// answers, and its agents alone why they ask.
func bodyOf(r *op.Send) []byte {
	body := r.Message.Body
	meta := rawjson.Member(body, "metadata")
	left := meta
	if r.Answers == 0 {
		left = unreserved(left)
	}
	if r.Lineage == nil {
		left = withoutPurpose(left)
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

// appendMember appends a member to an object that is open.
func appendMember(b []byte, name string, value []byte) []byte {
	if len(b) > 1 {
		b = append(b, ',')
	}
	return append(append(rawjson.AppendString(b, name), ':'), value...)
}
