package membudget

import "bytes"

// Decoded estimates the memory for decoding a JSON document, in bytes: factor times its size,
// and value for each of its values, which it counts by their commas.
func Decoded(doc []byte, factor, value int64) int64 {
	return factor*int64(len(doc)) + value*int64(bytes.Count(doc, comma))
}

var comma = []byte{','}
