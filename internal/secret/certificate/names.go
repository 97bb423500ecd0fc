package certificate

import (
	"crypto/x509"
	"encoding/asn1"
)

// Object identifiers of the common name and of the alternative names.
var (
	oidCommonName = asn1.ObjectIdentifier{2, 5, 4, 3}
	oidNames      = asn1.ObjectIdentifier{2, 5, 29, 17}
)

// tags are the tags of alternative names (RFC 5280 §4.2.1.6).
var tags = map[Field]int{Email: 1, DNS: 2, URI: 6}

// valuesOf returns the values of a field of a certificate, byte by byte. The URIs of package
// x509 do not preserve every spelling.
func valuesOf(c *x509.Certificate, f Field) []string {
	switch f {
	case Fingerprint:
		return []string{fingerprint(c)}
	case CommonName:
		return commonName(c)
	}
	var out []string
	for i := range c.Extensions {
		if e := &c.Extensions[i]; e.Id.Equal(oidNames) {
			out = append(out, names(e.Value, tags[f])...)
		}
	}
	return out
}

// commonName returns the common name of the subject; none if it has several, because the choice
// would be ambiguous.
func commonName(c *x509.Certificate) []string {
	var out []string
	for _, a := range c.Subject.Names {
		if text, ok := a.Value.(string); ok && a.Type.Equal(oidCommonName) {
			out = append(out, text)
		}
	}
	if len(out) != 1 {
		return nil
	}
	return out
}

// names returns the alternative names with a tag; none if they are malformed.
func names(der []byte, tag int) []string {
	var all asn1.RawValue
	if rest, err := asn1.Unmarshal(der, &all); err != nil || len(rest) > 0 {
		return nil
	}
	var out []string
	for rest := all.Bytes; len(rest) > 0; {
		var one asn1.RawValue
		var err error
		if rest, err = asn1.Unmarshal(rest, &one); err != nil {
			return nil
		}
		if one.Class == asn1.ClassContextSpecific && one.Tag == tag {
			out = append(out, string(one.Bytes))
		}
	}
	return out
}
