package audit

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// secret stands for the secret in the tables below. The forms that have a
// fixed shape are put together from parts, so that no scanner mistakes this
// file for a leak.
const secret = "S3cr3t-x9"

func jwt() string {
	return "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0NTY3ODkwIn0." + "dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"
}

// TestSecretsAreRedacted: what the second column finds in the result has leaked.
func TestSecretsAreRedacted(t *testing.T) {
	aws, gh, key := "AKIA"+"IOSFODNN7EXAMPLE", "ghp_"+strings.Repeat("a1B2", 9), "sk-"+"proj-"+strings.Repeat("Ab3", 12)
	slack, google := "xoxb-"+"1234567890-abcdefghij", "AIza"+strings.Repeat("aB3_x", 7)
	pem := "-----BEGIN RSA PRIVATE" + ` KEY-----\nMIIEpAIBAAKCAQEA\n-----END RSA PRIVATE` + " KEY-----"
	tests := []struct{ name, in, leak string }{
		{"member", `{"password":"S3cr3t-x9"}`, secret},
		{"snake", `{"db_password":"S3cr3t-x9"}`, secret},
		{"camel", `{"clientSecret":"S3cr3t-x9"}`, secret},
		{"kebab", `{"x-api-key":"S3cr3t-x9"}`, secret},
		{"upper", `{"DB_PASS":"S3cr3t-x9"}`, secret},
		{"acronym", `{"APIKey":"S3cr3t-x9"}`, secret},
		{"digits", `{"password2":"S3cr3t-x9"}`, secret},
		{"Chinese", `{"登录密码":"S3cr3t-x9"}`, secret},
		{"Chinese token", `{"访问令牌":"S3cr3t-x9"}`, secret},
		{"number", `{"pin":918273}`, "918273"},
		{"object", `{"credentials":{"a":"S3cr3t-x9"}}`, secret},
		{"list", `{"passwords":["S3cr3t-x9","b"]}`, secret},
		{"deep", `{"a":[{"b":{"access_token":"S3cr3t-x9"}}]}`, secret},
		{"result", `{"columns":[{"name":"id","type":"INTEGER"},{"name":"api_key","type":"TEXT"}],"rows":[[1,"S3cr3t-x9"]]}`, secret},
		{"result, names only", `{"columns":["id","password"],"rows":[[1,null],[2,"S3cr3t-x9"]]}`, secret},
		{"result in a string", `{"text":"{\"columns\":[\"密码\"],\"rows\":[[\"S3cr3t-x9\"]]}"}`, secret},
		{"header pair", `{"headers":[["Authorization","S3cr3t-x9"]]}`, secret},
		{"header object", `[{"name":"X-Api-Key","value":"S3cr3t-x9"}]`, secret},
		{"header object, key", `[{"key":"password","value":"S3cr3t-x9"}]`, secret},
		{"argv", `{"argv":["tool","--password","S3cr3t-x9"]}`, secret},
		{"argv =", `{"argv":["tool","--password=S3cr3t-x9"]}`, secret},
		{"argv curl", `["curl","-u","bob:S3cr3t-x9","https://h"]`, secret},
		{"argv mysql", `["/usr/bin/mysql","-u","root","-pS3cr3t-x9"]`, secret},
		{"shell flag", `{"command":"tool --api-key S3cr3t-x9 run"}`, secret},
		{"shell mysql", `{"command":"mysql -u root -pS3cr3t-x9 shop"}`, secret},
		{"shell curl", `{"command":"curl -s -u bob:S3cr3t-x9 https://h"}`, secret},
		{"shell env", `{"command":"DB_PASS=S3cr3t-x9 ./run"}`, secret},
		{"JSON in a string", `{"body":"{\"password\":\"S3cr3t-x9\"}"}`, secret},
		{"JSON in JSON in a string", `{"body":"{\"a\":\"{\\\"password\\\":\\\"S3cr3t-x9\\\"}\"}"}`, secret},
		{"broken JSON in a string", `{"body":"{\"password\":\"S3cr3t-x9\",}"}`, secret},
		{"broken JSON in a string, escaped", `{"body":"log: {\\\"password\\\":\\\"S3cr3t-x9\\\"}"}`, secret},
		{"UPDATE", `{"sql":"UPDATE users SET password = 'S3cr3t-x9' WHERE id = 1"}`, secret},
		{"UPDATE quoted name", `{"sql":"UPDATE users SET \"api_key\"='S3cr3t-x9'"}`, secret},
		{"UPDATE backticks", "{\"sql\":\"UPDATE users SET `password`='S3cr3t-x9'\"}", secret},
		{"UPDATE double quotes", `{"sql":"UPDATE users SET password = \"S3cr3t-x9\""}`, secret},
		{"UPDATE function", `{"sql":"UPDATE users SET password = crypt('S3cr3t-x9', gen_salt('bf')), name='bob'"}`, secret},
		{"UPDATE CASE", `{"sql":"UPDATE u SET password = CASE WHEN id=1 THEN 'S3cr3t-x9' ELSE 'x' END"}`, secret},
		{"UPDATE concatenation", `{"sql":"UPDATE u SET token = 'S3' || 'S3cr3t-x9'"}`, secret},
		{"UPDATE after a backslash", `{"sql":"UPDATE u SET dir = 'C:\\', password = 'S3cr3t-x9'"}`, secret},
		{"UPDATE with doubled quotes", `{"sql":"UPDATE u SET password = 'it''S3cr3t-x9'"}`, secret},
		{"UPDATE Chinese", `{"sql":"UPDATE 用户 SET 密码 = 'S3cr3t-x9' WHERE 编号 = 1"}`, secret},
		{"UPDATE qualified", `{"sql":"UPDATE u SET u.password='S3cr3t-x9'"}`, secret},
		{"UPDATE number", `{"sql":"UPDATE u SET pin_code = 918273"}`, "918273"},
		{"WHERE", `{"sql":"SELECT * FROM users WHERE name='bob' AND password='S3cr3t-x9'"}`, secret},
		{"WHERE IN", `{"sql":"SELECT * FROM t WHERE token IN ('a','S3cr3t-x9')"}`, secret},
		{"WHERE LIKE", `{"sql":"SELECT * FROM t WHERE api_key LIKE 'S3cr3t-x9%'"}`, secret},
		{"WHERE NOT", `{"sql":"SELECT * FROM t WHERE password <> 'S3cr3t-x9'"}`, secret},
		{"WHERE function", `{"sql":"SELECT * FROM t WHERE lower(password) = 'S3cr3t-x9'"}`, secret},
		{"INSERT", `{"sql":"INSERT INTO users (name, password, age) VALUES ('bob', 'S3cr3t-x9', 3)"}`, secret},
		{"INSERT many rows", `{"sql":"INSERT INTO users(name,password) VALUES ('a','b'),('c','S3cr3t-x9')"}`, secret},
		{"INSERT function", `{"sql":"INSERT INTO users(password) VALUES (md5('S3cr3t-x9'))"}`, secret},
		{"INSERT SELECT", `{"sql":"INSERT INTO users(name,password) SELECT 'a', 'S3cr3t-x9'"}`, secret},
		{"INSERT nested commas", `{"sql":"INSERT INTO u(name,password) VALUES (concat('a','b'),'S3cr3t-x9')"}`, secret},
		{"INSERT schema", `{"sql":"INSERT INTO app.users AS x (name, secret_key) VALUES ('bob', 'S3cr3t-x9')"}`, secret},
		{"REPLACE INTO", `{"sql":"REPLACE INTO cfg (k, token) VALUES ('a', 'S3cr3t-x9')"}`, secret},
		{"CREATE USER", `{"sql":"CREATE USER bob WITH PASSWORD 'S3cr3t-x9'"}`, secret},
		{"IDENTIFIED BY", `{"sql":"CREATE USER 'bob'@'%' IDENTIFIED BY 'S3cr3t-x9'"}`, secret},
		{"IDENTIFIED WITH", `{"sql":"ALTER USER bob IDENTIFIED WITH mysql_native_password BY 'S3cr3t-x9'"}`, secret},
		{"SET PASSWORD", `{"sql":"SET PASSWORD FOR 'bob'@'localhost' = 'S3cr3t-x9'"}`, secret},
		{"SET PASSWORD()", `{"sql":"SET PASSWORD = PASSWORD('S3cr3t-x9')"}`, secret},
		{"PRAGMA", `{"sql":"PRAGMA key = 'S3cr3t-x9'"}`, secret},
		{"ATTACH KEY", `{"sql":"ATTACH 'a.db' AS a KEY 'S3cr3t-x9'"}`, secret},
		{"AS", `{"sql":"SELECT 'S3cr3t-x9' AS password"}`, secret},
		{"SQL comment", `{"sql":"SELECT 1 -- password: S3cr3t-x9"}`, secret},
		{"SQL literal with a pair", `{"sql":"INSERT INTO log VALUES ('password=S3cr3t-x9')"}`, secret},
		{"SQL JSON path", `{"sql":"UPDATE c SET doc = json_set(doc, '$.token', 'S3cr3t-x9')"}`, secret},
		{"SQL JSON operator", `{"sql":"SELECT 1 FROM c WHERE doc->>'password' = 'S3cr3t-x9'"}`, secret},
		{"SQL dollar quotes", `{"sql":"ALTER ROLE bob PASSWORD $$S3cr3t-x9$$"}`, secret},
		{"SQL elsewhere", `{"note":"UPDATE users SET password='S3cr3t-x9'"}`, secret},
		{"URL", `{"dsn":"postgres://app:S3cr3t-x9@10.0.0.5:5432/x"}`, secret},
		{"URL with @ and /", `{"dsn":"postgres://app:a@b/S3cr3t-x9@h/x"}`, secret},
		{"URL without user", `{"dsn":"redis://:S3cr3t-x9@h:6379/0"}`, secret},
		{"URL query", `{"url":"https://h/x?a=1&access_token=S3cr3t-x9&b=2"}`, secret},
		{"DSN", `{"dsn":"app:S3cr3t-x9@tcp(10.0.0.5:3306)/x"}`, secret},
		{"DSN keywords", `{"dsn":"host=h user=app password=S3cr3t-x9 dbname=x"}`, secret},
		{"DSN quoted", `{"dsn":"host=h password='S3 S3cr3t-x9' dbname=x"}`, secret},
		{"ADO", `{"dsn":"Server=h;User Id=app;Pwd=S3cr3t-x9;"}`, secret},
		{"YAML", `{"text":"user: bob\npassword: S3cr3t-x9\n"}`, secret},
		{"env file", `{"text":"A=1\nexport SECRET_KEY=S3cr3t-x9\n"}`, secret},
		{"header", `{"text":"Authorization: Basic Ym9iOlMzY3IzdA=="}`, "Ym9iOlMzY3IzdA"},
		{"header token", `{"text":"Authorization: token S3cr3t-x9"}`, secret},
		{"header cookie", `{"text":"Cookie: a=b; sid=S3cr3t-x9"}`, secret},
		{"bearer", `{"text":"used Bearer S3cr3t-x9abc then"}`, secret},
		{"sentence", `{"text":"密码是S3cr3t-x9，请保密"}`, secret},
		{"Chinese colon", `{"text":"登录口令：S3cr3t-x9。"}`, secret},
		{"JWT", `{"a":"` + jwt() + `"}`, "dozjgNry"},
		{"AWS", `{"a":"id ` + aws + ` here"}`, aws},
		{"AWS secret", `{"a":"aws_secret_access_key = wJalrXUtnFEMIK7MDENGbPxRfiCY"}`, "wJalrXUtn"},
		{"GitHub", `{"a":"` + gh + `"}`, gh},
		{"OpenAI", `{"a":"key ` + key + `"}`, key},
		{"Slack", `{"a":"` + slack + `"}`, slack},
		{"Slack hook", `{"a":"https://hooks.slack.com/services/T0/B0/S3cr3tx9abc"}`, "S3cr3tx9"},
		{"Google", `{"a":"` + google + `"}`, google},
		{"PEM", `{"a":"` + pem + `"}`, "MIIEpAI"},
		{"as a name", `{"` + gh + `":1}`, gh},
		{"not JSON", `password=S3cr3t-x9`, secret},
		{"duplicate members", `{"a":1,"a":2,"password":"S3cr3t-x9"}`, secret},
	}
	r := newRedactor(t, false)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if !strings.Contains(tt.in, tt.leak) {
				t.Fatal("the secret is not in the input")
			}
			got := string(r.JSON(json.RawMessage(tt.in)))
			if strings.Contains(got, tt.leak) || !strings.Contains(got, redactedPrefix) {
				t.Errorf("%s\nbecame\n%s", tt.in, got)
			}
			if !json.Valid([]byte(got)) {
				t.Errorf("not JSON: %s", got)
			}
			if again := string(r.JSON(json.RawMessage(got))); again != got {
				t.Errorf("redacted again:\n%s\n%s", got, again)
			}
		})
	}
}

// TestHarmlessStays: every row is in canonical form and must come out as it is.
func TestHarmlessStays(t *testing.T) {
	tests := []string{
		`{"max_tokens":4096}`, `{"token_count":17}`, `{"total_tokens":128}`, `{"prompt_tokens":12}`, `{"tokens":55}`,
		`{"password_policy":"at least 12 characters"}`, `{"passwordPolicy":{"min":8}}`, `{"password_min_length":8}`,
		`{"next_page_token":"abc123"}`, `{"nextToken":"abc123"}`, `{"secret_name":"db"}`, `{"api_key_id":"k1"}`, `{"token_type":"bearer"}`,
		`{"password":null}`, `{"password":true}`, `{"password":""}`, `{"author":"bob"}`, `{"authors":["bob"]}`, `{"passenger":"bob"}`,
		`{"monkey":"x"}`, `{"keyboard":"x"}`, `{"primary_key":"id"}`, `{"foreign_key":"dept_id"}`, `{"key":"color","value":"red"}`,
		`{"密码策略":"12 位"}`, `{"令牌数量":3}`, `{"spinner":"dots"}`, `{"shipping":"x"}`, `{"compass":"north"}`,
		`{"columns":["password","token"]}`, `{"columns":["pass","fail"],"rows":[[12,3],["no","yes"]]}`, `{"columns":["password"],"rows":[[null],[true],[""]]}`,
		`{"columns":[{"name":"token_count"}],"rows":[["seventeen"]]}`, `{"required":["password","email"]}`, `["password","token"]`,
		`{"sql":"SELECT id, name, password FROM users"}`,
		`{"sql":"SELECT u.token FROM users u JOIN s ON s.token = u.token WHERE u.id = 7"}`,
		`{"sql":"SELECT * FROM settings WHERE name = 'password_policy' AND value = 'strict'"}`,
		`{"sql":"SELECT max_tokens FROM m WHERE max_tokens = 4096 AND model = 'x'"}`,
		`{"sql":"UPDATE users SET password = NULL WHERE id = 4711"}`,
		`{"sql":"UPDATE users SET password = ? WHERE id = 4711"}`,
		`{"sql":"UPDATE users SET password = :pw, name = 'bob' WHERE id = 4711"}`,
		`{"sql":"INSERT INTO users (name, password_hint) VALUES ('bob', 'the dog')"}`,
		`{"sql":"INSERT INTO keys (id, label) VALUES (4711, 'password')"}`,
		`{"sql":"SELECT * FROM users WHERE created_at::date = '2024-01-01' AND token IS NULL"}`,
		`{"sql":"CREATE TABLE users (id INTEGER, password TEXT NOT NULL, token VARCHAR(64))"}`,
		`{"sql":"SELECT count(*) AS token_count, 'x' AS label FROM t"}`,
		`{"sql":"DELETE FROM employees WHERE left_on < '2019-01-01'"}`,
		`{"sql":"SELECT name FROM t WHERE password = '' OR 'a' = 'b'"}`,
		`{"text":"password: required"}`, `{"text":"The password must be changed."}`, `{"text":"Basic authentication is used"}`,
		`{"text":"token: ${TOKEN}"}`, `{"text":"see https://example.com/password/reset?id=5"}`, `{"text":"use the key: value form"}`,
		`{"text":"http://host:8080/@bob"}`, `{"text":"author: bob"}`, `{"text":"postgres://app@10.0.0.5:5432/x"}`, `{"text":"time: 12:30:45"}`, `{"text":"max_tokens=4096"}`,
		`{"text":"a sk-8 road, eyJ, AKIA, gh"}`, `{"n":9007199254740993}`, `{"n":1.0}`, `{"id":"550e8400-e29b-41d4-a716-446655440000"}`,
		`{"sha256":"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"}`,
		`{"email":"bob@example.com","phone":"13812345678"}`, // personal, but no secret
	}
	r := newRedactor(t, false)
	for _, in := range tests {
		if got := string(r.JSON(json.RawMessage(in))); got != in {
			t.Errorf("%s\nbecame\n%s", in, got)
		}
	}
}

func TestSQLKeepsItsForm(t *testing.T) {
	tests := []struct{ in, want string }{
		{`INSERT INTO users (name, password, age) VALUES ('bob', 'x1', 30), ('eve', 'x2', 31)`, `INSERT INTO users (name, password, age) VALUES ('bob', '[REDACTED:sql]', 30), ('eve', '[REDACTED:sql]', 31)`},
		{`UPDATE u SET a='1', password='x', b='2' WHERE c='3'`, `UPDATE u SET a='1', password='[REDACTED:sql]', b='2' WHERE c='3'`},
		{`SELECT * FROM u WHERE token = 'x' AND name = 'bob' ORDER BY 'n'`, `SELECT * FROM u WHERE token = '[REDACTED:sql]' AND name = 'bob' ORDER BY 'n'`},
		{`CREATE USER 'bob'@'%' IDENTIFIED BY 'x' REQUIRE SSL`, `CREATE USER 'bob'@'%' IDENTIFIED BY '[REDACTED:sql]' REQUIRE SSL`},
		{`INSERT INTO u(password,b) VALUES (md5('x'),'y') ON CONFLICT (b) DO UPDATE SET c='z'`, `INSERT INTO u(password,b) VALUES (md5('[REDACTED:sql]'),'y') ON CONFLICT (b) DO UPDATE SET c='z'`},
	}
	r := newRedactor(t, false)
	for _, tt := range tests {
		if got := r.Text(tt.in); got != tt.want {
			t.Errorf("%s\nbecame\n%s\nwant\n%s", tt.in, got, tt.want)
		}
	}
}

func TestPersonalData(t *testing.T) {
	secrets := []struct{ in, leak string }{
		{"call 13812345678 now", "13812345678"},
		{"+86 138-1234-5678", "1234"},
		{"+49 30 901820", "901820"},
		{"id 11010519491231002X", "11010519491231002X"},
		{"card 4111 1111 1111 1111", "4111"},
		{"card 4111111111111111", "4111"},
		{"DE89 3704 0044 0532 0130 00", "3704"},
		{"mail bob.b@example.com", "bob.b"},
		{"电话13812345678。", "13812345678"},
	}
	on, off := newRedactor(t, true), newRedactor(t, false)
	for _, tt := range secrets {
		if got := on.Text(tt.in); strings.Contains(got, tt.leak) {
			t.Errorf("%s became %s", tt.in, got)
		}
		if got := off.Text(tt.in); got != tt.in {
			t.Errorf("without the switch %s became %s", tt.in, got)
		}
	}
	for _, in := range []string{
		"amount 13812345678.55", "id 110105194912310021", "card 4111111111111112", "order 20240101120000123", "DE89370400440532013001",
		"at 2024-01-01 12:30:45", "a@b", "version 1.2.3.4", "10.0.0.5:5432",
	} {
		if got := on.Text(in); got != in {
			t.Errorf("%s became %s", in, got)
		}
	}
	if got := string(on.JSON(json.RawMessage(`{"a":4111111111111111,"b":4111111111111112}`))); got != `{"a":"[REDACTED:card]","b":4111111111111112}` {
		t.Errorf("numbers: %s", got)
	}
}

func FuzzRedact(f *testing.F) {
	for _, s := range []string{
		`{"password":"x"}`, `UPDATE u SET password = 'x' WHERE a = "b`, `postgres://a:b@c:d@e/f`, `password=a password:"b`, `{"a":"{\"token\":\"x\"}"}`,
		"INSERT INTO t(a,token) VALUES ((('x',$$y$$", `"\ud800"`, "密码：x", `[["Authorization","x"]]`, "curl -u a:b", "\xff\x00password=\xfe",
	} {
		f.Add(s)
	}
	r := newRedactor(f, true)
	f.Fuzz(func(t *testing.T, s string) {
		once := r.JSON(json.RawMessage(s))
		if len(s) > 0 && !json.Valid(once) {
			t.Fatalf("%q became %q, which is not JSON", s, once)
		}
		if _, err := parseJSON(once); len(s) > 0 && err != nil {
			t.Fatalf("%q became %q: %v", s, once, err)
		}
		_, invalid := parseJSON([]byte(s))
		if twice := r.JSON(once); invalid == nil && string(twice) != string(once) {
			t.Fatalf("%q became %q and then %q", s, once, twice)
		}
		r.Text(s)
	})
}

func BenchmarkRedactSelect(b *testing.B) {
	r := newRedactor(b, false)
	args := json.RawMessage(`{"sql":"` + selectOf240() + `"}`)
	b.SetBytes(int64(len(args)))
	for b.Loop() {
		r.JSON(args)
	}
}

// selectOf240 is a plain statement of 240 bytes.
func selectOf240() string {
	s := "SELECT e.id, e.name, d.name AS department, e.hired_on, e.city FROM employees e JOIN departments d ON d.id = e.department_id WHERE e.hired_on >= '2019-01-01' AND d.name LIKE '%Sales%' ORDER BY e.hired_on DESC, e.name"
	return s + strings.Repeat(" ", 240-len(s))
}

// TestRedactionTakesTime checks that eight times the text takes nothing like
// 64 times the time, for texts that would make a careless scanner go over them
// again and again.
func TestRedactionTakesTime(t *testing.T) {
	r := newRedactor(t, true)
	took := func(text string) time.Duration {
		start := time.Now()
		r.Text(text)
		return time.Since(start)
	}
	const size = 10_000
	for _, part := range []string{
		"=", "是", "password=", "password=(", "'password',", "json('password','x',", "into t(password", "into ", "cookie=[REDACTED:", "--a ",
		"[", "[[", "$a", "/*", "a://", "a:b@", "-----BEGIN PRIVATE KEY-----", "identified by ", "\\", "\"", "mysql ", "1 ", "+1 ", "eyJaaaaaaaa.",
		"password ", "<password>", "a,password\n", "password:|", "password: |\n ", "name: password\nvalue: ", "crypt(", "name='password',", "sudo -a -p ",
	} {
		for _, prefix := range []string{"", "select pass "} {
			small := took(prefix + strings.Repeat(part, size/len(part)))
			large := took(prefix + strings.Repeat(part, 8*size/len(part)))
			if large > 32*small && large > time.Second {
				t.Errorf("%q after %q: %v for %d bytes, %v for eight times as many", part, prefix, small, size, large)
			}
		}
	}
}
