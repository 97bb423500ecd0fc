// Package order sorts slices of structs.
//
// The functions of package slices are compiled once for each type of elements, which adds about 17 kB
// to the program for each struct that is sorted. Here one function sorts all types, with a few
// allocations per call. Slices of strings, numbers and pointers, and those that are sorted for each
// request, are for package slices.
package order

import "sort"

// Sort sorts all by compare, which returns a negative number if a is before b, like the function of
// [slices.SortFunc]. Elements that are equal end in any order. compare must not keep its arguments.
func Sort[E any](all []E, compare func(a, b *E) int) {
	if len(all) > 1 {
		sort.Slice(all, func(i, j int) bool { return compare(&all[i], &all[j]) < 0 })
	}
}

// SortStable is like [Sort], and keeps the order of elements that are equal.
func SortStable[E any](all []E, compare func(a, b *E) int) {
	if len(all) > 1 {
		sort.SliceStable(all, func(i, j int) bool { return compare(&all[i], &all[j]) < 0 })
	}
}
