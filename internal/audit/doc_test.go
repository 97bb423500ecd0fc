package audit

import (
	"os"
	"strings"
	"testing"
)

// TestManual verifies the example in docs/audit.md, and looks for each action in its tables.
func TestManual(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../../docs/audit.md")
	if err != nil {
		t.Fatal(err)
	}
	manual := string(b)
	_, rest, _ := strings.Cut(manual, "```json\n")
	sample, _, _ := strings.Cut(rest, "```")
	var before Hash
	n := 0
	for line := range strings.Lines(sample) {
		e, err := Parse([]byte(line))
		if err != nil {
			body, _, _ := strings.Cut(line, hashMember)
			t.Fatalf("%v; the hash of %s is %s", err, body, hashOf(body))
		}
		if n++; n > 1 && e.Prev != before {
			t.Errorf("entry %d does not follow the one before", e.Seq)
		}
		before = e.Hash
	}
	if n != 2 {
		t.Errorf("%d entries in the example, want 2", n)
	}
	for _, a := range []Action{
		TaskSend, TaskCancel, TaskGet, TaskList, TaskSubscribe, PartGet, PushSet, PushDelete, MemorySet, MemoryDelete, MemoryEnd, TaskOperate, TaskInspect,
		AgentRegister, AgentRemove, AgentProbe, AgentPause, AgentResume, KeyAdd, KeyRevoke, TrustChange, InboxPut, InboxSettle,
		PushRedeliver, DeadReplay, DeadDrop, AdminOther, AuthRefused, PolicyRefused, AdminRefused, ConfigLoad, HubStart, HubStop,
		AuditExport, auditSegment, auditSigned, auditMended, auditDamaged, auditLost, auditPruned,
	} {
		if !strings.Contains(manual, "`"+string(a)+"`") {
			t.Errorf("the manual does not name %s", a)
		}
	}
	for _, k := range []Kind{Changed, Missing, Moved, Repeated, Inserted, Replaced, Unsigned, Elsewhere} {
		if !strings.Contains(manual, "`"+string(k)+"`") {
			t.Errorf("the manual does not name the problem %q", k)
		}
	}
}
