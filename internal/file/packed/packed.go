// Package packed keeps files of the program compressed until they are used. Text takes about a tenth
// of its size so.
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
		text, err := inflate(compressed)
		if err != nil {
			panic("packed: " + err.Error())
		}
		return text
	})
}

func inflate(compressed []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}
