package main

// layer says what the folders of one pattern may import in production code.
type layer struct {
	folders string
	// project are the folders of the module.
	project []string
	// external are the libraries; anyLibrary leaves them to the restrictions below.
	external []string
	// pure forbids everything through which a clock, chance or the outside world could come in: see pureImports and
	// impureCalls.
	pure bool
}

var (
	anyLibrary = []string{"..."}
	anyFolder  = []string{"..."}
)

// internals are the folders of these internal packages of cmd/pawl.
func internals(names ...string) (folders []string) {
	for _, name := range names {
		folders = append(folders, "cmd/pawl/internal/"+name)
	}
	return folders
}

// belowCommands are the libraries of the module, and these packages of cmd/pawl.
func belowCommands(names ...string) []string {
	return append(internals(names...), "eventlog/...", "projections/...", "sandbox/...", "engine/...", "embeddednats/...",
		"ops/...")
}

// layers are tried in order, and the first that fits a folder holds for it. A layer imports only lower ones: the
// log knows nothing, the fold knows the log, decisions know the fold, the engine carries them out.
var layers = []layer{
	{folders: "engine/loopback"}, // what all that listen or dial share
	{folders: "eventlog/pack", external: []string{"github.com/vmihailenco/msgpack/v5"}, pure: true},
	{folders: "eventlog", project: []string{"eventlog/pack"}, external: []string{"github.com/vmihailenco/msgpack/v5/...",
		"github.com/oklog/ulid/v2", "github.com/cespare/xxhash/v2"}, pure: true},
	{folders: "eventlog/durable"},
	{folders: "eventlog/memlog", project: []string{"eventlog"}},
	{folders: "eventlog/...", project: []string{"eventlog/..."}, external: anyLibrary},
	{folders: "projections", project: []string{"eventlog"}, external: []string{"github.com/tidwall/btree"}, pure: true},
	{folders: "projections/...", project: []string{"eventlog/pack", "eventlog", "projections/..."}, external: anyLibrary},
	// The contract of scripts imports none of the packages that implement it: those compile a text, judge it, run it,
	// and run it in another process.
	{folders: "sandbox"},
	{folders: "sandbox/similar", external: anyLibrary},
	{folders: "sandbox/amend", project: []string{"sandbox"}, external: anyLibrary},
	{folders: "sandbox/cputime", external: anyLibrary},
	{folders: "sandbox/script", project: []string{"sandbox"}, external: anyLibrary},
	{folders: "sandbox/lint/onecall", project: []string{"sandbox"}},
	{folders: "sandbox/lint/flow", project: []string{"sandbox/script"}, external: anyLibrary},
	{folders: "sandbox/lint/finding", project: []string{"sandbox", "sandbox/amend", "sandbox/script"},
		external: anyLibrary},
	{folders: "sandbox/lint/global", project: []string{"sandbox", "sandbox/lint/finding", "sandbox/similar",
		"sandbox/script"}, external: anyLibrary},
	{folders: "sandbox/lint", project: []string{"sandbox", "sandbox/amend", "sandbox/similar", "sandbox/script",
		"sandbox/lint/..."}, external: anyLibrary},
	{folders: "sandbox/vm/value", project: []string{"sandbox"}, external: anyLibrary},
	{folders: "sandbox/vm/globals/intl", external: anyLibrary},
	{folders: "sandbox/vm/globals", project: []string{"sandbox", "sandbox/vm/value", "sandbox/vm/globals/intl"},
		external: anyLibrary},
	{folders: "sandbox/vm", project: []string{"sandbox", "sandbox/similar", "sandbox/cputime", "sandbox/script",
		"sandbox/lint/...", "sandbox/vm/value", "sandbox/vm/globals"}, external: anyLibrary},
	{folders: "sandbox/worker/confine", external: anyLibrary},
	{folders: "sandbox/worker/...", project: []string{"sandbox", "sandbox/cputime", "sandbox/vm",
		"sandbox/worker/confine"}, external: anyLibrary},
	{folders: "engine/schedule", project: []string{"eventlog", "sandbox"},
		external: []string{"github.com/netresearch/go-cron"}, pure: true},
	{folders: "engine/hint", pure: true},
	{folders: "engine/capability", project: []string{"eventlog"}, pure: true},
	{folders: "engine/decide/kept", project: []string{"eventlog"}, pure: true},
	{folders: "engine/decide", project: []string{"eventlog", "projections", "engine/schedule", "engine/capability",
		"engine/decide/kept", "engine/hint"}, pure: true},
	// Requests of other systems and secrets are defined without an engine.
	{folders: "engine/hook", project: []string{"eventlog", "sandbox"}},
	{folders: "engine/secret"},
	{folders: "engine/deploy", project: []string{"eventlog", "projections", "engine/schedule", "engine/capability",
		"engine/decide", "engine/decide/kept", "engine/connector", "engine/hint", "engine/hook", "sandbox", "sandbox/amend",
		"sandbox/lint", "sandbox/lint/finding", "sandbox/lint/onecall", "sandbox/similar"},
		pure: true},
	// A connector confines the process that reads hostile bytes for it, but runs no script. It reads in the contract of
	// scripts which names are reserved for scripts.
	{folders: "engine/connector/...", project: []string{"eventlog", "engine/connector/...", "engine/secret",
		"engine/loopback", "sandbox", "sandbox/worker/confine", "sandbox/similar"}, external: anyLibrary},
	// The packages that the parts of an engine share import none of these parts.
	{folders: "engine/difference", pure: true},
	{folders: "engine/clock", external: []string{"golang.org/x/sys/unix"}},
	{folders: "engine/signal"},
	{folders: "engine/ids", external: anyLibrary},
	{folders: "engine/runtask", project: []string{"eventlog"}},
	{folders: "engine/memory", project: []string{"projections"}},
	{folders: "engine/lease", project: []string{"engine/clock"}, external: anyLibrary},
	{folders: "engine/peer", project: []string{"eventlog"}, external: anyLibrary},
	// The engine sees the Log interface; which log it gets, JetStream or memory, is wired in cmd.
	{folders: "engine/...", project: []string{"eventlog", "eventlog/memlog", "projections/...", "sandbox/...",
		"engine/..."}, external: anyLibrary},
	{folders: "embeddednats/...", project: []string{"eventlog/durable", "embeddednats/...", "engine/loopback"},
		external: anyLibrary},
	// The transport of calls does not know what the calls do; that is in the table of package ops.
	{folders: "ops/rpc", project: []string{"eventlog", "engine/loopback", "sandbox"}, external: anyLibrary},
	{folders: "ops/auth", project: []string{"eventlog", "engine/loopback", "projections", "ops/rpc"},
		external: anyLibrary},
	{folders: "ops/logread", project: []string{"eventlog", "ops/rpc", "ops/auth"}, external: anyLibrary},
	{folders: "ops/explain", project: []string{"eventlog", "projections/...", "engine", "engine/capability",
		"engine/connector", "engine/decide", "engine/deploy", "engine/hint", "sandbox"}, external: anyLibrary},
	{folders: "ops/metrics", project: []string{"eventlog", "projections/...", "engine", "sandbox/worker"},
		external: anyLibrary},
	{folders: "ops/feed", project: []string{"eventlog", "ops/rpc"}, external: anyLibrary},
	{folders: "ops/replay", project: []string{"eventlog", "projections/...", "engine/memory"}, external: anyLibrary},
	{folders: "ops/ingress", project: []string{"eventlog", "engine/decide", "ops/rpc"}, external: anyLibrary},
	{folders: "ops/...", project: []string{"eventlog/...", "projections/...", "sandbox/...", "engine/...", "ops/..."},
		external: anyLibrary},
	// The commands are put together from internal packages, none of which imports a command.
	{folders: "cmd/pawl/example"},
	{folders: "cmd/pawl/internal/term",
		project:  []string{"engine/difference", "engine/hint", "eventlog", "ops/explain", "projections", "sandbox"},
		external: anyLibrary},
	{folders: "cmd/pawl/internal/notices", external: anyLibrary},
	{folders: "cmd/pawl/internal/exit", project: append([]string{"ops/rpc"}, internals("term")...)},
	{folders: "cmd/pawl/internal/datadir", project: append([]string{"eventlog/durable"}, internals("exit")...),
		external: anyLibrary},
	{
		folders: "cmd/pawl/internal/diskspace",
		project: []string{"embeddednats", "eventlog", "engine/schedule"}, external: anyLibrary,
	},
	{folders: "cmd/pawl/internal/config", project: belowCommands("exit", "term"), external: anyLibrary},
	{folders: "cmd/pawl/internal/version", project: internals("term")},
	{folders: "cmd/pawl/internal/typings", project: []string{"engine/connector", "sandbox"}},
	{folders: "cmd/pawl/internal/builtin", project: belowCommands("config", "typings"), external: anyLibrary},
	{folders: "cmd/pawl/internal/client", project: belowCommands("config", "datadir", "exit", "term"),
		external: anyLibrary},
	{folders: "cmd/pawl/internal/tools", project: belowCommands("builtin", "datadir", "exit"), external: anyLibrary},
	{
		folders:  "cmd/pawl/internal/storage",
		project:  belowCommands("config", "datadir", "diskspace", "exit", "term", "version"),
		external: anyLibrary,
	},
	{
		folders: "cmd/pawl/internal/node",
		project: belowCommands("builtin", "config", "datadir", "diskspace", "exit", "storage", "term", "tools",
			"version"),
		external: anyLibrary,
	},
	{folders: "cmd/pawl/internal/source", project: belowCommands("builtin", "config", "exit", "node", "storage", "term"),
		external: anyLibrary},
	{folders: "cmd/pawl/internal/maintain", project: []string{"eventlog/durable", "ops/rpc"}},
	{folders: "cmd/pawl/internal/guide", project: []string{"sandbox"}},
	{
		folders: "cmd/pawl/internal/starter",
		project: append([]string{"cmd/pawl/example"}, internals("guide", "typings")...),
	},
	{folders: "cmd/pawl/internal/mcpserver", project: belowCommands("builtin", "guide", "typings"),
		external: anyLibrary},
	{folders: "cmd/pawl/internal/bench", project: belowCommands("config", "datadir", "exit", "node", "storage", "term"),
		external: anyLibrary},
	// The commands under one heading import no others.
	{
		folders: "cmd/pawl/internal/commands/...",
		project: append(belowCommands("builtin", "client", "config", "datadir", "exit", "maintain", "mcpserver", "node",
			"storage",
			"notices", "source", "starter", "term", "tools", "typings", "version"), "cmd/pawl/example"),
		external: anyLibrary,
	},
	{folders: "cmd/...", project: anyFolder, external: anyLibrary},
}
