// Package tools has the agent's tools. Each has a file of its own.
//
// A tool decides nothing about permissions: the gate does. It reaches data
// through the package datasource only, which holds the database to what a
// statement was judged to do.
package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"example.com/datamind/internal/agent"
	"example.com/datamind/internal/datasource"
)

var (
	_ agent.Tool      = ListTables{}
	_ agent.Tool      = DescribeTable{}
	_ agent.Tool      = QuerySQL{}
	_ agent.Previewer = QuerySQL{}
)

// sourceOf returns the data source of the session in which a tool is used.
func sourceOf(sources *datasource.Set, u agent.Use) (datasource.Source, error) {
	source, ok := sources.Get(u.Session.Source)
	if !ok {
		return nil, fmt.Errorf("there is no data source %q", u.Session.Source)
	}
	return source, nil
}

// plain puts an error of a data source into words for the model.
func plain(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, datasource.ErrImpactChanged):
		return agent.ErrAskAgain
	case errors.Is(err, context.Canceled):
		return agent.Wrap(agent.CodeStopped, err, "the query was stopped")
	}
	return err
}

// encode writes v as JSON and leaves <, > and & as they are: the model reads it,
// and pages escape what they show.
func encode(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
