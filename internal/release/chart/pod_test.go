package chart

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/parley-a2a/parley/internal/testing/testenv"
)

// secrets are the Secrets of the cluster: their values by "name/key".
type secrets map[string]string

// pod is the place of a container on this machine: the work of a kubelet with a template.
type pod struct {
	name   string
	mounts map[string]string // folders by the paths in the container
	ports  map[int32]string  // addresses by the ports of the container
	env    map[string]string
	args   []string
}

// place makes the folders, variables and arguments of the first container of a template.
func (m *manifests) place(t *testing.T, name string, template corev1.PodTemplateSpec, s secrets) *pod {
	t.Helper()
	c := template.Spec.Containers[0]
	p := &pod{name: name, mounts: map[string]string{}, ports: map[int32]string{}, env: map[string]string{}}
	for _, mount := range c.VolumeMounts {
		dir := t.TempDir()
		p.mounts[mount.MountPath] = dir
		for _, v := range template.Spec.Volumes {
			if v.Name == mount.Name && v.ConfigMap != nil {
				project(t, dir, m.configMap(t, v.ConfigMap.Name).Data)
			}
		}
	}
	for _, port := range c.Ports {
		p.ports[port.ContainerPort] = testenv.Addr(t)
	}
	for _, e := range c.Env {
		p.env[e.Name] = p.value(t, e, s)
	}
	for _, a := range c.Args {
		p.args = append(p.args, p.expand(a))
	}
	return p
}

// configMap returns a ConfigMap by its name.
func (m *manifests) configMap(t *testing.T, name string) *corev1.ConfigMap {
	t.Helper()
	for _, c := range all[*corev1.ConfigMap](m) {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("there is no ConfigMap %s", name)
	return nil
}

// value returns the value of a variable.
func (p *pod) value(t *testing.T, e corev1.EnvVar, s secrets) string {
	t.Helper()
	switch from := e.ValueFrom; {
	case from == nil:
		return e.Value
	case from.FieldRef != nil && from.FieldRef.FieldPath == "metadata.name":
		return p.name
	case from.SecretKeyRef != nil && s[from.SecretKeyRef.Name+"/"+from.SecretKeyRef.Key] != "":
		return s[from.SecretKeyRef.Name+"/"+from.SecretKeyRef.Key]
	}
	t.Errorf("variable %s has no value: %+v", e.Name, e.ValueFrom)
	return ""
}

// expand returns an argument with the variables, folders and addresses of this machine.
func (p *pod) expand(arg string) string {
	for name, value := range p.env {
		arg = strings.ReplaceAll(arg, "$("+name+")", value)
	}
	for path, dir := range p.mounts {
		if rest, ok := strings.CutPrefix(arg, path); ok && (rest == "" || rest[0] == '/') {
			return dir + rest
		}
	}
	for port, addr := range p.ports {
		if arg == fmt.Sprintf("0.0.0.0:%d", port) {
			return addr
		}
	}
	return arg
}

// command returns the program with the arguments of the container.
func (p *pod) command(t *testing.T) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(binary, p.args...)
	cmd.Dir = t.TempDir()
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	for name, value := range p.env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	return cmd
}

// project writes the files of a ConfigMap into its volume, as a kubelet does: each file is a link
// into ..data, which is a link to a folder of this version; a change replaces ..data in one step.
func project(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	version, err := os.MkdirTemp(dir, "..2026_")
	if err != nil {
		t.Fatal(err)
	}
	old, _ := os.Readlink(filepath.Join(dir, "..data"))
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(version, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.Join("..data", name), filepath.Join(dir, name)); err != nil && !os.IsExist(err) {
			t.Fatal(err)
		}
	}
	next := filepath.Join(dir, "..data_tmp")
	if err := os.Symlink(filepath.Base(version), next); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(next, filepath.Join(dir, "..data")); err != nil {
		t.Fatal(err)
	}
	if old != "" {
		if err := os.RemoveAll(filepath.Join(dir, old)); err != nil {
			t.Fatal(err)
		}
	}
}
