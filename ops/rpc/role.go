package rpc

import (
	"net/http"

	"github.com/pawl-run/pawl/eventlog"
)

// Role is what a caller may do, and what an operation requires.
type Role string

// The roles. A viewer reads. Ingest pushes events and does nothing else. An operator does both, deploys
// and acts on what is deployed. An admin also gives grants and tokens.
const (
	Viewer   = Role(eventlog.RoleViewer)
	Ingest   = Role(eventlog.RoleIngest)
	Operator = Role(eventlog.RoleOperator)
	Admin    = Role(eventlog.RoleAdmin)
)

// Covers reports whether a caller with role r may do something that requires role need. A role that is not one of the
// four covers nothing.
func (r Role) Covers(need Role) bool {
	switch r {
	case Admin:
		return true
	case Operator:
		return need != Admin
	case Viewer, Ingest:
		return need == r
	}
	return false
}

// Caller is the caller of an operation, whatever interface the call came through.
type Caller struct {
	// Actor is recorded with what the call changes (O10).
	Actor eventlog.Actor
	Role  Role
	// Workflow, unless it is empty, is the only workflow that the caller may see and act on.
	Workflow eventlog.WorkflowName
	// Key tells callers apart for limits: calls with the same credential are one caller.
	Key string
	// TokenHash is the hash of the named token that the caller has shown, empty without one.
	TokenHash string
	// Login and LoginHash are those of the login that a browser has shown, empty for any other caller.
	Login     eventlog.LoginID
	LoginHash string
}

// Scoped requests are about one workflow, or about all where the workflow is empty. If the caller may see only one
// workflow, such a request is about that one.
type Scoped interface{ Scope() *eventlog.WorkflowName }

// Sees refuses a workflow that the caller's token is not for, whether or not it exists.
func (c *Caller) Sees(w eventlog.WorkflowName) *Problem {
	if c.Workflow == "" || c.Workflow == w {
		return nil
	}
	return Problemf(http.StatusForbidden, "workflow.forbidden", "this token is for workflow %s only", c.Workflow).
		WithHint("use a token that is for all workflows, or for that one")
}
