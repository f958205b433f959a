package datasource

import (
	"context"
	"errors"
)

func openMySQLSource(context.Context, string, Accounts) (Source, error) {
	return nil, errors.New("not yet")
}
