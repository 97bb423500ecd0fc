package chart

import (
	"errors"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	helmchart "helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// root is the folder of the repository, and folder that of the chart.
const (
	root   = "../../.."
	folder = root + "/deploy/helm/parley"
)

// release is the name under which the tests install the chart.
const release = "parley"

// values are those of an installation.
type values = map[string]any

// parse reads values as an operator writes them.
func parse(t *testing.T, text string) values {
	t.Helper()
	var v values
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func load(t *testing.T) *helmchart.Chart {
	t.Helper()
	c, err := loader.LoadDir(filepath.FromSlash(folder))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// render returns the files that Helm makes of the chart, by their names in the templates' folder.
func render(t *testing.T, v values) (map[string]string, error) {
	t.Helper()
	c := load(t)
	all, err := chartutil.ToRenderValues(c, v, chartutil.ReleaseOptions{Name: release, Namespace: "agents", IsInstall: true}, chartutil.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	files, err := engine.Engine{Strict: true}.Render(c, all)
	if err != nil {
		return nil, err
	}
	named := map[string]string{}
	for name, text := range files {
		named[path.Base(name)] = text
	}
	return named, nil
}

// manifests are the objects of an installation.
type manifests struct {
	objects []runtime.Object
	keda    []map[string]any // custom resources of KEDA
}

// decoder refuses unknown and repeated fields.
func decoder(t *testing.T) runtime.Decoder {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, appsv1.AddToScheme, policyv1.AddToScheme, autoscalingv2.AddToScheme, networkingv1.AddToScheme, monitoringv1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
}

// install renders the chart and decodes its manifests.
func install(t *testing.T, v values) *manifests {
	t.Helper()
	files, err := render(t, v)
	if err != nil {
		t.Fatal(err)
	}
	d, m := decoder(t), &manifests{}
	for name, text := range files {
		if !strings.HasSuffix(name, ".yaml") {
			continue
		}
		for _, document := range documents(t, text) {
			if strings.Contains(document, "apiVersion: keda.sh/") {
				m.keda = append(m.keda, custom(t, document))
				continue
			}
			o, _, err := d.Decode([]byte(document), nil, nil)
			if err != nil {
				t.Errorf("%s: %v\n%s", name, err, document)
				continue
			}
			m.objects = append(m.objects, o)
		}
	}
	return m
}

// documents splits a file into its documents, without empty ones.
func documents(t *testing.T, text string) (all []string) {
	t.Helper()
	for r := utilyaml.NewYAMLReader(newReader(text)); ; {
		b, err := r.Read()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		if slices.ContainsFunc(strings.Split(string(b), "\n"), func(l string) bool { return l != "" && l != "---" && !strings.HasPrefix(l, "#") }) {
			all = append(all, string(b))
		}
	}
}

// all returns the objects of one type.
func all[T runtime.Object](m *manifests) (found []T) {
	for _, o := range m.objects {
		if x, ok := o.(T); ok {
			found = append(found, x)
		}
	}
	return found
}

// only returns the single object of a type.
func only[T runtime.Object](t *testing.T, m *manifests) T {
	t.Helper()
	found := all[T](m)
	if len(found) != 1 {
		t.Fatalf("there are %d objects of the type %T, want 1", len(found), *new(T))
	}
	return found[0]
}
