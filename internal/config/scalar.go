package config

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/parley-a2a/parley/internal/file/yamlfile"
)

// SetText implements yamlfile.Scalar.
func (p *Duration) SetText(text string, tag reflect.StructTag) error {
	return setDuration(p, text, tag.Get("never") != "")
}

// SetText implements yamlfile.Scalar.
func (p *Size) SetText(text string, _ reflect.StructTag) error { return setSize(p, text) }

// setDuration parses a duration.
func setDuration(p *Duration, text string, never bool) error {
	if text == "never" {
		if !never {
			return errors.New("never is not allowed here")
		}
		*p = -1
		return nil
	}
	d, err := ParseDuration(text)
	if err != nil {
		return err
	}
	*p = Duration(d)
	return nil
}

// ParseDuration parses a duration in the file's format, such as 30s, 1h30m or 7d. A day is 24
// hours.
func ParseDuration(text string) (time.Duration, error) {
	d, ok := parseDuration(text)
	if !ok {
		return 0, fmt.Errorf("%q is not a duration like 30s, 1h30m or 7d", yamlfile.Clip(text))
	}
	return d, nil
}

func parseDuration(text string) (time.Duration, bool) {
	var days time.Duration
	if number, rest, ok := strings.Cut(text, "d"); ok {
		n, err := strconv.ParseFloat(number, 64)
		const most = float64(math.MaxInt64/2) / float64(24*time.Hour)
		if err != nil || !(n >= 0 && n <= most) {
			return 0, false
		}
		days, text = time.Duration(n*float64(24*time.Hour)), rest
		if text == "" {
			return days, true
		}
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || d > math.MaxInt64/2 {
		return 0, false
	}
	return days + d, true
}

// sizeUnits are tried in order, so that none hides a longer one.
var sizeUnits = []struct {
	name  string
	bytes int64
}{
	{"KiB", 1 << 10},
	{"MiB", 1 << 20},
	{"GiB", 1 << 30},
	{"kB", 1e3},
	{"MB", 1e6},
	{"GB", 1e9},
	{"B", 1},
	{"", 1},
}

func setSize(p *Size, text string) error {
	for _, u := range sizeUnits {
		number, ok := strings.CutSuffix(text, u.name)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
		if err != nil || n < 0 || n > math.MaxInt64/u.bytes {
			break
		}
		*p = Size(n * u.bytes)
		return nil
	}
	return fmt.Errorf("%q is not a size like 512KiB, 10MiB or 1GB", yamlfile.Clip(text))
}
