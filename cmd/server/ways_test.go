package main

import (
	"testing"

	"example.com/datamind/internal/agent/react/models/openaitest"
)

// A way is how a confirmed call comes to run. What people see and may rely on is
// the same whichever it is.
type way struct {
	name    string
	environ []string
	pauses  bool // the model is not asked again before the answer
	repeats bool // the model has to repeat the call
}

func (w way) String() string { return w.name }

// The two paths: the model reads that a person was asked and goes on, and the
// stored call is replayed after the answer; or the graph itself stops.
func paths() []way {
	return []way{
		{name: "hook"},
		{name: "interrupt", environ: []string{"DATAMIND__AGENT__HITL=interrupt"}, pauses: true},
	}
}

// ways are the paths and the seed's own way.
func ways() []way {
	return append(paths(), way{name: "model", environ: []string{"DATAMIND__AGENT__CONFIRM=model"}, repeats: true})
}

// onPaths runs f on each path, beside the other.
func onPaths(t *testing.T, f func(t *testing.T, w way)) {
	t.Helper()
	for _, w := range paths() {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			f(t, w)
		})
	}
}

// with is the way's environment and more.
func (w way) with(environ ...string) []string { return append(environ, w.environ...) }

// asks is the script of a model whose calls are asked about: where it is asked
// again before the answer, it has something to say.
func (w way) asks(list ...openaitest.Call) []openaitest.Step {
	steps := []openaitest.Step{calls(list...)}
	if !w.pauses {
		steps = append(steps, says("Confirm, please."))
	}
	return steps
}
