package sqlcall

import (
	"errors"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/pawl-run/pawl/engine/connector"
	"github.com/pawl-run/pawl/eventlog"
)

// failure is what the server has answered, by its SQLSTATE.
func (p *postgres) failure(mode mode, err error) *eventlog.Failure {
	var tooLong *pgproto3.ExceededMaxBodyLenErr
	if errors.As(err, &tooLong) {
		return tooBig()
	}
	var said *pgconn.PgError
	if !errors.As(err, &said) {
		return nil
	}
	text := said.Message
	for _, more := range []string{said.Detail, said.Hint} {
		if more != "" {
			text += "; " + more
		}
	}
	if mode == reading && said.Code == "25006" {
		text += "; sql.query only reads"
	}
	return connector.Failf(postgresClass(mode, said.Code), "sql."+said.Code, "%s (SQLSTATE %s)", text, said.Code)
}

// postgresClass is the class of a failure by its SQLSTATE.
func postgresClass(mode mode, state string) eventlog.Class {
	switch state {
	case "42501": // insufficient_privilege
		return eventlog.Permission
	case "3D000": // invalid_catalog_name: there is no such database
		return eventlog.Precondition
	case "08P01": // protocol_violation: too many or too few values
		return eventlog.Logic
	case "25006": // read_only_sql_transaction: the script's fault, or a server that has become a standby
		if mode == reading {
			return eventlog.Logic
		}
		return eventlog.Transient
	case "25P03": // idle_in_transaction_session_timeout
		return eventlog.Transient
	case "55P03": // lock_not_available
		return eventlog.Transient
	}
	if len(state) != 5 {
		return eventlog.Internal
	}
	switch state[:2] {
	case "28": // invalid_authorization_specification
		return eventlog.Auth
	case "08", // connection_exception
		"40", // transaction_rollback: a serialization failure, a deadlock
		"53", // insufficient_resources
		"57", // operator_intervention: a shutdown, a timeout
		"58": // system_error
		return eventlog.Transient
	case "F0", "XX": // config_file_error, internal_error
		return eventlog.Internal
	}
	return eventlog.Logic
}
