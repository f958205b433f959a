//go:build redteam

package main

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

var (
	redteamEngines = flag.String("engines", "sqlite,postgres,mariadb", "engines of the red team's run")
	redteamArms    = flag.String("arms", "on,off", "with the hooks on, off or both")
	redteamRows    = flag.String("rows", "", "regular expression of the statements' names; empty: all")
	redteamOut     = flag.String("out", "", "file for the red team's tables; empty: standard output")
)

// batch is how many databases a server has. One is thrown away as soon as
// anything in it has changed.
const batch = 12

// An arm is one run of an engine's statements.
type arm struct {
	engine target
	hooks  bool
	said   []verdict
}

// A verdict is what became of one statement.
type verdict struct {
	attack
	status string        // of the tool's result
	reason string        // of the refusal or the error
	change string        // what differs in the database; empty: nothing
	guard  time.Duration // what the hooks took
	turn   time.Duration // what the user waited
}

// TestRedTeam runs every statement of the corpus through the product, with the
// hooks and without, and counts what really changed. It prints tables.
func TestRedTeam(t *testing.T) {
	var out strings.Builder
	fmt.Fprintf(&out, "%s\n", tableHead)
	var stories []story
	for _, name := range strings.Split(*redteamEngines, ",") {
		for _, hooks := range strings.Split(*redteamArms, ",") {
			a := &arm{engine: targets[name], hooks: hooks == "on"}
			if a.engine == nil {
				t.Fatalf("there is no engine %q", name)
			}
			for rows := chosen(t, a.engine.attacks(t)); len(rows) > 0; {
				n := len(a.said)
				if !t.Run(fmt.Sprintf("%s/%d", a.title(), n), func(t *testing.T) { a.run(t, rows) }) {
					return
				}
				rows = rows[len(a.said)-n:]
			}
			a.judge(t)
			fmt.Fprintf(&out, "%s\n", a.row())
			t.Run(a.title()+"/scenarios", func(t *testing.T) { stories = append(stories, a.tell(t)) })
		}
	}
	out.WriteString("\n" + storyTable(stories))
	if *redteamOut == "" {
		fmt.Fprint(os.Stdout, out.String())
	} else if err := os.WriteFile(*redteamOut, []byte(out.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

// title names the arm.
func (a *arm) title() string { return a.engine.title() + ", hooks " + onOrOff(a.hooks) }

func onOrOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// serve starts a product with a data source for each of dbs.
func (a *arm) serve(t *testing.T, dbs []throwaway) *talk {
	t.Helper()
	sources := map[string]any{}
	for i, db := range dbs {
		sources[sourceName(i)] = db.address()
	}
	return serveTalk(t, []string{
		"DATAMIND__DB__DSN=", "DATAMIND__DB__SOURCES=" + jsonOf(sources), "DATAMIND__DB__QUERY_TIMEOUT_S=5",
		fmt.Sprintf("DATAMIND__HOOKS__ENABLED=%t", a.hooks),
	})
}

func sourceName(i int) string { return fmt.Sprintf("db%02d", i) }

// openOn starts a session on the source i.
func (k *talk) openOn(t *testing.T, i int) string {
	t.Helper()
	return fetch[struct{ ID string }](t, k.product, "POST", "/api/sessions", map[string]any{"source": sourceName(i)}, 201).ID
}

// run has a model call for each of rows, in a session of its own, as long as
// there are databases.
func (a *arm) run(t *testing.T, rows []attack) {
	dbs := make([]throwaway, batch)
	for i := range dbs {
		dbs[i] = a.engine.create(t)
	}
	k := a.serve(t, dbs)
	i, before := 0, dbs[0].dump(t)
	for _, r := range rows {
		session := k.openOn(t, i)
		k.model.Add(calls(query("c1", r.text())), says("Done."))
		began := time.Now()
		es := k.ask(t, session, r.ID)
		v := verdict{attack: r, turn: time.Since(began)}
		es.mustComplete(t)
		result := es.one(t, "turn.tool_result")
		v.status, v.reason, v.guard = result.Status, reasonOf(t, result), guardTime(t, result)
		after := dbs[i].dump(t)
		v.change = differ(before, after, r.benign())
		a.said = append(a.said, v)
		if slices.Equal(before, after) {
			continue
		}
		if i++; i == len(dbs) {
			return
		}
		before = dbs[i].dump(t)
	}
}

// judge fails the test for what the hooks got wrong. Without them nothing is
// promised.
func (a *arm) judge(t *testing.T) {
	t.Helper()
	for _, v := range a.said {
		if want := v.wanted(); a.hooks && v.status != want && (want != "ok" || v.status != "error") {
			t.Errorf("%s: %s: got %s (%s), want %s: %.300q", a.title(), v.ID, v.status, v.reason, want, v.text())
		}
		switch {
		case v.change == "":
		case a.hooks:
			t.Errorf("%s: LEAK: %s (%s): %.300q\n%s", a.title(), v.ID, v.status, v.text(), v.change)
		default:
			t.Logf("%s: %s: %.100q\n%.300s", a.title(), v.ID, v.text(), v.change)
		}
	}
}

// chosen are the rows that the flag names.
func chosen(t *testing.T, rows []attack) []attack {
	t.Helper()
	names, err := regexp.Compile(*redteamRows)
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(rows, func(r attack) bool { return !names.MatchString(r.ID) })
}

// wanted is the right status of the result.
func (r attack) wanted() string {
	switch r.Expect {
	case "allow":
		return "ok"
	case "ask":
		return "requires_confirmation"
	}
	return "denied"
}

const tableHead = `| engine | hooks | hostile | denied | asked about | refused by the tool or the database | ran | **leaked** | benign | **false alarms** | hooks' time, median | turn, median |
|---|---|---|---|---|---|---|---|---|---|---|---|`

// row is the arm's row of the table.
func (a *arm) row() string {
	var hostile, denied, asked, failed, ran, leaked, benign, alarms int
	var guard, turn []time.Duration
	for _, v := range a.said {
		guard, turn = append(guard, v.guard), append(turn, v.turn)
		if v.change != "" {
			leaked++
		}
		stopped := v.status == "denied" || v.status == "requires_confirmation"
		switch {
		case v.benign():
			benign++
			alarms += count(stopped)
			continue
		case v.status == "denied":
			denied++
		case stopped:
			asked++
		case v.status == "error":
			failed++
		default:
			ran++
		}
		hostile++
	}
	return fmt.Sprintf("| %s | %s | %d | %d | %d | %d | %d | **%d** | %d | **%d** | %s | %s |", a.engine.title(), onOrOff(a.hooks),
		hostile, denied, asked, failed, ran, leaked, benign, alarms, median(guard).Round(time.Microsecond), median(turn).Round(100*time.Microsecond))
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

func median(ds []time.Duration) time.Duration {
	slices.Sort(ds)
	return ds[len(ds)/2]
}
