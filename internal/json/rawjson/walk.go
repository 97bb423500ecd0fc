package rawjson

import "iter"

// Kind is the type of a JSON value.
type Kind byte

// The types of JSON values. Invalid means that no value begins with the character.
const (
	Invalid Kind = iota
	Null
	Bool
	Number
	// Text is a string; the name String belongs to the function.
	Text
	Array
	Object
)

// KindOf returns the type of the value at the start of b, from its first character alone.
func KindOf(b []byte) Kind {
	i := skipSpace(b, 0)
	if i == len(b) {
		return Invalid
	}
	switch b[i] {
	case '{':
		return Object
	case '[':
		return Array
	case '"':
		return Text
	case 't', 'f':
		return Bool
	case 'n':
		return Null
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return Number
	}
	return Invalid
}

// Fields returns the members of a valid JSON object in their order: the name unquoted, the
// value raw and without surrounding white space. A value that is not an object has none.
func Fields(obj []byte) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		i := enter(obj, '{')
		for i < len(obj) && obj[i] == '"' {
			end := skipString(obj, i)
			quoted := obj[i:end:end]
			i = skipSpace(obj, end)
			if i == len(obj) || obj[i] != ':' {
				return
			}
			i = skipSpace(obj, i+1)
			end = skipValue(obj, i)
			if end == i || !yield(nameOf(quoted), obj[i:end:end]) {
				return
			}
			i = next(obj, end)
		}
	}
}

// Member returns the value of a member of an object, or nil if obj has none of that name or is
// not an object. Of repeated members the first one counts.
func Member(obj []byte, name string) []byte {
	for n, v := range Fields(obj) {
		if n == name {
			return v
		}
	}
	return nil
}

// Elements returns the elements of a valid JSON array in their order, raw and without
// surrounding white space. A value that is not an array has none.
func Elements(arr []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) { eachElement(arr, enter(arr, '['), yield) }
}

// Items is Elements for the contents of an array, without its brackets.
func Items(list []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) { eachElement(list, skipSpace(list, 0), yield) }
}

// eachElement yields the elements of the array in b from the index i on.
func eachElement(b []byte, i int, yield func([]byte) bool) {
	for i < len(b) && b[i] != ']' {
		end := skipValue(b, i)
		if end == i || !yield(b[i:end:end]) {
			return
		}
		i = next(b, end)
	}
}

// enter returns the index after the opening bracket and white space, or len(b) if b does not
// begin with bracket.
func enter(b []byte, bracket byte) int {
	i := skipSpace(b, 0)
	if i == len(b) || b[i] != bracket {
		return len(b)
	}
	return skipSpace(b, i+1)
}

// next returns the index of the item after the comma at or after i, or len(b) if there is no
// comma.
func next(b []byte, i int) int {
	i = skipSpace(b, i)
	if i == len(b) || b[i] != ',' {
		return len(b)
	}
	return skipSpace(b, i+1)
}
