package task

import "github.com/parley-a2a/parley/internal/json/rawjson"

// members is a JSON object merged from others. A member keeps its first position and its last
// value. The zero value is empty.
type members struct {
	list []member
	// index maps names to indexes once there are many members; nil before.
	index map[string]int
}

type member struct {
	name  string
	value []byte
}

// manyMembers is the number from which a map is used to find names.
const manyMembers = 16

func (m *members) len() int { return len(m.list) }

func (m *members) merge(obj []byte) {
	for name, value := range rawjson.Fields(obj) {
		m.set(name, value)
	}
}

func (m *members) set(name string, value []byte) {
	if i := m.find(name); i >= 0 {
		m.list[i].value = value
		return
	}
	m.list = append(m.list, member{name, value})
	switch {
	case m.index != nil:
		m.index[name] = len(m.list) - 1
	case len(m.list) >= manyMembers:
		m.index = make(map[string]int, 2*manyMembers)
		for i := range m.list {
			m.index[m.list[i].name] = i
		}
	}
}

func (m *members) find(name string) int {
	if m.index != nil {
		if i, ok := m.index[name]; ok {
			return i
		}
		return -1
	}
	for i := range m.list {
		if m.list[i].name == name {
			return i
		}
	}
	return -1
}

// append appends the object.
func (m *members) append(dst []byte) []byte {
	return append(m.appendList(append(dst, '{')), '}')
}

// appendList appends the members without the braces.
func (m *members) appendList(dst []byte) []byte {
	for i := range m.list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = rawjson.AppendString(dst, m.list[i].name)
		dst = append(append(dst, ':'), m.list[i].value...)
	}
	return dst
}

// size returns the number of bytes of the members with their separators.
func (m *members) size() (n int) {
	for i := range m.list {
		n += len(m.list[i].name) + len(`"":,`) + len(m.list[i].value)
	}
	return n
}
