package config_test

import (
	"io/fs"
	"maps"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/parley-a2a/parley/internal/config"
)

// keysOf adds the keys of a struct to all, with the prefix of their section.
func keysOf(all map[string]bool, section string, t reflect.Type) {
	for f := range t.Fields() {
		key, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if key != "" {
			all[section+"."+key] = true
		}
	}
}

// testNames returns the names of all tests of the tree.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	names, declared := make(map[string]bool), regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	root := os.DirFS("../..")
	err := fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || d.Name() == ".git"):
			return fs.SkipDir
		case !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		src, err := fs.ReadFile(root, path)
		for _, m := range declared.FindAllSubmatch(src, -1) {
			names[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// testsOfLimits are the tests of the keys in the tables of docs/limits.md.
var testsOfLimits = map[string][]string{
	"limits.body":                {"TestLargeBody", "TestRefusalOfALargeRequestArrives"},
	"limits.memory":              {"TestNoMemoryForLargeBodies", "TestRunsOfLargeMessagesWait", "TestLargeMessagesAreAdmitted", "TestLargeReadsAreBounded"},
	"limits.spool":               {"TestSpoolIsBounded"},
	"limits.body_time":           {"TestSlowBody", "TestMessagesMustArrive"},
	"limits.write_time":          {"TestStalledReader", "TestStalledGRPCReader"},
	"limits.keep_alive":          {"TestKeepAlive", "TestQuietCallsAreAlive", "TestServerPings"},
	"limits.connections":         {"TestRoomForNewConnections", "TestHalfSentHeadsLeaveRoom"},
	"limits.streams_per_caller":  {"TestTooManyStreams"},
	"limits.streams":             {"TestQuota"},
	"limits.requests_per_second": {"TestEveryOperationIsLimited", "TestEveryMethodIsLimited"},
	"limits.burst":               {"TestDefaultBurst"},
	"limits.bytes_per_second":    {"TestBytesAreLimited"},
	"limits.tasks_per_caller":    {"TestTasksPerCaller", "TestTasksOfACaller"},
	"engine.max_runs":            {"TestRunsAreQueued"},
	"engine.max_away":            {"TestRunsThatWaitElsewhere"},
	"engine.max_queued":          {"TestRunsAreQueued"},
	"engine.max_waiting":         {"TestUnreadMessagesAreBounded"},
	"engine.max_output":          {"TestEndlessOutput"},
	"engine.max_wait":            {"TestSendWaitsAtMostMaxWait"},
	"engine.first_event":         {"TestLateMessageCompletesTheTask"},
	"engine.agent_silence":       {"TestSilentAgentFails"},
	"engine.cancel_wait":         {"TestCancelDoesNotWaitForAnUnresponsiveAgent"},
	"engine.drain_timeout":       {"TestDrain"},
	"engine.retention":           {"TestRetention"},
	"engine.idle_retention":      {"TestRetention"},
	"delegation.max_hops":        {"TestHops"},
	"delegation.max_tasks":       {"TestBudget"},
	"delegation.max_time":        {"TestDeadline"},
	"parts.max":                  {"TestPartsTooLarge"},
	"parts.expiry":               {"TestPartsExpire"},
	"push.concurrency":           {"TestConcurrencyIsBounded"},
	"push.per_endpoint":          {"TestConcurrencyIsBounded"},
	"audit.keep":                 {"TestPruningByAge"},
	"audit.keep_size":            {"TestPruning"},
	"memory.entries":             {"TestNotesAreDroppedBeyondTheQuota"},
	"memory.owner_entries":       {"TestNotesAreDroppedBeyondTheQuota"},
	"memory.value":               {"TestNotesRefuse"},
}

// The tables of docs/limits.md have a row for each key of limits, engine and delegation, and name existing keys only;
// each of them has tests that exist.
func TestManualOfLimits(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/limits.md")
	if err != nil {
		t.Fatal(err)
	}
	required, known := make(map[string]bool), make(map[string]bool)
	keysOf(required, "limits", reflect.TypeFor[config.Limits]())
	delete(required, "limits.half_open") // without effect
	keysOf(required, "engine", reflect.TypeFor[config.Engine]())
	keysOf(required, "delegation", reflect.TypeFor[config.Delegation]())
	keysOf(known, "parts", reflect.TypeFor[config.Parts]())
	keysOf(known, "push", reflect.TypeFor[config.Push]())
	keysOf(known, "audit", reflect.TypeFor[config.Audit]())
	keysOf(known, "memory", reflect.TypeFor[config.Memory]())
	names, left := testNames(t), maps.Clone(testsOfLimits)
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z_.]+)` \\|.*\\|.*\\|$").FindAllStringSubmatch(string(page), -1) {
		key := row[1]
		if !required[key] && !known[key] {
			t.Errorf("docs/limits.md has %s, which is no key of the configuration, or has it twice", key)
		}
		delete(required, key)
		delete(known, key)
		if len(left[key]) == 0 {
			t.Errorf("%s has no test; name one in testsOfLimits", key)
		}
		for _, name := range left[key] {
			if !names[name] {
				t.Errorf("testsOfLimits names %s for %s; there is no such test", name, key)
			}
		}
		delete(left, key)
	}
	for key := range required {
		t.Errorf("docs/limits.md has no row for %s", key)
	}
	for key := range left {
		t.Errorf("testsOfLimits has %s, which is not in docs/limits.md", key)
	}
}
