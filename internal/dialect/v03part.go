package dialect

import (
	"github.com/parley-a2a/parley/internal/json/a2ajson"
	"github.com/parley-a2a/parley/internal/json/rawjson"
)

// contentOf returns the name of the member that holds the content of a v1.0 part, and
// its value.
func contentOf(part []byte) (string, []byte) {
	for name, v := range rawjson.Fields(part) {
		switch name {
		case "text", "raw", "url", "data":
			return name, v
		}
	}
	return "", nil
}

// v03Part appends a part of v1.0 in the shape of v0.3.
func v03Part(dst, part []byte) []byte {
	switch name, _ := contentOf(part); name {
	case "raw", "url":
		return v03File(dst, part)
	case "data":
		return v03Object(dst, "data", wrapPart(nil, part), keepValue)
	}
	return v03Object(dst, "text", part, keepValue)
}

// v03FileNames maps the members of a v1.0 part that belong to the file to their names in v0.3.
var v03FileNames = map[string]string{"raw": "bytes", "url": "uri", "filename": "name", "mediaType": "mimeType"}

func v03File(dst, part []byte) []byte {
	dst = append(dst, `{"kind":"file","file":{`...)
	for name, v := range rawjson.Fields(part) {
		if inside := v03FileNames[name]; inside != "" {
			dst = append(rawjson.AppendName(dst, inside), v...)
		}
	}
	dst = append(dst, '}')
	for name, v := range rawjson.Fields(part) {
		if name != "kind" && name != "file" && v03FileNames[name] == "" {
			dst = append(rawjson.AppendName(dst, name), v...)
		}
	}
	return append(dst, '}')
}

// ReadPart appends a part of v0.3, or of a dialect without kinds, in the shape of v1.0.
func ReadPart(dst, part []byte) ([]byte, error) { return readV03Part(dst, part) }

// readV03Part appends a part of v0.3 in the shape of v1.0. A part without a kind is identified
// by its members.
func readV03Part(dst, part []byte) ([]byte, error) {
	if rawjson.KindOf(part) != rawjson.Object {
		return append(dst, part...), nil
	}
	if err := checkKind(part); err != nil {
		return dst, err
	}
	value := compatValue(member(part, "data"), member(part, "metadata"))
	dst = append(dst, '{')
	for name, v := range rawjson.Fields(part) {
		switch {
		case name == "kind" || name == "file" && rawjson.KindOf(v) == rawjson.Null:
		case name == "file":
			var err error
			if dst, err = readFile(dst, v, &v03FileSchema); err != nil {
				return dst, a2ajson.Under(name, err)
			}
		case name == "data" && value != nil:
			dst = append(rawjson.AppendName(dst, name), value...)
		case name == "metadata" && value != nil:
			dst = appendUnwrapped(dst, v)
		default:
			dst = append(rawjson.AppendName(dst, name), v...)
		}
	}
	return append(dst, '}'), nil
}

// checkKind refuses a part with an unknown kind, or without the content of its kind.
func checkKind(part []byte) error {
	v := member(part, "kind")
	if v == nil {
		return nil
	}
	switch kind, _ := rawjson.String(v); kind {
	case "text", "file", "data":
		if c := member(part, kind); c == nil || rawjson.KindOf(c) == rawjson.Null {
			return required(kind)
		}
		return nil
	}
	return a2ajson.Under("kind", a2ajson.Invalid("must be text, file or data"))
}

// compatValue returns the original of data that was wrapped in an object for readers that
// accept nothing else, or nil.
func compatValue(data, metadata []byte) []byte {
	if string(member(metadata, dataCompat)) != "true" {
		return nil
	}
	return member(data, "value")
}

// appendUnwrapped appends the metadata of a part whose data was wrapped, without the mark. It
// omits metadata that holds nothing else.
func appendUnwrapped(dst, metadata []byte) []byte {
	if m := without(metadata, dataCompat); len(m) > len("{}") {
		return append(rawjson.AppendName(dst, "metadata"), m...)
	}
	return dst
}

// fileSchema describes the members of a file.
type fileSchema struct {
	*a2ajson.Schema
	// content names the members of which exactly one is required.
	content string
	// bytes appends the file's bytes in the encoding of v1.0.
	bytes func(dst, v []byte) ([]byte, error)
}

const (
	fileBytes = iota
	fileURI
	fileName
	fileType
)

var v03FileSchema = fileSchema{
	Schema:  a2ajson.NewSchema("bytes", "uri", "name", "mimeType"),
	content: "bytes and uri",
	bytes:   func(dst, v []byte) ([]byte, error) { return append(dst, v...), nil },
}

// readFile appends the members of a file to its part. Unknown members are kept.
func readFile(dst, file []byte, s *fileSchema) ([]byte, error) {
	contents := 0
	err := s.Each(file, func(i int, name string, v []byte) (err error) {
		switch i {
		case fileBytes:
			contents++
			dst, err = s.bytes(rawjson.AppendName(dst, "raw"), v)
		case fileURI:
			contents++
			dst = append(rawjson.AppendName(dst, "url"), v...)
		case fileName:
			dst, err = appendText(dst, "filename", v)
		case fileType:
			dst, err = appendText(dst, "mediaType", v)
		default:
			dst = append(rawjson.AppendName(dst, name), v...)
		}
		return err
	})
	if err == nil && contents != 1 {
		err = a2ajson.Invalid("must have exactly one of %s", s.content)
	}
	return dst, err
}

// appendText appends a member that must be a string.
func appendText(dst []byte, name string, v []byte) ([]byte, error) {
	if rawjson.KindOf(v) != rawjson.Text {
		return dst, a2ajson.Invalid("must be a string")
	}
	return append(rawjson.AppendName(dst, name), v...), nil
}
