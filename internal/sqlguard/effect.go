package sqlguard

// An Effect is how far a statement's consequences reach. Larger is worse, so
// that the effect of a text is the maximum over its statements.
type Effect uint8

// The effects, in order. What a rule makes of them is [Effect.Ruling].
const (
	Reads       Effect = iota // SELECT, WITH … SELECT, EXPLAIN, SHOW
	Adds                      // INSERT, CREATE
	Changes                   // UPDATE, DELETE, MERGE, REPLACE, upserts, CALL
	Destroys                  // DROP TABLE, TRUNCATE, ALTER, stored code
	DestroysAll               // DROP DATABASE, DROP SCHEMA
	Administers               // GRANT, ATTACH, PRAGMA, COPY … PROGRAM, SET
	Unknown                   // does not parse, is not listed, hides something
)

// String returns the effect's public name, as `datamind check` prints it:
// reads, adds, changes, destroys, destroys_all, administers, unknown.
func (e Effect) String() string {
	switch e {
	case Reads:
		return "reads"
	case Adds:
		return "adds"
	case Changes:
		return "changes"
	case Destroys:
		return "destroys"
	case DestroysAll:
		return "destroys_all"
	case Administers:
		return "administers"
	case Unknown:
	}
	return "unknown"
}

// The rulings.
const (
	Allow = "allow"
	Ask   = "ask"
	Deny  = "deny"
)

// Ruling returns what follows from an effect: "allow", "ask" or "deny". This is
// the one table of it. What removes or overwrites is asked about, since a
// person can read it; what leaves the statement's own database or transaction,
// or cannot be read, is denied, since asking a person about what neither can
// judge is no protection.
func (e Effect) Ruling() string {
	switch e {
	case Reads, Adds:
		return Allow
	case Changes, Destroys:
		return Ask
	case DestroysAll, Administers, Unknown:
	}
	return Deny
}
