package pages

import (
	"reflect"
	"slices"
	"strings"
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

// keysOf returns the keys of a map, which are texts, in their order.
func keysOf(v reflect.Value) []reflect.Value {
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	return keys
}

// field returns a field of a struct, or the value of a key of a map.
func field(v reflect.Value, name string) reflect.Value {
	at := concrete(v)
	switch at.Kind() {
	case reflect.Struct:
		if f := at.FieldByName(name); f.IsValid() && f.CanInterface() {
			return f
		}
	case reflect.Map:
		return at.MapIndex(reflect.ValueOf(name))
	case reflect.Invalid:
		fail(".%s of nil", name)
	}
	fail(".%s: %s has no such field", name, at.Type())
	return at
}

// call calls a function with one result.
func call(name string, f reflect.Value, in []reflect.Value) reflect.Value {
	if !f.IsValid() {
		fail("function %q not defined", name)
	}
	t := f.Type()
	fixed := t.NumIn()
	if t.IsVariadic() {
		fixed--
	}
	if len(in) < fixed || len(in) > fixed && !t.IsVariadic() {
		fail("%s: %d arguments for %s", name, len(in), t)
	}
	for i, v := range in {
		want := t.In(min(i, t.NumIn()-1))
		if i >= fixed {
			want = want.Elem()
		}
		in[i] = argument(name, v, want)
	}
	return unwrapped(f.Call(in)[0])
}

func unwrapped(v reflect.Value) reflect.Value {
	if v.Kind() == reflect.Interface {
		return v.Elem()
	}
	return v
}

// argument returns v as a value of a type.
func argument(name string, v reflect.Value, want reflect.Type) reflect.Value {
	if v = unwrapped(v); !v.IsValid() {
		return reflect.Zero(want)
	}
	if v.Type().AssignableTo(want) {
		return v
	}
	at := concrete(v)
	if !at.IsValid() || !at.Type().AssignableTo(want) {
		fail("%s: %s is no %s", name, v.Type(), want)
	}
	return at
}
