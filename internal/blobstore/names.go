package blobstore

import (
	"encoding/json"
	"path"
	"strings"
	"time"
)

// A Name is the name of a file in a folder of parts, with slashes. Exports contain parts under these
// names, whichever Store they come from.
type Name struct {
	// Space is the folder of the owner.
	Space  string
	Digest Digest
	// Ref is the name of the file of a reference; empty for the content.
	Ref string
	// Pending is set for a reference that is not known to be named by an entry.
	Pending bool
}

// NameOf returns the name of the content that k refers to.
func NameOf(k Key, d Digest) Name { return Name{Space: nameOf(string(k.Owner)), Digest: d} }

// RefName returns the name of the reference of k to a content.
func RefName(k Key, d Digest, pending bool) Name {
	n := NameOf(k, d)
	n.Ref, n.Pending = nameOf(string(k.Task)), pending
	return n
}

// String returns the path of the file in the folder.
func (n Name) String() string { return path.Join(ownerFolder, n.Space, n.Digest.String(), n.base()) }

// base returns the name of the file.
func (n Name) base() string {
	switch {
	case n.Ref == "":
		return contentName
	case n.Pending:
		return n.Ref + newSuffix
	}
	return n.Ref + refSuffix
}

// ParseName parses the output of Name.String and accepts no other form.
func ParseName(s string) (n Name, ok bool) {
	words := strings.Split(s, "/")
	if len(words) != 4 {
		return n, false
	}
	n.Space = words[1]
	if n.Digest, ok = ParseDigest(words[2]); !ok {
		return n, false
	}
	if words[3] != contentName {
		n.Ref, ok = strings.CutSuffix(words[3], refSuffix)
		if !ok {
			n.Ref, n.Pending = strings.CutSuffix(words[3], newSuffix)
		}
	}
	return n, n.String() == s
}

// MarshalRef returns the bytes of the file of a reference.
func MarshalRef(k Key, p *Part) ([]byte, error) {
	return json.Marshal(refFile{
		k.Owner, k.Task, p.Size, p.MediaType, p.Filename, int64(p.Keep / time.Second), p.Stored.UTC(),
	})
}

// ParseRef parses the output of MarshalRef. The digest is in the name of the file.
func ParseRef(b []byte) (Key, Part, error) {
	var r refFile
	if err := json.Unmarshal(b, &r); err != nil {
		return Key{}, Part{}, err
	}
	return Key{r.Owner, r.Task}, Part{
		Size: r.Size, MediaType: r.MediaType, Filename: r.Filename,
		Keep: time.Duration(r.Keep) * time.Second, Stored: r.Stored,
	}, nil
}
