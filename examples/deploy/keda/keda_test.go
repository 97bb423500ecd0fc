// Package keda has no Go code: its files are manifests. These tests compare the names in them
// with those that the buses use.
package keda

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/parley-a2a/parley/internal/bus/natsbus"
	"github.com/parley-a2a/parley/internal/bus/protocol"
)

// agent is the name of the agent in the manifests.
const agent = "poet"

// manifest is the part of a document that the tests check.
type manifest struct {
	Kind     string
	Metadata struct{ Name string }
	Spec     struct {
		ScaleTargetRef  struct{ Name string }        `yaml:"scaleTargetRef"`
		MinReplicaCount *int                         `yaml:"minReplicaCount"`
		CooldownPeriod  int                          `yaml:"cooldownPeriod"`
		ScalingStrategy struct{ Strategy string }    `yaml:"scalingStrategy"`
		Template        template                     `yaml:"template"`
		JobTargetRef    struct{ Template template }  `yaml:"jobTargetRef"`
		Triggers        []trigger                    `yaml:"triggers"`
		SecretTargetRef []struct{ Name, Key string } `yaml:"secretTargetRef"`
	}
	StringData map[string]string `yaml:"stringData"`
}

type template struct {
	Spec struct {
		RestartPolicy string `yaml:"restartPolicy"`
		Grace         int    `yaml:"terminationGracePeriodSeconds"`
		Containers    []struct {
			Args []string
			Env  []struct {
				Name      string
				ValueFrom struct {
					SecretKeyRef struct{ Name, Key string } `yaml:"secretKeyRef"`
				} `yaml:"valueFrom"`
			}
		}
	}
}

type trigger struct {
	Type              string
	Metadata          map[string]string
	AuthenticationRef struct{ Name string } `yaml:"authenticationRef"`
}

// read returns the documents of a file. A duplicate member is an error.
func read(t *testing.T, name string) []manifest {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var found []manifest
	for d := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var m manifest
		err := d.Decode(&m)
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		found = append(found, m)
	}
}

// triggers are the queries of the manifests to the brokers, without addresses.
var triggers = map[string]map[string]string{
	"rabbitmq": {
		"queueName": protocol.JobAt(agent).Name, "mode": "QueueLength", "activationValue": "0",
		"protocol": "http", "vhostName": "/", "excludeUnacknowledged": "false",
	},
	"nats-jetstream": {
		"account": "$G", "stream": natsbus.DefaultStream, "consumer": natsbus.ConsumerName(protocol.JobAt(agent)),
		"activationLagThreshold": "0", "natsServerMonitoringEndpoint": "nats.parley.svc:8222", "useHttps": "false",
	},
}

// target is the name of the member with the backlog per worker.
var target = map[string]string{"rabbitmq": "value", "nats-jetstream": "lagThreshold"}

// TestTriggers checks the triggers of the manifests.
func TestTriggers(t *testing.T) {
	t.Parallel()
	for name, kind := range map[string]string{
		"rabbitmq.yaml": "ScaledObject", "rabbitmq-jobs.yaml": "ScaledJob",
		"jetstream.yaml": "ScaledObject", "jetstream-jobs.yaml": "ScaledJob",
	} {
		documents := read(t, name)
		i := slices.IndexFunc(documents, func(m manifest) bool { return m.Kind == kind })
		if i < 0 {
			t.Errorf("%s has no %s", name, kind)
			continue
		}
		m := documents[i]
		if m.Metadata.Name != agent || len(m.Spec.Triggers) != 1 || m.Spec.MinReplicaCount == nil || *m.Spec.MinReplicaCount != 0 {
			t.Errorf("%s: %s %q has %d triggers and the minimum %v, want %q, 1 and 0",
				name, kind, m.Metadata.Name, len(m.Spec.Triggers), m.Spec.MinReplicaCount, agent)
			continue
		}
		checkTrigger(t, name, kind, m.Spec.Triggers[0])
		if kind == "ScaledObject" {
			checkObject(t, name, documents, m)
		} else if s := m.Spec.ScalingStrategy.Strategy; s != "default" {
			t.Errorf("%s: the strategy is %q, want default: what runs is in the queue", name, s)
		}
	}
}

func checkTrigger(t *testing.T, name, kind string, got trigger) {
	t.Helper()
	want, ok := triggers[got.Type]
	if !ok || !strings.HasPrefix(name, strings.TrimPrefix(got.Type, "nats-")) {
		t.Errorf("%s: the trigger is a %q", name, got.Type)
		return
	}
	for member, value := range want {
		if got.Metadata[member] != value {
			t.Errorf("%s: %s is %q, want %q", name, member, got.Metadata[member], value)
		}
	}
	each := got.Metadata[target[got.Type]]
	if want := map[string]string{"ScaledObject": "8", "ScaledJob": "1"}[kind]; each != want {
		t.Errorf("%s: %s tasks for each worker, want %s", name, each, want)
	}
	if len(got.Metadata) != len(want)+1 {
		t.Errorf("%s: the trigger has members that this test does not know: %v", name, got.Metadata)
	}
}

// checkObject checks that the target of m exists.
func checkObject(t *testing.T, name string, documents []manifest, m manifest) {
	t.Helper()
	found := slices.ContainsFunc(documents, func(d manifest) bool {
		return d.Kind == "Deployment" && d.Metadata.Name == m.Spec.ScaleTargetRef.Name
	})
	if !found {
		t.Errorf("%s: there is no Deployment %q", name, m.Spec.ScaleTargetRef.Name)
	}
	if m.Spec.CooldownPeriod <= int(protocol.Lease.Seconds()) {
		t.Errorf("%s: the last worker goes after %d s, want more than a lease", name, m.Spec.CooldownPeriod)
	}
}

// TestNames looks for the names in the documentation.
func TestNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"README.md", "../../../docs/wire.md"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{natsbus.DefaultStream, natsbus.ConsumerName(protocol.JobAt("NAME")), protocol.JobAt("NAME").Name} {
			if !bytes.Contains(text, []byte("`"+want+"`")) {
				t.Errorf("%s does not mention %s", name, want)
			}
		}
	}
}

// TestWorkers checks the workers that the manifests start.
func TestWorkers(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.yaml")
	if err != nil || len(files) != 4 {
		t.Fatalf("the manifests are %q (%v), want four", files, err)
	}
	secrets := map[string]map[string]string{}
	for _, name := range files {
		for _, m := range read(t, name) {
			if m.Kind == "Secret" {
				secrets[strings.TrimSuffix(name, ".yaml")+" "+m.Metadata.Name] = m.StringData
			}
		}
	}
	for _, name := range files {
		secret, _, _ := strings.Cut(strings.TrimSuffix(name, ".yaml"), "-")
		for _, m := range read(t, name) {
			once := m.Kind == "ScaledJob"
			pod := m.Spec.Template
			if once {
				pod = m.Spec.JobTargetRef.Template
			}
			for _, s := range m.Spec.SecretTargetRef {
				if secrets[secret+" "+s.Name][s.Key] == "" {
					t.Errorf("%s: no secret %s has %q", name, s.Name, s.Key)
				}
			}
			if len(pod.Spec.Containers) == 0 {
				continue
			}
			c := pod.Spec.Containers[0]
			if slices.Contains(c.Args, "--once") != once || !slices.Contains(c.Args, agent) || !slices.Equal(c.Args[:2], []string{"agent", "run"}) {
				t.Errorf("%s: %s runs %q, want parley agent run for %s, --once is %v", name, m.Kind, c.Args, agent, once)
			}
			if pod.Spec.Grace < int(protocol.Lease.Seconds()) {
				t.Errorf("%s: a pod has %d s to end, want a lease at least", name, pod.Spec.Grace)
			}
			for _, e := range c.Env {
				if ref := e.ValueFrom.SecretKeyRef; secrets[secret+" "+ref.Name][ref.Key] == "" {
					t.Errorf("%s: %s: no secret %s has %q", name, e.Name, ref.Name, ref.Key)
				}
			}
		}
	}
}
