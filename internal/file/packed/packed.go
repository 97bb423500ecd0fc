// Package packed keeps files of the program compressed until they are used. Text takes about a sixth
// of its size so. A file is decompressed once, by the first of any goroutines that read it, and stays in
// memory.
//
// # Testing
//
// The compressed files lie beside their sources in the tree. The test of a package with such a file calls
// packedtest, which compares the two.
package packed

import (
	"bytes"
	"compress/gzip"
	"io"
	"sync"
)

// File returns a function that returns the content of a gzip file. The first call decompresses it. The
// function panics if the file is damaged, which only a wrong build can cause. Callers must not change
// the content.
func File(compressed []byte) func() []byte {
	return sync.OnceValue(func() []byte {
		text, err := Content(compressed)
		if err != nil {
			panic("packed: " + err.Error())
		}
		return text
	})
}

// Content returns the content of a gzip file. The error is that of package gzip.
func Content(compressed []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}
