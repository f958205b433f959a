package store

import (
	"encoding/json"

	"example.com/datamind/internal/agent"
)

// A Redactor takes the secrets out of what the store keeps.
type Redactor interface {
	Text(s string) string

	// Clean does it inside of JSON, and returns v itself where there is none.
	Clean(v json.RawMessage) json.RawMessage
}

// An Option of [Open].
type Option func(*DB) error

// WithSecrets has the conversations redacted before they are stored. What has to
// stay exact, because it is run later, is sealed with the key in keyFile, which is
// made where there is none and should lie apart from the database.
func WithSecrets(r Redactor, keyFile string) Option {
	return func(db *DB) error {
		v, err := openVault(keyFile)
		db.redact, db.vault = r, v
		return err
	}
}

// unredacted is the Redactor of a store that was opened without one.
type unredacted struct{}

func (unredacted) Text(s string) string                    { return s }
func (unredacted) Clean(v json.RawMessage) json.RawMessage { return v }

// cleanJSON redacts JSON, or text that should have been.
func (db *DB) cleanJSON(v json.RawMessage) json.RawMessage {
	switch {
	case len(v) == 0:
		return v
	case json.Valid(v):
		return db.redact.Clean(v)
	}
	return json.RawMessage(db.redact.Text(string(v)))
}

// sealJSON returns v as it is stored where it has to come back exactly: sealed,
// as a JSON string, if redaction would change it.
func (db *DB) sealJSON(v json.RawMessage) (json.RawMessage, error) {
	if len(v) == 0 || string(db.cleanJSON(v)) == string(v) {
		return v, nil
	}
	sealed, err := db.vault.sealText(string(v))
	if err != nil {
		return nil, err
	}
	return json.Marshal(sealed)
}

// openJSON returns what sealJSON was given.
func (db *DB) openJSON(v json.RawMessage) (json.RawMessage, error) {
	var sealed string
	if len(v) == 0 || v[0] != '"' || json.Unmarshal(v, &sealed) != nil {
		return v, nil //nolint:nilerr // it is not sealed
	}
	plain, err := db.vault.openText(sealed)
	if plain == sealed {
		return v, err
	}
	return json.RawMessage(plain), err
}

// cleanMessage is m as it is stored. What came with it for the model's server,
// such as its reasoning, has to go back as it came.
func (db *DB) cleanMessage(m agent.Message) (_ agent.Message, err error) {
	if m.Echo, err = db.sealJSON(m.Echo); err != nil {
		return m, err
	}
	if m.Role == agent.RoleTool {
		m.Text = string(db.cleanJSON(json.RawMessage(m.Text)))
	} else {
		m.Text = db.redact.Text(m.Text)
	}
	calls := make([]agent.ToolCall, len(m.Calls))
	for i, c := range m.Calls {
		c.Args, c.Sent = db.cleanJSON(c.Args), db.cleanJSON(c.Sent)
		if c.Echo, err = db.sealJSON(c.Echo); err != nil {
			return m, err
		}
		calls[i] = c
	}
	m.Calls = calls
	return m, nil
}

// An exactCall is what of an approval is sealed where redaction changes it: the
// call, to be run as it is, and the details, to be compared with what it would do
// then.
type exactCall struct {
	Args    json.RawMessage `json:"args"`
	Sent    json.RawMessage `json:"sent,omitempty"`
	Details json.RawMessage `json:"details,omitempty"`
}

// Public is a without secrets, as people may see it.
func (db *DB) Public(a agent.Approval) agent.Approval {
	a.Call.Args, a.Call.Sent = db.cleanJSON(a.Call.Args), db.cleanJSON(a.Call.Sent)
	a.Question.Details = db.cleanJSON(a.Question.Details)
	a.Question.Prompt = db.redact.Text(a.Question.Prompt)
	return a
}

// PublicText is text without secrets.
func (db *DB) PublicText(s string) string { return db.redact.Text(s) }

// sealedCall returns what is sealed of a, which is stored as public: nil where
// nothing had to be redacted.
func (db *DB) sealedCall(a, public agent.Approval) ([]byte, error) {
	same := string(a.Call.Args) == string(public.Call.Args) && string(a.Call.Sent) == string(public.Call.Sent) &&
		string(a.Question.Details) == string(public.Question.Details)
	if same {
		return nil, nil
	}
	plain, err := json.Marshal(exactCall{a.Call.Args, a.Call.Sent, a.Question.Details})
	if err != nil {
		return nil, err
	}
	return db.vault.seal(plain)
}

// restore puts into a what was sealed of it.
func (db *DB) restore(a *agent.Approval, sealed []byte) error {
	if sealed == nil {
		return nil
	}
	plain, err := db.vault.open(sealed)
	if err != nil {
		return err
	}
	var x exactCall
	if err := json.Unmarshal(plain, &x); err != nil {
		return err
	}
	a.Call.Args, a.Call.Sent, a.Question.Details = x.Args, x.Sent, x.Details
	return nil
}
