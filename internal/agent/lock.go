package agent

import "sync"

// sessionLocks has a lock for every session that somebody holds or waits for.
// Under it a session's turn begins and ends and its approvals are answered, so
// that events of one session keep their order and an answer is recorded once.
type sessionLocks struct {
	mu   sync.Mutex
	held map[string]*sessionLock
}

type sessionLock struct {
	sync.Mutex
	users int
}

// lock waits for the session's lock and returns what gives it back.
func (l *sessionLocks) lock(session string) (unlock func()) {
	l.mu.Lock()
	if l.held == nil {
		l.held = map[string]*sessionLock{}
	}
	k := l.held[session]
	if k == nil {
		k = &sessionLock{}
		l.held[session] = k
	}
	k.users++
	l.mu.Unlock()

	k.Lock()
	return func() {
		k.Unlock()
		l.mu.Lock()
		defer l.mu.Unlock()
		if k.users--; k.users == 0 {
			delete(l.held, session)
		}
	}
}
