package seal

import (
	"bytes"
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSealOpens(t *testing.T) {
	t.Parallel()
	b := New()
	for _, plain := range []string{"", "x", strings.Repeat("secret ", 1000)} {
		sealed := b.Seal([]byte(plain), []byte("https://a.example"))
		// A short text may occur in random bytes by chance.
		if len(plain) > 8 && bytes.Contains(sealed, []byte(plain[:8])) {
			t.Errorf("sealed text shows %q", plain[:8])
		}
		got, err := b.Open(sealed, []byte("https://a.example"))
		if err != nil || string(got) != plain {
			t.Errorf("Open = %q, %v, want %q", got, err, plain)
		}
	}
}

func TestSealIsNeverTheSame(t *testing.T) {
	t.Parallel()
	b := New()
	if one, two := b.Seal([]byte("x"), nil), b.Seal([]byte("x"), nil); bytes.Equal(one, two) {
		t.Error("the same text was sealed to the same bytes twice")
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	b := New()
	sealed := b.Seal([]byte("secret"), []byte("here"))
	for i := range sealed {
		broken := bytes.Clone(sealed)
		broken[i] ^= 1
		want := ErrBroken
		if i >= 1 && i < header {
			want = ErrOtherKey
		}
		if got, err := b.Open(broken, []byte("here")); !errors.Is(err, want) || got != nil {
			t.Errorf("Open with byte %d changed = %q, %v, want %v", i, got, err, want)
		}
		if got, err := b.Open(sealed[:i], []byte("here")); !errors.Is(err, ErrBroken) && !errors.Is(err, ErrOtherKey) {
			t.Errorf("Open of the first %d bytes = %q, %v, want an error", i, got, err)
		}
	}
	if _, err := b.Open(sealed, []byte("elsewhere")); !errors.Is(err, ErrBroken) {
		t.Errorf("Open in another context: %v, want ErrBroken", err)
	}
	if _, err := New().Open(sealed, []byte("here")); !errors.Is(err, ErrOtherKey) {
		t.Errorf("Open with another key: %v, want ErrOtherKey", err)
	}
}

func TestLoadKeepsTheKey(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), FileName)
	// A file that a crash may have left behind.
	if err := os.WriteFile(path+".new", []byte("half"), 0o644); err != nil {
		t.Fatal(err)
	}
	first, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 || info.Size() != keySize {
		t.Errorf("file = %v, %v, want 32 bytes for the user alone", info, err)
	}
	second, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := second.Open(first.Seal([]byte("x"), nil), nil); err != nil || string(got) != "x" {
		t.Errorf("Open after a restart = %q, %v", got, err)
	}
	if left, _ := filepath.Glob(path + "?*"); len(left) != 0 {
		t.Errorf("files left behind: %v", left)
	}
}

func TestLoadRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	good := bytes.Repeat([]byte{7}, keySize)
	file := func(name string, content []byte, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, content, mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	folder := filepath.Join(dir, "folder")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		file("open", good, 0o640):         "chmod 600",
		file("short", good[1:], 0o600):    "has 31 bytes instead of 32",
		file("empty", nil, 0o600):         "has 0 bytes instead of 32",
		folder:                            "not a regular file",
		filepath.Join(dir, "gone", "key"): "no such file",
	} {
		if _, err := Load(path); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("Load(%s): %v, want an error with the path and %q", path, err, want)
		}
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	hexa := strings.Repeat("0f", 32)
	raw := bytes.Repeat([]byte{0x0f}, 32)
	sealed := newBox(raw).Seal([]byte("x"), nil)
	for _, text := range []string{hexa, " " + strings.ToUpper(hexa) + "\n", base64.StdEncoding.EncodeToString(raw)} {
		b, err := Parse(text)
		if err != nil {
			t.Errorf("Parse(%q): %v", text, err)
			continue
		}
		if plain, err := b.Open(sealed, nil); string(plain) != "x" || err != nil {
			t.Errorf("Open with the key %q = %q, %v", text, plain, err)
		}
	}
	for _, text := range []string{"", hexa[2:], hexa + "00", "s3cret"} {
		if _, err := Parse(text); err == nil || text != "" && strings.Contains(err.Error(), text) {
			t.Errorf("Parse(%q): %v", text, err)
		}
	}
}
