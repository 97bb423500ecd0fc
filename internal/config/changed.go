package config

import (
	"crypto/sha256"
	"encoding/hex"
	"reflect"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/parley-a2a/parley/internal/file/yamlfile"
)

// Changed returns the keys of parley.yaml whose values differ between two configurations, in the
// order of Config, such as "log.level". A list is one key.
func Changed(a, b *Config) []string {
	return changed("", reflect.ValueOf(a).Elem(), reflect.ValueOf(b).Elem())
}

// changed returns the keys below a prefix that differ.
func changed(prefix string, a, b reflect.Value) (keys []string) {
	t := a.Type()
	for i := range t.NumField() {
		name, options, _ := strings.Cut(t.Field(i).Tag.Get("yaml"), ",")
		x, y := a.Field(i), b.Field(i)
		switch {
		case !t.Field(i).IsExported() || name == "-" || name == "" && options != "inline":
		case reflect.DeepEqual(x.Interface(), y.Interface()):
		case x.Kind() == reflect.Struct && keyed(x.Type()):
			keys = append(keys, changed(strings.TrimPrefix(prefix+"."+name, "."), x, y)...)
		default:
			keys = append(keys, strings.TrimPrefix(prefix+"."+name, "."))
		}
	}
	if x, ok := a.Addr().Interface().(yamlfile.Extended); ok {
		others := b.Addr().Interface().(yamlfile.Extended).Extensions()
		for i, p := range x.Extensions() {
			keys = append(keys, changed(prefix, reflect.ValueOf(p).Elem(), reflect.ValueOf(others[i]).Elem())...)
		}
	}
	return keys
}

// keyed reports whether a struct has keys of its own.
func keyed(t reflect.Type) bool {
	for i := range t.NumField() {
		if name := t.Field(i).Tag.Get("yaml"); name != "" && name != "-" {
			return true
		}
	}
	return false
}

// Fingerprint returns a short hash of the part of a configuration that hubs on one database should
// have in common.
func (c *Config) Fingerprint() string {
	own := *c
	own.Listen, own.GRPCListen, own.Data, own.HubID, own.File = "", "", "", "", ""
	own.Store, own.StoreDirect, own.MasterKey = own.Store.names(), "", "" // hubs with another home or key do not start
	added := []any{own, own.Added, own.Directory.Added, own.Telemetry.Added}
	for i := range own.Agents {
		added = append(added, own.Agents[i].Added)
	}
	text, err := yaml.Marshal(added)
	if err != nil {
		panic("fingerprint: " + err.Error()) // it was read from YAML
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:6])
}
