package sqlstore

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
)

// Migration is one step of a layout. Steps are never changed once released; a store keeps the
// checksums of the steps applied to it.
type Migration struct{ Name, Text string }

// Checksum returns the SHA-256 of the text in hexadecimal digits.
func (m Migration) Checksum() string {
	sum := sha256.Sum256([]byte(m.Text))
	return hex.EncodeToString(sum[:])
}

// Migrations returns the steps in the folder schema, in order.
func Migrations(schema embed.FS) ([]Migration, error) {
	names, err := fs.Glob(schema, "schema/*.sql")
	if err != nil {
		return nil, err
	}
	steps := make([]Migration, 0, len(names))
	for _, name := range names {
		text, err := schema.ReadFile(name)
		if err != nil {
			return nil, err
		}
		steps = append(steps, Migration{Name: name[len("schema/"):], Text: string(text)})
	}
	return steps, nil
}
