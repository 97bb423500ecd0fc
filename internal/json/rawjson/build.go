package rawjson

import "slices"

// AppendMember appends a member to an object that has no closing bracket yet.
func AppendMember(dst []byte, name string, value []byte) []byte {
	if n := len(dst); n > 0 && dst[n-1] != '{' {
		dst = append(dst, ',')
	}
	return append(append(AppendString(dst, name), ':'), value...)
}

// AppendMembers appends the members of obj, except those of the given names, to an object that has
// no closing bracket yet.
func AppendMembers(dst, obj []byte, without ...string) []byte {
	for name, v := range Fields(obj) {
		if !slices.Contains(without, name) {
			dst = AppendMember(dst, name, v)
		}
	}
	return dst
}
