package config

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// setScalar parses text into v, as the type and the tag of its field ask.
func setScalar(v reflect.Value, text string, tag reflect.StructTag) error {
	switch p := v.Addr().Interface().(type) {
	case *Duration:
		return setDuration(p, text, tag.Get("never") != "")
	case *Size:
		return setSize(p, text)
	case *bool:
		return setBool(p, text)
	case *int:
		return setInt(p, text)
	case *float64:
		return setNumber(p, text)
	case *string:
		return setString(p, text, tag.Get("enum"))
	}
	panic(fmt.Sprintf("config: no rule for %v", v.Type()))
}

func setString(p *string, text, enum string) error {
	if choices := strings.Split(enum, ","); enum != "" && !slices.Contains(choices, text) {
		return fmt.Errorf("%q is not one of %s", clip(text), strings.Join(choices, ", "))
	}
	*p = text
	return nil
}

func setBool(p *bool, text string) error {
	switch text {
	case "true", "True", "TRUE":
		*p = true
	case "false", "False", "FALSE":
		*p = false
	default:
		return fmt.Errorf("%q is neither true nor false", clip(text))
	}
	return nil
}

func setInt(p *int, text string) error {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return fmt.Errorf("%q is not a whole number from 0", clip(text))
	}
	*p = n
	return nil
}

func setNumber(p *float64, text string) error {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || !(n >= 0 && n <= math.MaxFloat64) {
		return fmt.Errorf("%q is not a number from 0", clip(text))
	}
	*p = n
	return nil
}

// setDuration parses a duration.
func setDuration(p *Duration, text string, never bool) error {
	if text == "never" {
		if !never {
			return errors.New("never is not possible here")
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

// ParseDuration parses a duration as the file has it, such as 30s, 1h30m or 7d. A
// day is 24 hours.
func ParseDuration(text string) (time.Duration, error) {
	d, ok := parseDuration(text)
	if !ok {
		return 0, fmt.Errorf("%q is not a duration like 30s, 1h30m or 7d", clip(text))
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
	return fmt.Errorf("%q is not a size like 512KiB, 10MiB or 1GB", clip(text))
}
