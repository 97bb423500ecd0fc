package builtin

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// chart is an image in white and one other color. It is written as image/png writes it; that package
// would add 0.1 MB to the program.
type chart struct {
	width, height int
	color         [3]byte
	// rows have a bit for each pixel, the first one in the highest bit.
	rows [][]byte
}

func newChart(width, height int, color [3]byte) *chart {
	c := &chart{width: width, height: height, color: color, rows: make([][]byte, height)}
	for y := range c.rows {
		c.rows[y] = make([]byte, (width+7)/8)
	}
	return c
}

// set colors a pixel.
func (c *chart) set(x, y int) { c.rows[y][x/8] |= 0x80 >> (x % 8) }

// png returns the image as PNG.
func (c *chart) png() ([]byte, error) {
	var data bytes.Buffer
	z := zlib.NewWriter(&data)
	for _, row := range c.rows {
		if _, err := z.Write(append([]byte{0}, row...)); err != nil { // 0 is a row without a filter
			return nil, fmt.Errorf("compress image: %w", err)
		}
	}
	if err := z.Close(); err != nil {
		return nil, fmt.Errorf("compress image: %w", err)
	}
	header := binary.BigEndian.AppendUint32(nil, uint32(c.width))
	header = binary.BigEndian.AppendUint32(header, uint32(c.height))
	out := appendChunk([]byte("\x89PNG\r\n\x1a\n"), "IHDR", append(header, 1, 3, 0, 0, 0)) // one bit a pixel, with a palette
	out = appendChunk(out, "PLTE", append([]byte{0xff, 0xff, 0xff}, c.color[:]...))
	for data.Len() > 0 {
		out = appendChunk(out, "IDAT", data.Next(1<<15))
	}
	return appendChunk(out, "IEND", nil), nil
}

// appendChunk appends a part of a PNG file.
func appendChunk(out []byte, name string, data []byte) []byte {
	out = binary.BigEndian.AppendUint32(out, uint32(len(data)))
	start := len(out)
	out = append(append(out, name...), data...)
	return binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(out[start:]))
}
