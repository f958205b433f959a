package models

// A phrase names a sentence of the demo model that belongs to no question. Its
// wording is in the book.
type phrase string

// The phrases.
const (
	aboutDemo      phrase = "aboutDemo"
	saidNothing    phrase = "saidNothing"
	runsSQL        phrase = "runsSQL"
	willChange     phrase = "willChange"
	looksUp        phrase = "looksUp"
	notKnown       phrase = "notKnown"
	tryThese       phrase = "tryThese"
	goesOn         phrase = "goesOn"
	countsInstead  phrase = "countsInstead"
	leavesIt       phrase = "leavesIt"
	asksHeld       phrase = "asksHeld"
	looksInstead   phrase = "looksInstead"
	nothingChanged phrase = "nothingChanged"
	offersExport   phrase = "offersExport"
	wasDenied      phrase = "wasDenied"
	waits          phrase = "waits"
	wasHeld        phrase = "wasHeld"
	failed         phrase = "failed"
	countIs        phrase = "countIs"
	rowsChanged    phrase = "rowsChanged"
	isDone         phrase = "isDone"
	noRows         phrase = "noRows"
	rowsFound      phrase = "rowsFound"
	rowsCut        phrase = "rowsCut"
	withThem       phrase = "withThem"
	moreRows       phrase = "moreRows"
)

// say returns a phrase in the language l.
func (b *book) say(p phrase, l lang) string { return b.Phrases[p].in(l) }
