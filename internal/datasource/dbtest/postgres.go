package dbtest

import (
	"context"
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"sync"
)

// A postgres is a PostgreSQL server.
type postgres struct {
	*server
	psql, dumper, globals string

	mu        sync.Mutex
	templates map[string]string // by what makes what is in them
}

// postgresServer starts the process's server, once.
var postgresServer = sync.OnceValues(startPostgres) //nolint:gochecknoglobals // one server a process

// postgresBin is where Debian keeps the programs of each version.
const postgresBin = "/usr/lib/postgresql/*/bin"

func startPostgres() (engine, error) {
	path, err := find("postgres", postgresBin)
	if err != nil {
		return nil, err
	}
	// The others lie beside it. Those of the same names that the path leads to may
	// be Debian's scripts, which look for these every time.
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return nil, err
	}
	paths := []string{filepath.Join(filepath.Dir(path), "initdb"), path}
	for _, program := range []string{"psql", "pg_dump", "pg_dumpall"} {
		paths = append(paths, filepath.Join(filepath.Dir(path), program))
	}
	s, err := newServer("postgres")
	if err != nil {
		return nil, err
	}
	ctx := context.Background()
	data := s.path("data")
	if _, err := s.run(ctx, "", paths[0], "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync"); err != nil {
		return nil, err
	}
	p := &postgres{server: s, psql: paths[2], dumper: paths[3], globals: paths[4], templates: map[string]string{}}
	ready := func(ctx context.Context) error {
		_, err := p.sql(ctx, "postgres", "postgres", "SELECT 1")
		return err
	}
	err = s.start(ready, paths[1], "-D", data, "-k", s.dir, "-c", "listen_addresses=", "-c", "fsync=off",
		"-c", "max_connections=200", "-c", "shared_buffers=32MB", "-c", "autovacuum=off", "-c", "timezone=UTC")
	if err != nil {
		return nil, err
	}
	_, err = p.sql(ctx, "postgres", "postgres", `CREATE ROLE writer LOGIN; CREATE ROLE reader LOGIN`)
	return p, err
}

// sql runs a text as a user, without asking the product's driver.
func (p *postgres) sql(ctx context.Context, user, database, text string) (string, error) {
	return p.run(ctx, text, p.psql, "-X", "-q", "-A", "-t", "-F", "\t", "-v", "ON_ERROR_STOP=1", "-h", p.dir, "-U", user, "-d", database, "-f", "-")
}

func (p *postgres) address(user, database string) string {
	u := url.URL{Scheme: "postgres", User: url.User(user), Path: "/" + database, RawQuery: url.Values{"host": {p.dir}}.Encode()}
	return u.String()
}

// create copies a database that was made the same way before: that takes one
// command instead of three.
func (p *postgres) create(ctx context.Context, name, ddl string) (Database, error) {
	template, err := p.template(ctx, ddl)
	if err != nil {
		return Database{}, err
	}
	_, err = p.sql(ctx, "postgres", "postgres", `CREATE DATABASE `+name+` OWNER writer TEMPLATE `+template+`; REVOKE TEMPORARY ON DATABASE `+name+` FROM PUBLIC`)
	return Database{Writer: p.address("writer", name), Reader: p.address("reader", name), Admin: p.address("postgres", name)}, err
}

// template returns the name of a database that nobody connects to any more.
func (p *postgres) template(ctx context.Context, ddl string) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if name := p.templates[ddl]; name != "" {
		return name, nil
	}
	name := fmt.Sprintf("template_%d", len(p.templates))
	if _, err := p.sql(ctx, "postgres", "postgres", `CREATE DATABASE `+name+` OWNER writer`); err != nil {
		return "", err
	}
	if _, err := p.sql(ctx, "writer", name, ddl); err != nil {
		return "", err
	}
	_, err := p.sql(ctx, "postgres", name, `
DO $$ DECLARE s name; BEGIN
	FOR s IN SELECT nspname FROM pg_namespace WHERE nspname !~ '^pg_' AND nspname <> 'information_schema' LOOP
		EXECUTE format('GRANT USAGE ON SCHEMA %I TO reader', s);
		EXECUTE format('GRANT SELECT ON ALL TABLES IN SCHEMA %I TO reader', s);
	END LOOP;
END $$;
ALTER DEFAULT PRIVILEGES FOR ROLE writer GRANT SELECT ON TABLES TO reader`)
	if err != nil {
		return "", err
	}
	p.templates[ddl] = name
	return name, nil
}

func (p *postgres) drop(ctx context.Context, name string) error {
	_, err := p.sql(ctx, "postgres", "postgres", `DROP DATABASE IF EXISTS `+name+` WITH (FORCE)`)
	return err
}

func (p *postgres) admin(ctx context.Context, name, text string) (string, error) {
	return p.sql(ctx, "postgres", name, text)
}

// restrict is a word that newer versions of pg_dump draw anew for each dump.
var restrict = regexp.MustCompile(`(?m)^\\(un)?restrict .*$`)

func (p *postgres) dump(ctx context.Context, name string) (string, error) {
	database, err := p.run(ctx, "", p.dumper, "-h", p.dir, "-U", "postgres", "-d", name, "--create", "--inserts")
	if err != nil {
		return "", err
	}
	globals, err := p.run(ctx, "", p.globals, "-h", p.dir, "-U", "postgres", "--globals-only")
	return restrict.ReplaceAllString(database+globals, ""), err
}
