package sqlguard

// maxRun bounds how deep the tree of a statement of PostgreSQL can get, which
// its parser goes down on the stack of a thread: a chain such as 1+1+1… makes
// a level per operator without a bracket. Beyond that stack lies the end of the
// whole process.
const maxRun = 3000

// A runs follows an upper bound of that depth. Every token may add a level to
// the expression that it stands in; what separates the items of a list does
// not, so the next item begins anew.
type runs struct {
	level   int
	current [maxDepth + 1]int32 // of the item that is being read, per bracket
	longest [maxDepth + 1]int32 // of the items before it
	joined  [maxDepth + 1]int32 // joins and set operations, which nest over all items
}

// enter takes the next token and reports whether the bound is still kept.
func (r *runs) enter(k kind, s string) bool {
	switch {
	case k == mark && (s == "(" || s == "["):
		if r.level == maxDepth {
			return false
		}
		r.level++
		r.current[r.level], r.longest[r.level], r.joined[r.level] = 0, 0, 0
		return true
	case k == mark && (s == ")" || s == "]"):
		return r.leave()
	case k == mark && s == ";":
		r.level, r.current[0], r.longest[0], r.joined[0] = 0, 0, 0, 0
		return true
	case k == mark && s == ",", k == word && separates(s):
		r.longest[r.level] = max(r.longest[r.level], r.current[r.level])
		r.current[r.level] = 0
		return true
	case k == word && nests(s):
		r.joined[r.level]++
	default:
		r.current[r.level]++
	}
	return r.depth() <= maxRun
}

// depth is the bound for the bracket that is open.
func (r *runs) depth() int32 {
	return max(r.longest[r.level], r.current[r.level]) + r.joined[r.level]
}

// leave closes a bracket: what was in it is a level of what is around it.
func (r *runs) leave() bool {
	inside := r.depth()
	if r.level > 0 {
		r.level--
	}
	r.current[r.level] = max(r.current[r.level], inside) + 1
	return r.depth() <= maxRun
}

// separates reports whether a word stands between the items of a flat list.
func separates(s string) bool {
	switch len(s) {
	case 2:
		return foldEqual(s, "OR")
	case 3:
		return foldEqual(s, "AND")
	case 4:
		return foldEqual(s, "WHEN") || foldEqual(s, "THEN") || foldEqual(s, "ELSE")
	}
	return false
}

// nests reports whether a word makes a level of all that is before it.
func nests(s string) bool {
	switch len(s) {
	case 4:
		return foldEqual(s, "JOIN")
	case 5:
		return foldEqual(s, "UNION")
	case 6:
		return foldEqual(s, "EXCEPT")
	case 7:
		return foldEqual(s, "EXPLAIN")
	case 9:
		return foldEqual(s, "INTERSECT")
	}
	return false
}
