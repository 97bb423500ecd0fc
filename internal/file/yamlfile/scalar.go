package yamlfile

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// setScalar parses text into v, as the type and the tag of its field ask.
func setScalar(v reflect.Value, text string, tag reflect.StructTag) error {
	switch p := v.Addr().Interface().(type) {
	case Scalar:
		return p.SetText(text, tag)
	case *bool:
		return setBool(p, text)
	case *int:
		return setInt(p, text)
	case *float64:
		return setNumber(p, text)
	case *string:
		return setString(p, text, tag.Get("enum"))
	}
	panic(fmt.Sprintf("yamlfile: no rule for %v", v.Type()))
}

func setString(p *string, text, enum string) error {
	if choices := strings.Split(enum, ","); enum != "" && !slices.Contains(choices, text) {
		return fmt.Errorf("%q is not one of %s", Clip(text), strings.Join(choices, ", "))
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
		return fmt.Errorf("%q is neither true nor false", Clip(text))
	}
	return nil
}

func setInt(p *int, text string) error {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return fmt.Errorf("%q is not a whole number from 0", Clip(text))
	}
	*p = n
	return nil
}

func setNumber(p *float64, text string) error {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || !(n >= 0 && n <= math.MaxFloat64) {
		return fmt.Errorf("%q is not a number from 0", Clip(text))
	}
	*p = n
	return nil
}
