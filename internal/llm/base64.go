package llm

import (
	"encoding/base64"
	"strings"
)

func encode(raw []byte) string { return base64.StdEncoding.EncodeToString(raw) }

// decode reads base64 in any common form: standard or URL alphabet, with or without padding.
func decode(s string) ([]byte, error) {
	s = strings.TrimRight(s, "=")
	if strings.ContainsAny(s, "-_") {
		return base64.RawURLEncoding.DecodeString(s)
	}
	return base64.RawStdEncoding.DecodeString(s)
}
