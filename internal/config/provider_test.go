package config_test

import (
	"os"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/internal/config"
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
