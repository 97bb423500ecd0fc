package server

import (
	"reflect"
	"testing"

	"github.com/parley-a2a/parley/internal/config"
)

// TestEachLimitIsConfigured checks that each limit of a hub is set from the configuration.
func TestEachLimitIsConfigured(t *testing.T) {
	t.Parallel()
	var c config.Config
	for _, group := range []any{&c.Limits, &c.Engine, &c.Delegation} {
		v := reflect.ValueOf(group).Elem()
		for i := range v.NumField() {
			if f := v.Field(i); f.CanFloat() {
				f.SetFloat(7)
			} else {
				f.SetInt(7)
			}
		}
	}
	got := reflect.ValueOf(limitsOf(&c))
	for i := range got.NumField() {
		if got.Field(i).IsZero() {
			t.Errorf("Limits.%s is not set", got.Type().Field(i).Name)
		}
	}
}
