package auth

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCheckRoles(t *testing.T) {
	t.Parallel()
	known := []string{"team-*", "ops", "*", "ops"}
	for role, ok := range map[string]bool{
		RoleAdmin: true, "ops": true, "team-a": true, "team-": true, RoleBus + "w": true,
		"Admin": false, "op": false, "opsx": false, "team": false, "*": false, "": false,
	} {
		err := CheckRoles([]string{RoleAdmin, role}, known)
		if (err == nil) != ok {
			t.Errorf("CheckRoles(%q) = %v, want it known: %v", role, err, ok)
		}
		var unknown *UnknownRoleError
		if !ok && (!errors.As(err, &unknown) || unknown.Role != role || cmp.Diff([]string{"admin", "ops", "team-*"}, unknown.Known) != "") {
			t.Errorf("CheckRoles(%q) = %+v, want the role and those that are known", role, unknown)
		}
	}
	if err := CheckRoles(nil, nil); err != nil {
		t.Errorf("CheckRoles without roles = %v", err)
	}
}
