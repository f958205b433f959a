package datasource

import (
	"fmt"

	"example.com/datamind/internal/sqlguard"
)

// effectOf returns the worst effect of a report and of its statements, and an
// error for one that nobody may have run.
func effectOf(r sqlguard.Report) (sqlguard.Effect, error) {
	if len(r.Statements) == 0 {
		return sqlguard.Unknown, fmt.Errorf("%w: there is nothing to run", ErrRefused)
	}
	worst := r.Effect
	for _, st := range r.Statements {
		worst = max(worst, st.Effect)
	}
	if worst > sqlguard.Destroys {
		return worst, fmt.Errorf("%w: what it does is never permitted (%s)", ErrRefused, worst)
	}
	return worst, nil
}

// permitted returns the worst effect of a report, and an error where it may not
// run under o.
func permitted(r sqlguard.Report, o Options) (sqlguard.Effect, error) {
	worst, err := effectOf(r)
	if err == nil && worst > sqlguard.Adds && !o.mayChange() {
		err = ErrNotConfirmed
	}
	return worst, err
}
