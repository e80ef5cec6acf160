package sqlcall

import (
	"cmp"
	"slices"
	"strings"

	"modernc.org/sqlite"

	"github.com/pawl-run/pawl/eventlog"
)

// policy is the authorizer of a connection: SQLite asks it about each action of a statement while it compiles the
// statement.
type policy struct {
	mode   mode
	table  string // of calls
	script bool   // a statement of the script is compiled, not one of ours
	first  []string
	denied string // what of it was denied
	calls  bool   // because it is the table of calls
}

// begin lets the script's statement be compiled.
func (p *policy) begin(s statement) {
	p.script, p.denied, p.calls, p.first = true, "", false, words(s.text, 1)
}

func (p *policy) end() { p.script = false }

// readPragmas only show something, if they are given no value or one that chooses what to show.
var readPragmas = []string{"collation_list", "compile_options", "data_version", "database_list", "foreign_key_check",
	"foreign_key_list", "function_list", "index_info", "index_list", "index_xinfo", "integrity_check", "module_list",
	"page_count", "quick_check", "table_info", "table_list", "table_xinfo"}

// valuePragmas show a value if they are given none.
var valuePragmas = []string{"application_id", "encoding", "foreign_keys", "page_size", "schema_version", "user_version"}

// writtenPragmas are settings of the file that a transaction covers.
var writtenPragmas = []string{"application_id", "user_version"}

// modules are the virtual tables that keep what they have in the file.
var modules = []string{"fts3", "fts4", "fts5", "geopoly", "rtree"}

// actions are the names of what a statement may do whose first word does not tell it.
var actions = map[sqlite.AuthorizerActionCode]string{
	sqlite.AuthInsert: "INSERT", sqlite.AuthUpdate: "UPDATE", sqlite.AuthDelete: "DELETE",
	sqlite.AuthCreateTable: "CREATE TABLE", sqlite.AuthDropTable: "DROP TABLE",
}

// judge answers SQLite. Nothing of a script begins or ends a transaction, reaches another file or changes how the
// connection works.
func (p *policy) judge(action sqlite.AuthorizerActionCode, first, second, _, _ string) sqlite.AuthorizerReturnCode {
	if !p.script {
		return sqlite.AuthorizerOK
	}
	switch action {
	case sqlite.AuthSelect, sqlite.AuthRead, sqlite.AuthRecursive:
		return sqlite.AuthorizerOK
	case sqlite.AuthFunction:
		if !strings.EqualFold(second, "load_extension") {
			return sqlite.AuthorizerOK
		}
		return p.deny("load_extension")
	case sqlite.AuthPragma:
		name := strings.ToLower(first)
		if slices.Contains(readPragmas, name) || slices.Contains(valuePragmas, name) && second == "" {
			return sqlite.AuthorizerOK
		}
		if p.mode == changing && slices.Contains(writtenPragmas, name) {
			return sqlite.AuthorizerOK
		}
		return p.deny("PRAGMA " + name)
	case sqlite.AuthTransaction:
		return p.deny(first) // BEGIN, COMMIT or ROLLBACK
	}
	if p.mode == changing {
		return p.judgeChange(action, first, second)
	}
	return p.deny(actions[action])
}

// judgeChange allows a statement of a mutation to change the file, except the table of calls. Temporary tables are
// refused: they would stay on the connection.
func (p *policy) judgeChange(action sqlite.AuthorizerActionCode, first, second string) sqlite.AuthorizerReturnCode {
	table := first
	switch action {
	case sqlite.AuthInsert, sqlite.AuthUpdate, sqlite.AuthDelete, sqlite.AuthCreateTable, sqlite.AuthDropTable,
		sqlite.AuthAnalyze, sqlite.AuthCreateView, sqlite.AuthDropView, sqlite.AuthReindex, sqlite.AuthDropVTable:
	case sqlite.AuthAlterTable, sqlite.AuthCreateIndex, sqlite.AuthDropIndex, sqlite.AuthCreateTrigger,
		sqlite.AuthDropTrigger:
		table = second
	case sqlite.AuthCreateVTable:
		if !slices.Contains(modules, strings.ToLower(second)) {
			return p.deny("CREATE VIRTUAL TABLE with the module " + second)
		}
	default:
		return p.deny(actions[action])
	}
	if strings.EqualFold(table, p.table) {
		p.calls = true
		return p.deny(actions[action])
	}
	return sqlite.AuthorizerOK
}

// deny notes the first action that was denied. It uses the first word of the statement as the name of the action,
// unless that word is vague.
func (p *policy) deny(what string) sqlite.AuthorizerReturnCode {
	if p.denied != "" {
		return sqlite.AuthorizerDeny
	}
	p.denied = cmp.Or(what, "it")
	if len(p.first) > 0 && !slices.Contains(vague, p.first[0]) {
		p.denied = p.first[0]
	}
	return sqlite.AuthorizerDeny
}

// vague are the first words of statements that may do different things.
var vague = []string{"(", "EXPLAIN", "PRAGMA", "SELECT", "VALUES", "WITH"}

// refused is the failure of the statement that was denied something; nil if none was.
func (p *policy) refused() *eventlog.Failure {
	if p.denied == "" {
		return nil
	}
	switch {
	case p.calls:
		return refuse("refused", "the statement changes %s, the table in which Pawl notes what it has done: scripts do not "+
			"change it", p.table)
	case p.mode == changing:
		return refuse("refused", "sql.exec cannot run %s: a call is one transaction in one file, which Pawl begins and ends",
			p.denied)
	}
	return refuse("refused", "sql.query only reads, and cannot run %s", p.denied)
}
