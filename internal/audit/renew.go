package audit

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// renewKey changes the key of a day that is over, and sees to it that the one
// before is gone.
//
// Whatever moment it dies at, the next start finds out from the log which key is
// in force, and which of those in the file are to be erased: the new key is in
// the file before the record that announces it, and the old one until the first
// note of the new one is durable.
func (l *Log) renewKey(now time.Time) error {
	if l.announced.Note != nil {
		return l.forgetKeys()
	}
	today := now.Format(dayFormat)
	if l.key.day >= today || l.tree.n == 0 {
		return nil
	}
	was, size := l.key, l.tree.n
	next, err := newKey(l.id.Origin, today)
	if err != nil {
		return err
	}
	sealed, err := Checkpoint{Origin: l.id.Origin, Size: size, Root: l.tree.root()}.sign(was.signer, next.vkey+"\n")
	if err != nil {
		return err
	}
	args, err := json.Marshal(Rotation{Note: string(sealed.Note), Key: next.vkey}) // in canonical order as it is
	if err != nil {
		return err
	}
	q := &request{record: Record{Actor: actorSystem, Args: args, Kind: KeyRotated}}
	if err := q.render(l.cfg.Profile); err != nil {
		return err
	}
	if err := l.keys().add(next); err != nil {
		return fmt.Errorf("renew audit key: %w", err)
	}
	l.key = next
	if err := l.put([]*request{q}, now); err != nil {
		l.key = was
		if l.Err() == nil { // the record is not there, so that nobody needs the key
			err = errors.Join(err, l.keys().only(was))
		}
		return fmt.Errorf("renew audit key: %w", err)
	}
	l.announced = sealed
	return l.forgetKeys()
}

// forgetKeys erases every key but the one in force, once it has sealed what
// there is.
func (l *Log) forgetKeys() error {
	err := l.sealer.keep(epochDir, l.announced)
	if err == nil {
		err = l.sealer.write(true)
	}
	if err == nil {
		err = l.keys().only(l.key)
	}
	if err != nil {
		return fmt.Errorf("erase the audit key before: %w", err)
	}
	l.announced = Checkpoint{}
	return nil
}

func (l *Log) keys() keyring { return keyring{l.cfg.disk, l.cfg.KeyDir} }
