package sqlguard

import (
	"strings"

	pgquery "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/proto"
)

// pgAlters has what changes definitions.
func pgAlters(m proto.Message) (pgRule, bool) {
	r := pgRule{effect: Destroys, code: codeAlters}
	switch s := m.(type) {
	case *pgquery.AlterTableStmt:
		return pgAlterTable(s), true
	case *pgquery.RenameStmt:
		r.verb, r.name = "ALTER "+pgObject(s.RenameType), s.Subname
		if s.RenameType == pgquery.ObjectType_OBJECT_COLUMN || s.RenameType == pgquery.ObjectType_OBJECT_TABCONSTRAINT {
			r.verb = "ALTER " + pgObject(s.RelationType)
			if s.RenameType == pgquery.ObjectType_OBJECT_TABCONSTRAINT {
				r.verb = "ALTER TABLE"
			}
		}
		pgAlterObject(&r, s.RenameType, s.Relation, s.Object)
	case *pgquery.AlterObjectSchemaStmt:
		r.verb = "ALTER " + pgObject(s.ObjectType)
		pgAlterObject(&r, s.ObjectType, s.Relation, s.Object)
	case *pgquery.AlterOwnerStmt:
		return pgRule{verb: "ALTER " + pgObject(s.ObjectType), effect: Administers, code: codeOwner, closed: true}, true
	case *pgquery.AlterSeqStmt:
		r.verb, r.tables = "ALTER SEQUENCE", []*pgquery.RangeVar{s.Sequence}
	case *pgquery.AlterEnumStmt:
		r.verb, r.name = "ALTER TYPE", strings.Join(pgNames(s.TypeName), ".")
	case *pgquery.AlterDomainStmt:
		r.verb, r.name = "ALTER DOMAIN", strings.Join(pgNames(s.TypeName), ".")
	case *pgquery.AlterTypeStmt:
		r.verb, r.name = "ALTER TYPE", strings.Join(pgNames(s.TypeName), ".")
	case *pgquery.AlterFunctionStmt:
		r.verb, r.name = "ALTER FUNCTION", strings.Join(pgNames(s.Func.GetObjname()), ".")
	case *pgquery.AlterPolicyStmt:
		r.verb, r.name, r.tables = "ALTER POLICY", s.PolicyName, []*pgquery.RangeVar{s.Table}
	case *pgquery.AlterStatsStmt:
		r.verb, r.name = "ALTER STATISTICS", strings.Join(pgNames(s.Defnames), ".")
	case *pgquery.AlterCollationStmt:
		r.verb, r.name = "ALTER COLLATION", strings.Join(pgNames(s.Collname), ".")
	default:
		return pgRule{}, false
	}
	return r, true
}

// pgAlterObject completes the rule of a statement that renames or moves.
func pgAlterObject(r *pgRule, t pgquery.ObjectType, table *pgquery.RangeVar, object *pgquery.Node) {
	r.closed = true
	if !pgOrdinary(t) && t != pgquery.ObjectType_OBJECT_SCHEMA {
		r.effect, r.code, r.name = Administers, codeAdministers, r.verb
		return
	}
	if table != nil {
		r.tables, r.name = []*pgquery.RangeVar{table}, ""
	} else if object != nil {
		r.name = strings.Join(objectNames([]*pgquery.Node{object}), ".")
	}
}

// pgAlterTable judges ALTER TABLE by its parts. Who owns a table, and on which
// disk it lies, is the administrator's.
func pgAlterTable(s *pgquery.AlterTableStmt) pgRule {
	r := pgRule{
		verb: "ALTER " + pgObject(s.Objtype), effect: Destroys, code: codeAlters,
		tables: []*pgquery.RangeVar{s.Relation},
	}
	if !pgOrdinary(s.Objtype) {
		r.effect, r.code, r.name = Administers, codeAdministers, r.verb
	}
	for _, n := range s.Cmds {
		switch n.GetAlterTableCmd().GetSubtype() { //nolint:exhaustive // all others are as judged above
		case pgquery.AlterTableType_AT_ChangeOwner, pgquery.AlterTableType_AT_SetTableSpace,
			pgquery.AlterTableType_AT_GenericOptions, pgquery.AlterTableType_AT_AlterColumnGenericOptions:
			r.effect, r.code, r.name = Administers, codeOwner, ""
		}
	}
	return r
}

// pgSession has what belongs to the connection, which several calls share.
func pgSession(m proto.Message) (pgRule, bool) {
	r := pgRule{effect: Administers, code: codeSession, closed: true}
	switch s := m.(type) {
	case *pgquery.TransactionStmt:
		r.verb, r.code = pgTransaction(s.Kind), codeTransaction
	case *pgquery.VariableSetStmt:
		return pgSet(s), true
	case *pgquery.DiscardStmt:
		r.verb = "DISCARD"
	case *pgquery.LockStmt:
		r.verb, r.code = "LOCK", codeLockTable
	case *pgquery.ListenStmt:
		r.verb = "LISTEN"
	case *pgquery.UnlistenStmt:
		r.verb = "UNLISTEN"
	case *pgquery.NotifyStmt:
		r.verb = "NOTIFY"
	case *pgquery.DeclareCursorStmt:
		r.verb, r.code = "DECLARE", codeCursor
	case *pgquery.FetchStmt:
		r.verb, r.code = "FETCH", codeCursor
	case *pgquery.ClosePortalStmt:
		r.verb, r.code = "CLOSE", codeCursor
	case *pgquery.DeallocateStmt:
		r.verb = "DEALLOCATE"
	case *pgquery.ConstraintsSetStmt:
		r.verb = "SET CONSTRAINTS"
	case *pgquery.DoStmt:
		r.verb, r.code = "DO", codeOpaque
	case *pgquery.ExecuteStmt:
		r.verb, r.code = "EXECUTE", codeOpaque
	default:
		return pgRule{}, false
	}
	r.name = r.verb
	return r, true
}

func pgTransaction(k pgquery.TransactionStmtKind) string {
	return strings.ReplaceAll(strings.TrimPrefix(k.String(), "TRANS_STMT_"), "_", " ")
}

// pgSet judges SET and RESET, and says what to do instead.
func pgSet(s *pgquery.VariableSetStmt) pgRule {
	r := pgRule{verb: "SET", effect: Administers, code: codeSession, name: s.Name, closed: true}
	switch s.Kind { //nolint:exhaustive // all others are SET
	case pgquery.VariableSetKind_VAR_RESET, pgquery.VariableSetKind_VAR_RESET_ALL:
		r.verb = "RESET"
	}
	switch strings.ToLower(s.Name) {
	case "":
		r.name = "RESET ALL"
	case "timezone":
		r.code = codeTimeZone
	case "role", "session_authorization":
		r.code, r.name = codeAccounts, r.verb
	case "transaction", "session characteristics", "transaction snapshot":
		r.code = codeTransaction
	case "search_path":
		r.code = codeSearchPath
	}
	return r
}

// pgAccounts has what is about accounts and privileges.
func pgAccounts(m proto.Message) (pgRule, bool) {
	r := pgRule{effect: Administers, code: codeAccounts, closed: true}
	switch s := m.(type) {
	case *pgquery.GrantStmt:
		r.verb = grantVerb(s.IsGrant)
	case *pgquery.GrantRoleStmt:
		r.verb = grantVerb(s.IsGrant)
	case *pgquery.AlterDefaultPrivilegesStmt:
		r.verb = "ALTER DEFAULT PRIVILEGES"
	case *pgquery.CreateRoleStmt:
		r.verb = "CREATE ROLE"
	case *pgquery.AlterRoleStmt, *pgquery.AlterRoleSetStmt:
		r.verb = "ALTER ROLE"
	case *pgquery.DropRoleStmt:
		r.verb = "DROP ROLE"
	case *pgquery.SecLabelStmt:
		r.verb = "SECURITY LABEL"
	case *pgquery.DropOwnedStmt:
		r.verb = "DROP OWNED"
	case *pgquery.ReassignOwnedStmt:
		r.verb = "REASSIGN OWNED"
	case *pgquery.CreateUserMappingStmt, *pgquery.AlterUserMappingStmt, *pgquery.DropUserMappingStmt:
		r.verb = "USER MAPPING"
	default:
		return pgRule{}, false
	}
	r.name = r.verb
	return r, true
}

func grantVerb(grants bool) string {
	if grants {
		return "GRANT"
	}
	return "REVOKE"
}

// pgOutside has what reaches beyond the database: the server, its files and
// programs, and other servers.
func pgOutside(m proto.Message) (pgRule, bool) {
	r := pgRule{effect: Administers, code: codeAdministers, closed: true}
	switch s := m.(type) {
	case *pgquery.AlterSystemStmt:
		r.verb = "ALTER SYSTEM"
	case *pgquery.AlterDatabaseStmt, *pgquery.AlterDatabaseSetStmt, *pgquery.AlterDatabaseRefreshCollStmt:
		r.verb = "ALTER DATABASE"
	case *pgquery.CheckPointStmt:
		r.verb = "CHECKPOINT"
	case *pgquery.LoadStmt:
		r.verb, r.code = "LOAD", codeNative
	case *pgquery.CreateExtensionStmt, *pgquery.AlterExtensionStmt, *pgquery.AlterExtensionContentsStmt:
		r.verb, r.code = "EXTENSION", codeNative
	case *pgquery.CreatePLangStmt:
		r.verb, r.code = "CREATE LANGUAGE", codeNative
	case *pgquery.CreateForeignTableStmt:
		r.verb, r.code = "CREATE FOREIGN TABLE", codeForeign
		r.tables = []*pgquery.RangeVar{s.BaseStmt.GetRelation()}
	case *pgquery.CreateFdwStmt, *pgquery.AlterFdwStmt, *pgquery.CreateForeignServerStmt,
		*pgquery.AlterForeignServerStmt, *pgquery.ImportForeignSchemaStmt:
		r.verb, r.code = "FOREIGN DATA", codeForeign
	case *pgquery.CreatePublicationStmt, *pgquery.AlterPublicationStmt,
		*pgquery.CreateSubscriptionStmt, *pgquery.AlterSubscriptionStmt, *pgquery.DropSubscriptionStmt:
		r.verb, r.code = "REPLICATION", codeForeign
	case *pgquery.CreateTableSpaceStmt, *pgquery.DropTableSpaceStmt,
		*pgquery.AlterTableSpaceOptionsStmt, *pgquery.AlterTableMoveAllStmt:
		r.verb, r.code = "TABLESPACE", codeFile
	case *pgquery.CreateEventTrigStmt, *pgquery.AlterEventTrigStmt:
		r.verb = "EVENT TRIGGER"
	default:
		return pgRule{}, false
	}
	r.name = r.verb
	return r, true
}
