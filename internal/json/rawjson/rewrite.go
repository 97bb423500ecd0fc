package rawjson

// Rewriter appends v, the value of the member name, in another form.
type Rewriter func(dst []byte, name string, v []byte) []byte

// RewriteObject appends obj with the values of its members rewritten. Names and their order are
// unchanged.
func RewriteObject(dst, obj []byte, value Rewriter) []byte {
	dst = append(dst, '{')
	for name, v := range Fields(obj) {
		dst = value(AppendName(dst, name), name, v)
	}
	return append(dst, '}')
}

// RewriteList appends arr with its elements rewritten.
func RewriteList(dst, arr []byte, element func(dst, v []byte) []byte) []byte {
	dst = append(dst, '[')
	first := true
	for v := range Elements(arr) {
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = element(dst, v)
	}
	return append(dst, ']')
}

// ListOf returns a function that appends a list with its elements rewritten.
func ListOf(element func(dst, v []byte) []byte) func(dst, v []byte) []byte {
	return func(dst, v []byte) []byte { return RewriteList(dst, v, element) }
}

// Members maps names of members to functions that append their values in another form.
type Members map[string]func(dst, v []byte) []byte

// Value is a Rewriter. It leaves other members unchanged.
func (m Members) Value(dst []byte, name string, v []byte) []byte {
	if f := m[name]; f != nil {
		return f(dst, v)
	}
	return append(dst, v...)
}

// Append is RewriteObject with m.
func (m Members) Append(dst, obj []byte) []byte { return RewriteObject(dst, obj, m.Value) }

// Only is Append without the other members.
func (m Members) Only(dst, obj []byte) []byte {
	dst = append(dst, '{')
	for name, v := range Fields(obj) {
		if value := m[name]; value != nil {
			dst = value(AppendName(dst, name), v)
		}
	}
	return append(dst, '}')
}

// AppendName begins a member of the object at the end of dst, which has no closing bracket yet.
func AppendName(dst []byte, name string) []byte {
	if dst[len(dst)-1] != '{' {
		dst = append(dst, ',')
	}
	return append(AppendString(dst, name), ':')
}

// First returns the name and the value of the first member of obj.
func First(obj []byte) (string, []byte) {
	for name, v := range Fields(obj) {
		return name, v
	}
	return "", nil
}
