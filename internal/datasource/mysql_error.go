package datasource

import (
	"errors"
	"fmt"
	"net"
	"strconv"

	"github.com/go-sql-driver/mysql"
)

// mysqlError puts the server's error into words that help who wrote the
// statement. An error that is none of the server's stays as it is.
func mysqlError(err error) error {
	var e *mysql.MySQLError
	var op *net.OpError
	switch {
	case err == nil, errors.Is(err, ErrRefused), errors.Is(err, ErrImpactChanged):
		return err
	case errors.As(err, &e):
	case errors.As(err, &op):
		return fmt.Errorf("the database cannot be reached: %s", oneLine(op))
	default:
		return err
	}
	switch e.Number {
	case 1969, 3024: // the time limit, of MariaDB and of MySQL
		return fmt.Errorf("%w: the database stopped it; ask for less", ErrTimeout)
	case 1205, 1213: // lock wait timeout, deadlock
		return ErrBusy
	case 1792, 1142, 1143, 1044, 1227, 1290, 1370: // read-only transaction; privileges
		return fmt.Errorf("%w (%s)", ErrRefused, e.Message)
	}
	return &serverError{text: e.Message, code: strconv.Itoa(int(e.Number))}
}
