package pages

import (
	"cmp"
	"fmt"
	"iter"
	"reflect"
	"slices"
)

// concrete returns the value in interfaces and behind pointers; it is invalid for nil.
func concrete(v reflect.Value) reflect.Value {
	for v.Kind() == reflect.Interface || v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	return v
}

// truth reports whether v is neither empty nor nil.
func truth(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Interface:
		return truth(v.Elem())
	case reflect.Map, reflect.Slice, reflect.String:
		return v.Len() > 0
	case reflect.Struct:
		return true
	}
	return v.IsValid() && !v.IsZero()
}

// elements returns the indexes and elements of a slice, or the keys and values of a map.
func elements(v reflect.Value) iter.Seq2[reflect.Value, reflect.Value] {
	if v.Kind() != reflect.Map {
		return v.Seq2()
	}
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return cmp.Compare(a.String(), b.String()) })
	return func(yield func(reflect.Value, reflect.Value) bool) {
		for _, k := range keys {
			if !yield(k, v.MapIndex(k)) {
				return
			}
		}
	}
}

// printed returns a value as text; nil is empty.
func printed(v reflect.Value) string {
	if !v.IsValid() {
		return ""
	}
	return text(v.Interface())
}

// method returns a method that templates call. Its name is a constant for each, so that the linker
// keeps methods of these names alone.
func method(v reflect.Value, name string) reflect.Value {
	if v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	if v.Kind() != reflect.Pointer && v.CanAddr() {
		v = v.Addr()
	}
	if !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return reflect.Value{}
	}
	switch name {
	case "Few":
		return v.MethodByName("Few")
	case "IsZero":
		return v.MethodByName("IsZero")
	case "Query":
		return v.MethodByName("Query")
	case "Security":
		return v.MethodByName("Security")
	case "Sub":
		return v.MethodByName("Sub")
	case "UnixMilli":
		return v.MethodByName("UnixMilli")
	case "Uptime":
		return v.MethodByName("Uptime")
	}
	return reflect.Value{}
}

// field returns a field of a struct, or the value of a key of a map.
func field(v reflect.Value, name string) (reflect.Value, error) {
	at := concrete(v)
	switch at.Kind() {
	case reflect.Struct:
		if f, ok := at.Type().FieldByName(name); ok && f.IsExported() {
			return at.FieldByIndexErr(f.Index)
		}
	case reflect.Map:
		return at.MapIndex(reflect.ValueOf(name)), nil
	case reflect.Invalid:
		return at, fmt.Errorf(".%s of nil", name)
	}
	return at, fmt.Errorf(".%s: %s has no such field", name, at.Type())
}

// call calls a function or a method with one result.
func call(f reflect.Value, arguments []reflect.Value) (reflect.Value, error) {
	t := f.Type()
	fixed := t.NumIn()
	if t.IsVariadic() {
		fixed--
	}
	if len(arguments) < fixed || len(arguments) > fixed && !t.IsVariadic() {
		return reflect.Value{}, fmt.Errorf("%d arguments for %s", len(arguments), t)
	}
	in := make([]reflect.Value, len(arguments))
	for i, v := range arguments {
		want := t.In(min(i, t.NumIn()-1))
		if i >= fixed {
			want = want.Elem()
		}
		var err error
		if in[i], err = argument(v, want); err != nil {
			return reflect.Value{}, err
		}
	}
	return unwrapped(f.Call(in)[0]), nil
}

func unwrapped(v reflect.Value) reflect.Value {
	if v.Kind() == reflect.Interface {
		return v.Elem()
	}
	return v
}

// argument returns v as a value of a type.
func argument(v reflect.Value, want reflect.Type) (reflect.Value, error) {
	v = unwrapped(v)
	if !v.IsValid() {
		return reflect.Zero(want), nil
	}
	if v.Type().AssignableTo(want) {
		return v, nil
	}
	if at := concrete(v); at.IsValid() && at.Type().AssignableTo(want) {
		return at, nil
	}
	return v, fmt.Errorf("%s is no %s", v.Type(), want)
}
