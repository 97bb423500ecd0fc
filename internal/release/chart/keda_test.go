package chart

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	_ "github.com/kedacore/keda/v2/version" // the module has the definitions of the custom resources
	"github.com/santhosh-tekuri/jsonschema/v6"
	batchv1 "k8s.io/api/batch/v1"
	"sigs.k8s.io/yaml"
)

func newReader(text string) *bufio.Reader { return bufio.NewReader(strings.NewReader(text)) }

// custom decodes a custom resource of KEDA, and validates it against its definition.
func custom(t *testing.T, document string) map[string]any {
	t.Helper()
	var o map[string]any
	if err := yaml.UnmarshalStrict([]byte(document), &o); err != nil {
		t.Fatal(err)
	}
	if err := definition(t, strings.ToLower(o["kind"].(string))+"s").Validate(any(o)); err != nil {
		t.Errorf("%v\n%s", err, document)
	}
	return o
}

// definition returns the schema of a custom resource, which refuses unknown fields.
func definition(t *testing.T, plural string) *jsonschema.Schema {
	t.Helper()
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/kedacore/keda/v2").Output()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "config/crd/bases/keda.sh_"+plural+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var crd struct {
		Spec struct {
			Versions []struct {
				Schema struct {
					OpenAPIV3Schema map[string]any `json:"openAPIV3Schema"`
				} `json:"schema"`
			} `json:"versions"`
		} `json:"spec"`
	}
	if err := yaml.Unmarshal(text, &crd); err != nil {
		t.Fatal(err)
	}
	schema := crd.Spec.Versions[0].Schema.OpenAPIV3Schema
	closeObjects(schema)
	schema["properties"].(map[string]any)["metadata"] = map[string]any{"type": "object"}
	c := jsonschema.NewCompiler()
	if err := c.AddResource(plural+".json", any(schema)); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile(plural + ".json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// closeObjects makes a schema refuse unknown fields, as the server of Kubernetes drops them.
func closeObjects(schema map[string]any) {
	if _, ok := schema["properties"]; ok && schema["additionalProperties"] == nil && schema["x-kubernetes-preserve-unknown-fields"] == nil {
		schema["additionalProperties"] = false
	}
	for key, v := range schema {
		switch v := v.(type) {
		case map[string]any:
			if key != "properties" {
				closeObjects(v)
				continue
			}
			for _, p := range v {
				closeObjects(p.(map[string]any))
			}
		case []any:
			for _, e := range v {
				if e, ok := e.(map[string]any); ok && key != "enum" {
					closeObjects(e)
				}
			}
		}
	}
}

// job decodes the jobs of a ScaledJob strictly.
func job(t *testing.T, scaled map[string]any) batchv1.JobSpec {
	t.Helper()
	text, err := yaml.Marshal(scaled["spec"].(map[string]any)["jobTargetRef"])
	if err != nil {
		t.Fatal(err)
	}
	var spec batchv1.JobSpec
	if err := yaml.UnmarshalStrict(text, &spec); err != nil {
		t.Errorf("jobTargetRef: %v\n%s", err, text)
	}
	return spec
}

// kinds returns the custom resources of one kind.
func (m *manifests) kinds(kind string) (found []map[string]any) {
	for _, o := range m.keda {
		if o["kind"] == kind {
			found = append(found, o)
		}
	}
	return found
}
