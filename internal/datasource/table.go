package datasource

// A Table describes a table or view.
type Table struct {
	Name        string
	View        bool
	Comment     string
	Rows        int64 // -1: not known, since counting would take long
	Approximate bool  // Rows is the database's estimate
	Fields      []Field
	ForeignKeys []ForeignKey
	Indexes     []Index
}

// A Field is a column of a table.
type Field struct {
	Name     string
	Type     string // as declared; may be empty
	Comment  string
	Nullable bool
	Key      bool   // part of the primary key
	Default  string // an SQL expression; empty: none
}

// A ForeignKey is a reference from Columns to References of another table.
type ForeignKey struct {
	Columns    []string
	Table      string
	References []string // empty: the primary key
	OnDelete   string   // upper case, for example "CASCADE" or "NO ACTION"
}

// An Index is an index of a table.
type Index struct {
	Name    string
	Columns []string // an expression is "(expression)"
	Unique  bool
}
