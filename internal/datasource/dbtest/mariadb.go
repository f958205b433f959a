package dbtest

import (
	"context"
	"net/url"
	"strings"
	"sync"
)

// A maria is a MariaDB server.
type maria struct {
	*server
	client, dumper string
}

// mariaServer starts the process's server, once.
var mariaServer = sync.OnceValues(startMaria) //nolint:gochecknoglobals // one server a process

func startMaria() (engine, error) {
	var paths []string
	for _, program := range []string{"mariadb-install-db", "mariadbd", "mariadb", "mariadb-dump"} {
		path, err := find(program, "/usr/sbin", "/usr/libexec", "/usr/local/mysql/bin")
		if err != nil {
			return nil, err
		}
		paths = append(paths, path)
	}
	s, err := newServer("mariadb")
	if err != nil {
		return nil, err
	}
	ctx := context.Background()
	data := "--datadir=" + s.path("data")
	if _, err := s.run(ctx, "", paths[0], "--no-defaults", data, "--auth-root-authentication-method=normal", "--skip-test-db"); err != nil {
		return nil, err
	}
	m := &maria{server: s, client: paths[2], dumper: paths[3]}
	ready := func(ctx context.Context) error {
		_, err := m.sql(ctx, "root", "mysql", "SELECT 1")
		return err
	}
	err = s.start(ready, paths[1], "--no-defaults", data, "--socket="+m.socket(), "--skip-networking", "--pid-file="+s.path("pid"),
		"--tmpdir="+s.dir, "--character-set-server=utf8mb4", "--default-time-zone=+00:00", "--innodb-flush-log-at-trx-commit=0",
		"--innodb-buffer-pool-size=32M", "--innodb-log-file-size=16M", "--max-connections=200", "--skip-log-bin", "--local-infile=1")
	if err != nil {
		return nil, err
	}
	_, err = m.sql(ctx, "root", "mysql", `CREATE USER writer@localhost; CREATE USER reader@localhost`)
	return m, err
}

func (m *maria) socket() string { return m.path("socket") }

// sql runs a text as a user, without asking the product's driver.
func (m *maria) sql(ctx context.Context, user, database, text string) (string, error) {
	return m.run(ctx, text, m.client, "--no-defaults", "--socket="+m.socket(), "--user="+user, "--default-character-set=utf8mb4", "--batch", "--skip-column-names", database)
}

func (m *maria) address(user, database string) string {
	u := url.URL{Scheme: "mysql", User: url.User(user), Path: "/" + database, RawQuery: url.Values{"socket": {m.socket()}}.Encode()}
	return u.String()
}

func (m *maria) create(ctx context.Context, name, ddl string) (Database, error) {
	_, err := m.sql(ctx, "root", "mysql", `CREATE DATABASE `+name+`;
GRANT ALL ON `+name+`.* TO writer@localhost; GRANT SELECT, SHOW VIEW ON `+name+`.* TO reader@localhost`)
	if err != nil {
		return Database{}, err
	}
	_, err = m.sql(ctx, "writer", name, ddl)
	return Database{Writer: m.address("writer", name), Reader: m.address("reader", name), Admin: m.address("root", name)}, err
}

func (m *maria) drop(ctx context.Context, name string) error {
	_, err := m.sql(ctx, "root", "mysql", `DROP DATABASE IF EXISTS `+name+`;
REVOKE ALL ON `+name+`.* FROM writer@localhost; REVOKE ALL ON `+name+`.* FROM reader@localhost`)
	return err
}

func (m *maria) admin(ctx context.Context, name, text string) (string, error) {
	return m.sql(ctx, "root", name, text)
}

func (m *maria) dump(ctx context.Context, name string) (string, error) {
	database, err := m.run(ctx, "", m.dumper, "--no-defaults", "--socket="+m.socket(), "--user=root",
		"--databases", name, "--skip-dump-date", "--skip-extended-insert", "--routines", "--events", "--triggers", "--hex-blob",
		"--skip-lock-tables", "--force")
	if err != nil && !strings.Contains(database, "-- Dump completed") { // a view whose table is gone is an error, but not the end
		return "", err
	}
	accounts, err := m.sql(ctx, "root", "mysql", `SELECT * FROM global_priv ORDER BY 1, 2; SELECT * FROM db ORDER BY 1, 2, 3;
SELECT * FROM tables_priv; SHOW DATABASES; SELECT VARIABLE_NAME, VARIABLE_VALUE FROM information_schema.GLOBAL_VARIABLES
WHERE VARIABLE_NAME IN ('READ_ONLY', 'SQL_MODE', 'MAX_CONNECTIONS', 'GENERAL_LOG', 'EVENT_SCHEDULER', 'LOCAL_INFILE')`)
	return database + accounts, err
}
