package audit

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/sumdb/note"
)

// Every log has keys of its own, named by its origin. The private ones of all
// profiles of an installation stand in one file, a line each, with the day from
// which on a key is in force. Beside it stand the verifier keys that the logs'
// records 0 name: they are there to be handed out, and never change.
const (
	keyFile  = "audit.key"
	vkeyFile = "audit.vkey"

	originHost = "datamind.local"
	dayFormat  = "2006-01-02"
)

// ErrNoKey says that a log's private key is gone.
var ErrNoKey = errors.New("the audit log's key is missing")

// A key is a private key of a log.
type key struct {
	origin string // datamind.local/<install id>/<profile>
	skey   string
	vkey   string
	day    string // empty: unknown
	signer note.Signer
}

// of says whether k is one of profile's keys.
func (k key) of(profile string) bool {
	_, p, _ := strings.Cut(strings.TrimPrefix(k.origin, originHost+"/"), "/")
	return p == profile
}

// install returns the installation's ID, as far as k tells.
func (k key) install() string {
	rest, ok := strings.CutPrefix(k.origin, originHost+"/")
	if !ok {
		return ""
	}
	id, _, _ := strings.Cut(rest, "/")
	return id
}

// parseKey reads a line of the key file.
func parseKey(line string) (k key, err error) {
	f := strings.Fields(line)
	if len(f) > 1 {
		k.day = f[1]
	}
	k.skey = f[0]
	if k.signer, err = note.NewSigner(k.skey); err != nil {
		return k, fmt.Errorf("read audit key: %w", err)
	}
	k.origin = k.signer.Name()
	// PRIVATE+KEY+<name>+<hash>+<base64>, which NewSigner has checked.
	fields := strings.SplitN(k.skey, "+", 5)
	raw, err := base64.StdEncoding.DecodeString(fields[len(fields)-1])
	if err != nil || len(raw) != 1+ed25519.SeedSize {
		return k, errors.New("read audit key: not an Ed25519 key")
	}
	pub, ok := ed25519.NewKeyFromSeed(raw[1:]).Public().(ed25519.PublicKey)
	if !ok {
		return k, errors.New("read audit key: no public half")
	}
	if k.vkey, err = note.NewEd25519VerifierKey(k.origin, pub); err != nil {
		return k, fmt.Errorf("read audit key: %w", err)
	}
	return k, nil
}

// newKey makes a key.
func newKey(origin, day string) (key, error) {
	skey, _, err := note.GenerateKey(rand.Reader, origin)
	if err != nil {
		return key{}, fmt.Errorf("make audit key: %w", err)
	}
	return parseKey(skey + " " + day)
}

// A keyring is the folder of the keys.
type keyring struct {
	disk disk
	dir  string
}

// read returns the private keys: none if there is no file.
func (r keyring) read() ([]key, error) {
	raw, err := os.ReadFile(filepath.Join(r.dir, keyFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read audit key: %w", err)
	}
	var keys []key
	for line := range strings.Lines(string(raw)) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		k, err := parseKey(line)
		if err != nil {
			return nil, err
		}
		keys = append(keys, k)
	}
	return keys, nil
}

// update changes the private keys; other profiles may be doing so, too. What
// the file held before is overwritten where it lies on disk, as far as that is
// in a program's power: a journal or a flash drive may keep copies.
func (r keyring) update(change func([]key) ([]key, error)) (err error) {
	if err := os.MkdirAll(r.dir, 0o700); err != nil {
		return fmt.Errorf("audit key: %w", err)
	}
	unlock, err := lockDir(r.dir)
	if err != nil {
		return fmt.Errorf("audit key: %w", err)
	}
	defer func() { err = errors.Join(err, unlock()) }()
	before, err := r.read()
	if err != nil {
		return err
	}
	after, err := change(slices.Clone(before))
	if err != nil || slices.Equal(before, after) {
		return err
	}
	var out strings.Builder
	for _, k := range after {
		out.WriteString(strings.TrimSpace(k.skey+" "+k.day) + "\n")
	}
	old, err := r.disk.open(filepath.Join(r.dir, keyFile), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("write audit key: %w", err)
	}
	defer func() { err = errors.Join(err, old.Close()) }()
	if err := writeFile(r.disk, r.dir, keyFile, []byte(out.String()), 0o600); err != nil {
		return fmt.Errorf("write audit key: %w", err)
	}
	return erase(old)
}

// erase overwrites a file that has no name any more.
func erase(f file) error {
	info, err := f.Stat()
	if err == nil && info.Size() > 0 {
		_, err = f.WriteAt(make([]byte, info.Size()), 0)
		err = errors.Join(err, f.Datasync())
	}
	if err != nil {
		return fmt.Errorf("erase audit key: %w", err)
	}
	return nil
}

// add adds a key.
func (r keyring) add(k key) error {
	return r.update(func(keys []key) ([]key, error) { return append(keys, k), nil })
}

// only leaves no other key of k's log than k.
func (r keyring) only(k key) error {
	return r.update(func(keys []key) ([]key, error) {
		return slices.DeleteFunc(keys, func(o key) bool { return o.origin == k.origin && o.skey != k.skey }), nil
	})
}

// first returns a key for a log that is not there yet: the one that a start
// before this has made, or a new one.
func (r keyring) first(profile, day string) (k key, err error) {
	err = r.update(func(keys []key) ([]key, error) {
		install := ""
		for _, have := range keys {
			if have.of(profile) {
				k = have
				return keys, nil
			}
			if id := have.install(); id != "" {
				install = id
			}
		}
		if install == "" {
			install = strings.ToLower(rand.Text()[:16])
		}
		if k, err = newKey(originHost+"/"+install+"/"+profile, day); err != nil {
			return nil, err
		}
		return append(keys, k), nil
	})
	return k, err
}

// publish writes the verifier key that record 0 of a log names, where it is not
// yet, and refuses one that is not what was handed out before.
func (r keyring) publish(origin, vkey string) (err error) {
	unlock, err := lockDir(r.dir)
	if err != nil {
		return fmt.Errorf("audit verifier key: %w", err)
	}
	defer func() { err = errors.Join(err, unlock()) }()
	raw, err := os.ReadFile(filepath.Join(r.dir, vkeyFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read audit verifier key: %w", err)
	}
	lines := strings.Fields(string(raw))
	for _, have := range lines {
		if have == vkey {
			return nil
		}
		if strings.HasPrefix(have, origin+"+") {
			return &TamperError{What: faultKey, Detail: fmt.Sprintf("record 0 names the key %s, %s holds %s", vkey, vkeyFile, have)}
		}
	}
	lines = append(lines, vkey)
	if err := writeFile(r.disk, r.dir, vkeyFile, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
		return fmt.Errorf("write audit verifier key: %w", err)
	}
	return nil
}

// Verifiers reads a file of verifier keys, one a line, for [VerifyOptions].
func Verifiers(name string) ([]string, error) {
	f, err := openRegular(name)
	if err != nil {
		return nil, fmt.Errorf("read verifier keys: %w", err)
	}
	raw, err := io.ReadAll(io.LimitReader(f, MaxNote))
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("read verifier keys: %w", err)
	}
	keys := strings.Fields(string(raw))
	for _, k := range keys {
		if _, err := note.NewVerifier(k); err != nil {
			return nil, fmt.Errorf("read verifier keys: %s: %w", name, err)
		}
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("read verifier keys: %s holds none", name)
	}
	return keys, nil
}

// newBirth returns the arguments of record 0.
func newBirth(k key) birth {
	var random [32]byte
	_, _ = rand.Read(random[:]) // never fails
	return birth{Origin: k.origin, Random: hex.EncodeToString(random[:]), Key: k.vkey}
}
