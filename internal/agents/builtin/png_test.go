package builtin

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"math/rand/v2"
	"testing"
)

// TestPNG compares images with those of image/png.
func TestPNG(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for _, size := range []image.Point{{1, 1}, {7, 3}, {8, 104}, {9, 104}, {20, 104}, {4004, 104}, {16004, 104}} {
		c := newChart(size.X, size.Y, [3]byte{0x22, 0x66, 0xaa})
		img := image.NewPaletted(image.Rect(0, 0, size.X, size.Y), color.Palette{color.White, color.RGBA{R: 0x22, G: 0x66, B: 0xaa, A: 0xff}})
		for range size.X * size.Y / 2 { // noise, which takes several chunks
			x, y := random.IntN(size.X), random.IntN(size.Y)
			c.set(x, y)
			img.SetColorIndex(x, y, 1)
		}
		var want bytes.Buffer
		if err := png.Encode(&want, img); err != nil {
			t.Fatal(err)
		}
		if got, err := c.png(); err != nil || !bytes.Equal(got, want.Bytes()) {
			t.Errorf("%v: png = %d bytes, %v; want the %d bytes of image/png", size, len(got), err, want.Len())
		}
	}
}
