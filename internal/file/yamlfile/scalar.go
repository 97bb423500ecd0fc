package yamlfile

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// setScalar parses text into v, according to the type and the tag of its field.
func setScalar(v reflect.Value, text string, tag reflect.StructTag) error {
	switch p := v.Addr().Interface().(type) {
	case Scalar:
		return p.SetText(text, tag)
	case *bool:
		return setBool(p, text)
	case *int:
		return setInt(p, text, tag.Get("signed") != "")
	case *float64:
		return setNumber(p, text)
	case *time.Duration:
		t, err := time.ParseDuration(text)
		if err != nil || t < 0 || t > 24*time.Hour {
			return fmt.Errorf("%q is not a duration like 200ms or 3s, of at most a day", Clip(text))
		}
		*p = t
		return nil
	}
	if v.Kind() == reflect.String {
		enum := tag.Get("enum")
		if choices := strings.Split(enum, ","); enum != "" && !slices.Contains(choices, text) {
			return fmt.Errorf("%q is not one of %s", Clip(text), strings.Join(choices, ", "))
		}
		v.SetString(text)
		return nil
	}
	panic(fmt.Sprintf("yamlfile: no rule for %v", v.Type()))
}

func setBool(p *bool, text string) error {
	switch text {
	case "true", "True", "TRUE":
		*p = true
	case "false", "False", "FALSE":
		*p = false
	default:
		return fmt.Errorf("%q must be true or false", Clip(text))
	}
	return nil
}

func setInt(p *int, text string, signed bool) error {
	n, err := strconv.Atoi(text)
	switch {
	case err != nil && signed:
		return fmt.Errorf("%q is not a whole number", Clip(text))
	case err != nil || n < 0 && !signed:
		return fmt.Errorf("%q is not a whole number of at least 0", Clip(text))
	}
	*p = n
	return nil
}

func setNumber(p *float64, text string) error {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || !(n >= 0 && n <= math.MaxFloat64) {
		return fmt.Errorf("%q is not a number of at least 0", Clip(text))
	}
	*p = n
	return nil
}
