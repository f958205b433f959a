package audit

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/mod/sumdb/note"
)

// Every log has a key of its own, named by its origin. The keys of all
// profiles of an installation stand in one file, a line each, and beside it
// the verifier keys, which are there to be handed out.
const (
	keyFile  = "audit.key"
	vkeyFile = "audit.vkey"

	originHost = "datamind.local"
)

// ErrNoKey says that a log's private key is gone.
var ErrNoKey = errors.New("the audit log's key is missing")

// An identity is what a log is known by.
type identity struct {
	origin string // datamind.local/<install id>/<profile>
	vkey   string
}

// readKeys returns the lines of the key file in dir: none if there is no file.
func readKeys(dir string) ([]string, error) {
	raw, err := os.ReadFile(filepath.Join(dir, keyFile)) //nolint:gosec // G304: the folder is the operator's to name
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read audit key: %w", err)
	}
	return strings.Fields(string(raw)), nil
}

// identify reads a signer key.
func identify(skey string) (identity, error) {
	signer, err := note.NewSigner(skey)
	if err != nil {
		return identity{}, fmt.Errorf("read audit key: %w", err)
	}
	// PRIVATE+KEY+<name>+<hash>+<base64>, which NewSigner has checked.
	fields := strings.SplitN(skey, "+", 5)
	raw, err := base64.StdEncoding.DecodeString(fields[len(fields)-1])
	if err != nil || len(raw) != 1+ed25519.SeedSize {
		return identity{}, errors.New("read audit key: not an Ed25519 key")
	}
	pub, ok := ed25519.NewKeyFromSeed(raw[1:]).Public().(ed25519.PublicKey)
	if !ok {
		return identity{}, errors.New("read audit key: no public half")
	}
	vkey, err := note.NewEd25519VerifierKey(signer.Name(), pub)
	if err != nil {
		return identity{}, fmt.Errorf("read audit key: %w", err)
	}
	return identity{origin: signer.Name(), vkey: vkey}, nil
}

// findKey returns profile's identity out of keys, and the installation's ID if
// any key tells it.
func findKey(keys []string, profile string) (id identity, install string, found bool, err error) {
	for _, k := range keys {
		if id, err = identify(k); err != nil {
			return id, "", false, err
		}
		rest, ok := strings.CutPrefix(id.origin, originHost+"/")
		if !ok {
			continue
		}
		inst, prof, _ := strings.Cut(rest, "/")
		if install = inst; prof == profile {
			return id, install, true, nil
		}
	}
	return identity{}, install, false, nil
}

// ensureKey returns profile's identity and makes its key if there is none.
// mayCreate is false where a log exists, which must have had a key.
func ensureKey(dir, profile string, mayCreate bool) (id identity, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return id, fmt.Errorf("audit key: %w", err)
	}
	unlock, err := lockDir(dir) // another profile may be starting, too
	if err != nil {
		return id, fmt.Errorf("audit key: %w", err)
	}
	defer func() { err = errors.Join(err, unlock()) }()
	keys, err := readKeys(dir)
	if err != nil {
		return id, err
	}
	id, install, found, err := findKey(keys, profile)
	if err != nil || found {
		return id, errors.Join(err, writeVerifiers(dir, keys))
	}
	if !mayCreate {
		return id, fmt.Errorf("%w: profile %q has no line in %s; restore the file, for whoever makes a new key can't prove that this is the same log",
			ErrNoKey, profile, filepath.Join(dir, keyFile))
	}
	if install == "" {
		install = rand.Text()[:16]
	}
	skey, _, err := note.GenerateKey(rand.Reader, originHost+"/"+strings.ToLower(install)+"/"+profile)
	if err != nil {
		return id, fmt.Errorf("make audit key: %w", err)
	}
	keys = append(keys, skey)
	if err := writeFile(dir, keyFile, []byte(strings.Join(keys, "\n")+"\n"), 0o600); err != nil {
		return id, fmt.Errorf("write audit key: %w", err)
	}
	if id, err = identify(skey); err != nil {
		return id, err
	}
	return id, writeVerifiers(dir, keys)
}

// writeVerifiers writes the public halves of keys where they are not yet.
func writeVerifiers(dir string, keys []string) error {
	var want bytes.Buffer
	for _, k := range keys {
		id, err := identify(k)
		if err != nil {
			return err
		}
		want.WriteString(id.vkey + "\n")
	}
	have, err := os.ReadFile(filepath.Join(dir, vkeyFile)) //nolint:gosec // G304: the folder is the operator's to name
	if err == nil && bytes.Equal(have, want.Bytes()) || want.Len() == 0 {
		return nil
	}
	if err := writeFile(dir, vkeyFile, want.Bytes(), 0o644); err != nil {
		return fmt.Errorf("write audit verifier key: %w", err)
	}
	return nil
}

// Verifiers reads a file of verifier keys, one a line, for [VerifyOptions].
func Verifiers(name string) ([]string, error) {
	raw, err := os.ReadFile(name) //nolint:gosec // G304: the file is the caller's to name
	if err != nil {
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
func newBirth(id identity) birth {
	var random [32]byte
	_, _ = rand.Read(random[:]) // never fails
	return birth{Origin: id.origin, Random: hex.EncodeToString(random[:]), Key: id.vkey}
}
