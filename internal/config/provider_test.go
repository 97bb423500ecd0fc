package config_test

import (
	"os"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/internal/config"
	"github.com/parley-a2a/parley/internal/llm/guard"
)

// A script replaces the server of a provider as long as none is configured.
func TestScriptStandsInForAServer(t *testing.T) {
	t.Parallel()
	for env, want := range map[string]bool{"": true, "http://127.0.0.1:11434/v1": false} {
		src := "model_providers: [{name: a, script: s.yaml, base_url: \"${URL:-}\", api_key: \"${KEY:-}\"}]\n" +
			"agents: [{name: b, model: {model: m}}]\n"
		c, err := config.Parse("parley.yaml", []byte(src), func(name string) (string, bool) {
			return env, name == "URL" && env != ""
		})
		if err != nil {
			t.Fatalf("URL=%q: %v", env, err)
		}
		if got := c.ModelProviders[0].Scripted(); got != want {
			t.Errorf("URL=%q: scripted is %v, want %v", env, got, want)
		}
	}
	_, err := config.Parse("parley.yaml", []byte("model_providers: [{name: a, kind: openai, script: s.yaml}]\n"), os.LookupEnv)
	if err == nil || !strings.Contains(err.Error(), "model_providers[0].script: is for the kind script") {
		t.Errorf("a script of the kind openai: %v", err)
	}
}

// The guard of a model replaces that of the hub.
func TestGuardOfModels(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]guard.Policy{
		"": guard.Redact, ", guard: label": guard.Mark, ", guard: redact": guard.Redact, ", guard: refuse": guard.Refuse, ", guard: off": guard.Off, ", guard: allow": "",
	} {
		src := "safety: {untrusted_text: redact}\nmodel_providers: [{name: a, script: s.yaml}]\nagents: [{name: b, model: {model: m" + key + "}}]\n"
		c, err := config.Parse("parley.yaml", []byte(src), os.LookupEnv)
		if want == "" {
			if err == nil || !strings.Contains(err.Error(), "agents[0].model.guard") {
				t.Errorf("%s: %v", key, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := c.GuardOf(&c.Agents[0].Model).Policy; got != want {
			t.Errorf("%q: the guard is %q, want %q", key, got, want)
		}
	}
}
