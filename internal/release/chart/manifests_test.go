package chart

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
)

// most has every part of mode cluster.
const most = `
mode: cluster
database: {secret: db}
masterKey: {secret: parley}
grpc: {enabled: true}
ingress: {enabled: true, host: agents.example, tlsSecret: agents-tls, className: nginx, annotations: {a: b}}
autoscaling: {enabled: true}
networkPolicy: {from: [{namespaceSelector: {}}], egress: [{to: [{podSelector: {}}], ports: [{port: 5432}]}]}
serviceMonitor: {enabled: true, labels: {release: prometheus}}
bus: {secret: broker, kind: rabbitmq, hubKeys: ["7c1e:A6EH"]}
keda: {enabled: true, rabbitmq: {secret: broker}}
workers: [{name: poet, image: "x:1", command: [/poet], env: [{name: A, value: b}], resources: {limits: {memory: 1Gi}}}]
image: {pullSecrets: [{name: registry}]}
env: [{name: A, value: b}]
envFrom: [{secretRef: {name: more}}]
persistence: {storageClass: fast}
podAnnotations: {a: b}
podLabels: {a: b}
service: {annotations: {a: b}}
nodeSelector: {a: b}
tolerations: [{operator: Exists}]
affinity: {nodeAffinity: {}}
extraVolumes: [{name: ca, secret: {secretName: ca}}]
extraVolumeMounts: [{name: ca, mountPath: /etc/parley/ca}]
config: {engine: {retention: 7d}, agents: [{name: quinn, url: "https://quinn.example"}]}
`

// installations are values with which an operator may install the chart.
var installations = map[string]string{
	"defaults":   `{}`,
	"cluster":    `{mode: cluster, database: {secret: db}, masterKey: {secret: parley}}`,
	"most":       most,
	"jetstream":  `{bus: {secret: b}, keda: {enabled: true, nats: {monitoring: "nats:8222"}}, workers: [{name: poet, image: x, command: [x]}, {name: bard, image: x, command: [x]}]}`,
	"deployment": `{bus: {secret: b}, workers: [{name: poet, image: x, command: [x], replicas: 0, concurrency: 2}]}`,
	"least":      `{networkPolicy: {enabled: false}, podDisruptionBudget: {enabled: false}, persistence: {enabled: false}, fullnameOverride: hub, masterKey: {secret: m}}`,
	"tls":        `{config: {tls: {cert: /tls/tls.crt, key: /tls/tls.key}}, extraVolumes: [{name: tls, secret: {secretName: hub}}], extraVolumeMounts: [{name: tls, mountPath: /tls}]}`,
}

// kinds are the objects of installations beside those of "defaults".
var kinds = map[string]string{
	"cluster":   "PodDisruptionBudget",
	"most":      "HorizontalPodAutoscaler Ingress PodDisruptionBudget ScaledJob ServiceMonitor TriggerAuthentication",
	"jetstream": "ScaledJob ScaledJob", "deployment": "Deployment", "tls": "", "defaults": "",
}

// TestManifests: each installation has the objects of its values, and the things that an object refers to
// exists.
func TestManifests(t *testing.T) {
	t.Parallel()
	const always = "ConfigMap ConfigMap NetworkPolicy Service Service ServiceAccount StatefulSet"
	for name, text := range installations {
		m := install(t, parse(t, text))
		got := m.kindsOf()
		if want, ok := kinds[name]; ok && strings.Join(got, " ") != sorted(always+" "+want) {
			t.Errorf("%s has the objects %v, want %s", name, got, sorted(always+" "+want))
		}
		for _, p := range m.dangling(t) {
			t.Errorf("%s: %s", name, p)
		}
	}
}

func sorted(words string) string {
	return strings.Join(slices.Sorted(slices.Values(strings.Fields(words))), " ")
}

// kindsOf returns the sorted kinds of all objects.
func (m *manifests) kindsOf() (names []string) {
	for _, o := range m.objects {
		names = append(names, o.GetObjectKind().GroupVersionKind().Kind)
	}
	for _, o := range m.keda {
		names = append(names, o["kind"].(string))
	}
	slices.Sort(names)
	return names
}

// dangling describes references that lead nowhere.
func (m *manifests) dangling(t *testing.T) (problems []string) {
	t.Helper()
	set := only[*appsv1.StatefulSet](t, m)
	pods := set.Spec.Template
	c := pods.Spec.Containers[0]
	ports := map[string]bool{}
	for _, p := range c.Ports {
		ports[p.Name] = true
	}
	expect := func(ok bool, format string, args ...any) {
		if !ok {
			problems = append(problems, fmt.Sprintf(format, args...))
		}
	}
	selects := func(what string, labels map[string]string) {
		expect(len(labels) > 0 && maps.Equal(labels, set.Spec.Selector.MatchLabels) && within(labels, pods.Labels), "%s selects %v, and the pods have %v", what, labels, pods.Labels)
	}
	selects("the StatefulSet", set.Spec.Selector.MatchLabels)
	headless := false
	for _, s := range all[*corev1.Service](m) {
		selects("service "+s.Name, s.Spec.Selector)
		headless = headless || s.Name == set.Spec.ServiceName && s.Spec.ClusterIP == corev1.ClusterIPNone
		for _, p := range s.Spec.Ports {
			expect(ports[p.TargetPort.StrVal], "service %s has the target %s", s.Name, p.TargetPort.StrVal)
		}
	}
	expect(headless, "the StatefulSet has no service %s", set.Spec.ServiceName)
	for _, a := range all[*corev1.ServiceAccount](m) {
		expect(a.Name == pods.Spec.ServiceAccountName, "the account is %s", a.Name)
	}
	for _, b := range all[*policyv1.PodDisruptionBudget](m) {
		selects("the budget", b.Spec.Selector.MatchLabels)
	}
	for _, p := range all[*networkingv1.NetworkPolicy](m) {
		selects("the network policy", p.Spec.PodSelector.MatchLabels)
		for _, in := range p.Spec.Ingress[0].Ports {
			expect(ports[in.Port.StrVal], "the network policy has the port %s", in.Port)
		}
	}
	for _, h := range all[*autoscalingv2.HorizontalPodAutoscaler](m) {
		expect(h.Spec.ScaleTargetRef.Name == set.Name && set.Spec.Replicas == nil, "the autoscaler has %s and a number of %v", h.Spec.ScaleTargetRef.Name, set.Spec.Replicas)
	}
	for _, s := range all[*monitoringv1.ServiceMonitor](m) {
		expect(ports[s.Spec.Endpoints[0].Port], "the service monitor has the port %s", s.Spec.Endpoints[0].Port)
	}
	for _, d := range all[*appsv1.Deployment](m) {
		expect(within(d.Spec.Selector.MatchLabels, d.Spec.Template.Labels), "deployment %s selects %v", d.Name, d.Spec.Selector.MatchLabels)
		problems = append(problems, m.volumes(d.Spec.Template, nil)...)
		problems = append(problems, confined(d.Spec.Template)...)
	}
	for _, j := range m.kinds("ScaledJob") {
		problems = append(problems, m.volumes(job(t, j).Template, nil)...)
		problems = append(problems, confined(job(t, j).Template)...)
		problems = append(problems, m.trigger(j)...)
	}
	problems = append(problems, m.volumes(pods, set.Spec.VolumeClaimTemplates)...)
	return append(problems, confined(pods)...)
}

// within reports whether labels has all of some.
func within(some, labels map[string]string) bool {
	for k, v := range some {
		if labels[k] != v {
			return false
		}
	}
	return true
}

// volumes describes mounts without a volume, volumes without a mount, and volumes of ConfigMaps
// that do not exist.
func (m *manifests) volumes(p corev1.PodTemplateSpec, claims []corev1.PersistentVolumeClaim) (problems []string) {
	have := map[string]bool{}
	for _, c := range claims {
		have[c.Name] = true
	}
	for _, v := range p.Spec.Volumes {
		have[v.Name] = true
		if v.ConfigMap != nil && !slices.ContainsFunc(all[*corev1.ConfigMap](m), func(c *corev1.ConfigMap) bool { return c.Name == v.ConfigMap.Name }) {
			problems = append(problems, "there is no ConfigMap "+v.ConfigMap.Name)
		}
	}
	for _, mount := range p.Spec.Containers[0].VolumeMounts {
		if !have[mount.Name] || mount.SubPath != "" {
			problems = append(problems, "the mount "+mount.Name+" has no volume, or does not follow its changes")
		}
		delete(have, mount.Name)
	}
	for name := range maps.Keys(have) {
		problems = append(problems, "the volume "+name+" is not mounted")
	}
	return problems
}

// confined describes rights that a pod does not need.
func confined(p corev1.PodTemplateSpec) (problems []string) {
	s, c := p.Spec.SecurityContext, p.Spec.Containers[0].SecurityContext
	if !*s.RunAsNonRoot || s.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault || *p.Spec.AutomountServiceAccountToken {
		problems = append(problems, "the pod may run as root, use each system call or read a token of the cluster")
	}
	if !*c.ReadOnlyRootFilesystem || *c.AllowPrivilegeEscalation || !slices.Equal(c.Capabilities.Drop, []corev1.Capability{"ALL"}) {
		problems = append(problems, "the container may write its root or has capabilities")
	}
	return problems
}

// queue matches the name of a worker's agent in its trigger: docs/wire.md has the names.
var queue = regexp.MustCompile(`^agent[.+]task[.+]([a-z-]+)$`)

// trigger describes a trigger that does not count the messages of its worker, and one without its
// authentication.
func (m *manifests) trigger(j map[string]any) (problems []string) {
	spec := j["spec"].(map[string]any)
	trigger := spec["triggers"].([]any)[0].(map[string]any)
	metadata := trigger["metadata"].(map[string]any)
	name, _ := metadata["queueName"].(string)
	if trigger["type"] == "nats-jetstream" {
		name, _ = metadata["consumer"].(string)
	}
	agent := queue.FindStringSubmatch(name)
	if agent == nil || j["metadata"].(map[string]any)["name"] != release+"-"+agent[1] {
		problems = append(problems, fmt.Sprintf("%v counts the queue %q", j["metadata"], name))
	}
	if ref, ok := trigger["authenticationRef"].(map[string]any); ok {
		if a := m.kinds("TriggerAuthentication"); len(a) != 1 || a[0]["metadata"].(map[string]any)["name"] != ref["name"] {
			problems = append(problems, fmt.Sprintf("there is no TriggerAuthentication %v", ref["name"]))
		}
	}
	return problems
}

// TestChange: a changed configuration restarts the pods; changed agents do not.
func TestChange(t *testing.T) {
	t.Parallel()
	template := func(text string) string {
		return fmt.Sprint(only[*appsv1.StatefulSet](t, install(t, parse(t, text))).Spec.Template.Annotations)
	}
	if template(`{}`) == template(`{config: {log: {level: debug}}}`) {
		t.Error("a changed configuration does not change the pods")
	}
	if template(`{}`) != template(`{agents: [{name: x, url: "http://x"}]}`) {
		t.Error("changed agents change the pods")
	}
}

// TestNotes: the notes after an installation warn of data without a volume.
func TestNotes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{`{}`: false, `{persistence: {enabled: false}}`: true} {
		files, err := render(t, parse(t, text))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(files["NOTES.txt"], "WARNING") != want || !strings.Contains(files["NOTES.txt"], "parley send hello") {
			t.Errorf("%s: the notes are\n%s", text, files["NOTES.txt"])
		}
	}
}

// TestPage: the values on the page of the chart install it, and a Secret that they name has its
// keys by a command of the page.
func TestPage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join(root, "docs/howto/kubernetes.md"))
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```yaml values.yaml\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	if len(blocks) != 3 {
		t.Fatalf("the page has %d blocks of values, want 3", len(blocks))
	}
	for _, b := range blocks {
		m := install(t, parse(t, b[1]))
		for _, p := range m.dangling(t) {
			t.Errorf("%s\n%s", p, b[1])
		}
		for _, e := range only[*appsv1.StatefulSet](t, m).Spec.Template.Spec.Containers[0].Env {
			if from := e.ValueFrom; from.SecretKeyRef != nil && strings.HasPrefix(from.SecretKeyRef.Name, "parley") &&
				!regexp.MustCompile(`(?s)secret generic `+from.SecretKeyRef.Name+` [^`+"`"+`]*--from-literal=`+from.SecretKeyRef.Key+`=`).Match(page) {
				t.Errorf("the page does not create %s in the Secret %s", from.SecretKeyRef.Key, from.SecretKeyRef.Name)
			}
		}
	}
}
