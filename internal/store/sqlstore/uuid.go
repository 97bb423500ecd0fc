package sqlstore

import "encoding/hex"

// uuidLen is the length of a UUID as text.
const uuidLen = 36

// uuidBytes are the positions of each byte's digits in the text.
var uuidBytes = [16]int{0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34}

// PackUUID returns the bytes of a UUID in its canonical form: lower case, with hyphens. It
// refuses all other texts.
func PackUUID(s string) (b [16]byte, ok bool) {
	if len(s) != uuidLen || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return b, false
	}
	for i, at := range uuidBytes {
		hi, lo := nibbles[s[at]], nibbles[s[at+1]]
		if hi|lo > 15 {
			return b, false
		}
		b[i] = hi<<4 | lo
	}
	return b, true
}

// nibbles are the values of the lower case hexadecimal digits; 255 means none.
var nibbles = func() (t [256]byte) {
	for i := range t {
		t[i] = 255
	}
	for i, c := range "0123456789abcdef" {
		t[c] = byte(i)
	}
	return t
}()

// UnpackUUID is the opposite of PackUUID.
func UnpackUUID(b *[16]byte) string {
	var s [uuidLen]byte
	hex.Encode(s[:], b[:4])
	hex.Encode(s[9:], b[4:6])
	hex.Encode(s[14:], b[6:8])
	hex.Encode(s[19:], b[8:10])
	hex.Encode(s[24:], b[10:])
	s[8], s[13], s[18], s[23] = '-', '-', '-', '-'
	return string(s[:])
}
