package sqlguard

// A Check is a report as `datamind check` prints it.
type Check struct {
	ID         string           `json:"id"`
	Decision   string           `json:"decision"` // see [Effect.Ruling]
	Effect     string           `json:"effect"`
	Statements []CheckStatement `json:"statements"`
	Reason     string           `json:"reason"`
}

// A CheckStatement is one statement of a [Check].
type CheckStatement struct {
	Verb   string   `json:"verb"`
	Effect string   `json:"effect"`
	Tables []string `json:"tables"`
}

// Check returns the report on the text called id, with its reason in a
// language, "en" or "zh-Hans". Its lists are never nil.
func (r Report) Check(id, lang string) Check {
	c := Check{
		ID:         id,
		Decision:   r.Effect.Ruling(),
		Effect:     r.Effect.String(),
		Statements: make([]CheckStatement, len(r.Statements)),
		Reason:     r.Reason.In(lang),
	}
	for i, s := range r.Statements {
		c.Statements[i] = CheckStatement{s.Verb, s.Effect.String(), append([]string{}, s.Tables...)}
	}
	return c
}
