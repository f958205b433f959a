package datasource

import (
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// postgresError puts the server's error into words that help who wrote the
// statement. An error that is none of the server's stays as it is.
func postgresError(err error) error {
	var refused *pgconn.ConnectError
	var e *pgconn.PgError
	switch {
	case err == nil, errors.Is(err, ErrRefused), errors.Is(err, ErrImpactChanged):
		return err
	case errors.As(err, &e):
	case errors.As(err, &refused): // its text names the account and the host
		return fmt.Errorf("the database cannot be reached: %s", oneLine(refused.Unwrap()))
	default:
		return err
	}
	switch e.Code {
	case "57014": // query_canceled
		if strings.Contains(e.Message, "statement timeout") {
			return fmt.Errorf("%w: the database stopped it; ask for less", ErrTimeout)
		}
	case "55P03": // lock_not_available
		return ErrBusy
	case "25006", "42501": // read_only_sql_transaction, insufficient_privilege
		return fmt.Errorf("%w (%s)", ErrRefused, e.Message)
	case "40001", "40P01": // serialization_failure, deadlock_detected
		return fmt.Errorf("%w (%s)", ErrBusy, e.Message)
	case "28P01", "28000", "3D000":
		return errors.New(e.Message)
	}
	text := e.Message
	if e.Detail != "" {
		text += ": " + e.Detail
	}
	if e.Hint != "" {
		text += " (" + e.Hint + ")"
	}
	return &serverError{text: text, code: e.Code}
}

// A serverError is an error of a server, in its own words.
type serverError struct{ text, code string }

func (e *serverError) Error() string { return e.text }

// oneLine returns an error's text without line breaks.
func oneLine(err error) string {
	if err == nil {
		return "no reason is given"
	}
	return strings.Join(strings.Fields(err.Error()), " ")
}
