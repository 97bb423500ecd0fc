package a2ajson

import "github.com/a2aproject/a2a-go/v2/a2a"

// AppendPart appends p (specification §4.1.6). Its content must be set, and a URL
// must not be empty.
func AppendPart(dst []byte, p *a2a.Part) ([]byte, error) {
	w := appender{out: dst}
	w.part(p)
	if w.err != nil {
		return dst, w.err
	}
	return w.out, nil
}
