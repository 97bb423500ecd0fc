package sqlstore

import "testing"

func TestUUIDsArePacked(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]bool{
		"0190c0de-0123-7456-89ab-cdef01234567":  true,
		"00000000-0000-0000-0000-000000000000":  true,
		"ffffffff-ffff-ffff-ffff-ffffffffffff":  true,
		"0190C0DE-0123-7456-89ab-cdef01234567":  false,
		"0190c0de01237456-89ab-cdef-0123-4567":  false,
		"-1-0c0de-0123-7456-89ab-cdef01234567":  false,
		"0190c0de-0123-7456-89ab-cdef0123456g":  false,
		"0190c0de-0123-7456-89ab-cdef01234567 ": false,
		"0190c0de-0123-7456-89ab-cdef0123456":   false,
		"":                                      false,
	} {
		if _, got := PackUUID(id); got != want {
			t.Errorf("PackUUID(%q) = %v, want %v", id, got, want)
		}
	}
}

func FuzzPackUUID(f *testing.F) {
	f.Add("0190c0de-0123-7456-89ab-cdef01234567")
	f.Add("-1-0c0de-0123-7456-89ab-cdef01234567")
	f.Add("0190c0de-0123-7456-89ab-cdef0123456-")
	f.Fuzz(func(t *testing.T, s string) {
		b, ok := PackUUID(s)
		if got := UnpackUUID(&b); ok && got != s {
			t.Errorf("UnpackUUID(PackUUID(%q)) = %q", s, got)
		}
	})
}
