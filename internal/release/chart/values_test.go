package chart

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the schema of parley.yaml into values.schema.json")

// TestRefused: values of a wrong type, unknown ones and impossible combinations are refused, and
// the message names them.
func TestRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`replicas: two`:                                   "/replicas",
		`persistence: {size: 10}`:                         "/persistence/size",
		`persistence: yes please`:                         "/persistence",
		`networkPolicy: {enabled: "false"}`:               "/networkPolicy/enabled",
		`service: {port: 70000}`:                          "/service/port",
		`mode: several`:                                   "/mode",
		`replicaCount: 2`:                                 "replicaCount",
		`config: {engine: {drain_tiemout: 5s}}`:           "drain_tiemout",
		`config: {limits: [1]}`:                           "/config/limits",
		`workers: [{name: Poet, image: x, command: [x]}]`: "/workers/0/name",
		`workers: [{name: poet, image: x, command: run}]`: "/workers/0/command",
		`workers: [{name: poet, image: x}]`:               "command",
		`workers: [{name: poet, image: x, command: [x]}]`: "bus.secret",
		`agents: {researcher: {url: x}}`:                  "/agents",
		`agents: [{name: researcher}]`:                    "url",
		`mode: cluster`:                                   "database.secret",
		`{mode: cluster, database: {secret: db}}`:         "masterKey.secret",
		`adminKey: {secret: ""}`:                          "adminKey.secret",
		`{bus: {secret: b}, keda: {enabled: true}, workers: [{name: poet, image: x, command: [x]}]}`:                 "keda.nats.monitoring",
		`{bus: {secret: b, kind: rabbitmq}, keda: {enabled: true}, workers: [{name: poet, image: x, command: [x]}]}`: "keda.rabbitmq.secret",
	} {
		if _, err := render(t, parse(t, text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: the error is %v, want one that names %s", text, err, want)
		}
	}
}

// TestSchema: values.schema.json has the schema of parley.yaml of this program for config, and a
// description or a type for each value of values.yaml.
func TestSchema(t *testing.T) {
	t.Parallel()
	file := filepath.Join(folder, "values.schema.json")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var schema map[string]any
	decode(t, text, &schema)
	properties := schema["properties"].(map[string]any)
	config := map[string]any{}
	decode(t, []byte(parley(t, "init", "--schema")), &config)
	config["$id"] = "https://parley-a2a.example/parley.yaml.schema.json"
	if !reflect.DeepEqual(properties["config"], any(config)) {
		t.Errorf("config is not the schema of parley.yaml; run go test -run TestSchema -update in internal/release/chart")
		if *update {
			properties["config"] = config
			write(t, file, schema)
		}
	}
	for name := range load(t).Values {
		if properties[name] == nil {
			t.Errorf("values.schema.json has no %s", name)
		}
	}
}

func decode(t *testing.T, text []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatal(err)
	}
}

// write writes a schema with one space for each level.
func write(t *testing.T, file string, schema map[string]any) {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(schema); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}
