package auth

import (
	"fmt"
	"slices"
	"strings"
)

// RoleAdmin is the role of administrators of the hub.
const RoleAdmin = "admin"

// UnknownRoleError is the error for a role that a hub does not know. It is more often a
// misspelt role than a new one.
type UnknownRoleError struct {
	Role string
	// Known are the names of the roles, without those for workers. A name that ends with *
	// stands for all roles with that beginning.
	Known []string
}

// Error implements error.
func (e *UnknownRoleError) Error() string {
	return fmt.Sprintf("unknown role %q; the roles are %s; add one with auth.roles in parley.yaml or a rule of the policy",
		e.Role, strings.Join(e.Known, ", "))
}

// CheckRoles returns an *UnknownRoleError for the first of roles that is neither RoleAdmin, nor
// begins with RoleBus, nor is in known. A name in known that ends with * stands for all roles with
// that beginning; a single * stands for none.
func CheckRoles(roles, known []string) error {
	for _, role := range roles {
		is := func(name string) bool {
			prefix, open := strings.CutSuffix(name, "*")
			return name != "*" && (name == role || open && strings.HasPrefix(role, prefix))
		}
		if role == RoleAdmin || strings.HasPrefix(role, RoleBus) || slices.ContainsFunc(known, is) {
			continue
		}
		all := slices.DeleteFunc(slices.Concat(known, []string{RoleAdmin}), func(name string) bool { return name == "*" || name == "" })
		slices.Sort(all)
		return &UnknownRoleError{Role: role, Known: slices.Compact(all)}
	}
	return nil
}
