package readmodel

import (
	"context"

	"github.com/pawl-run/pawl/eventlog"
	"github.com/pawl-run/pawl/projections"
)

// Script is one deployed version of a workflow's script.
type Script struct {
	Version    eventlog.Version `json:"version"`
	Filename   string           `json:"filename"`
	Source     string           `json:"source"`
	SourceHash string           `json:"sourceHash"`
	Repair     bool             `json:"repair"`
	Note       string           `json:"note,omitempty"`
	DeployedAt eventlog.Instant `json:"deployedAt"`
	DeployedBy eventlog.Actor   `json:"deployedBy"`
	// Definition is what the deploy accepted; it is no part of the JSON.
	Definition eventlog.Definition `json:"-"`
}

// ScriptView renders a script, also one that comes from memory or from a fold of the past.
func ScriptView(s *projections.Script) Script {
	return Script{
		Version: s.Version, Filename: s.Filename, Source: s.Source, SourceHash: s.SourceHash, Repair: s.Repair,
		Note: s.Note, DeployedAt: s.DeployedAt, DeployedBy: s.DeployedBy, Definition: s.Definition,
	}
}

// Script returns a version of the workflow's script, the current one when the version is empty,
// or *NotFoundError.
func (r *Reader) Script(ctx context.Context, w eventlog.WorkflowName, version eventlog.Version) (Script, error) {
	return answer(ctx, r, func(v *view) (Script, error) {
		if version == "" {
			core, err := v.workflow(w)
			if err != nil {
				return Script{}, err
			}
			version = core.Version
		}
		s, err := one[projections.Script](v, w, projections.ScriptKey(version), "script", string(version))
		if err != nil {
			return Script{}, err
		}
		return ScriptView(s), nil
	})
}

// Versions lists the versions of a workflow's script without their text, in the order in which they were deployed.
func (r *Reader) Versions(ctx context.Context, o ListOptions) (Page[Version], error) {
	return list(ctx, r, projections.KindScript, o,
		func(v *view, w eventlog.WorkflowName, s *projections.Script) (row, func() (Version, error), error) {
			return row{at: s.DeployedAt, text: []string{string(s.Version), s.Filename, s.Note, s.DeployedBy.Name}},
				func() (Version, error) {
					core, err := v.workflow(w)
					if err != nil {
						return Version{}, err
					}
					return Version{
						Version: s.Version, Filename: s.Filename, SourceHash: s.SourceHash, Repair: s.Repair, Note: s.Note,
						DeployedAt: s.DeployedAt, DeployedBy: s.DeployedBy, Current: s.Version == core.Version,
					}, nil
				}, nil
		})
}
