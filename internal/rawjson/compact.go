package rawjson

// AppendCompact appends valid JSON without insignificant white space. The result
// is one line. Strings and numbers stay as they are.
func AppendCompact(dst, b []byte) []byte {
	from := 0
	for i := 0; i < len(b); {
		switch c := b[i]; {
		case c == '"':
			i = skipString(b, i)
		case isSpace(c):
			dst = append(dst, b[from:i]...)
			i = skipSpace(b, i)
			from = i
		default:
			i++
		}
	}
	return append(dst, b[from:]...)
}
