package witness

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	cosign "github.com/transparency-dev/formats/note"
	"golang.org/x/mod/sumdb/note"
)

const (
	keyFile  = "witness.key"
	vkeyFile = "witness.vkey"
	keyHost  = "datamind.local/witness/"
)

// ensureKey reads the witness's key in dir, and makes one where there is none.
func ensureKey(dir string) (signer note.Signer, vkey string, err error) {
	name := filepath.Join(dir, keyFile)
	raw, err := os.ReadFile(name) //nolint:gosec // G304: the folder is the operator's to name
	if errors.Is(err, fs.ErrNotExist) {
		var skey string
		skey, vkey, err = note.GenerateKey(rand.Reader, keyHost+strings.ToLower(rand.Text()[:16]))
		if err != nil {
			return nil, "", fmt.Errorf("make witness key: %w", err)
		}
		if vkey, err = cosign.VKeyToCosignatureV1(vkey); err != nil {
			return nil, "", fmt.Errorf("make witness key: %w", err)
		}
		// The public half first: without it the private one would be of no use.
		if err := writeFile(dir, vkeyFile, []byte(vkey+"\n"), 0o644); err != nil {
			return nil, "", fmt.Errorf("write witness key: %w", err)
		}
		raw = []byte(skey + "\n")
		err = writeFile(dir, keyFile, raw, 0o600)
	}
	if err != nil {
		return nil, "", fmt.Errorf("witness key: %w", err)
	}
	if signer, err = cosign.NewSignerForCosignatureV1(strings.TrimSpace(string(raw))); err != nil {
		return nil, "", fmt.Errorf("witness key: %s: %w", name, err)
	}
	vkeyRaw, err := os.ReadFile(filepath.Join(dir, vkeyFile)) //nolint:gosec // G304: as above
	if err != nil {
		return nil, "", fmt.Errorf("witness key: %w", err)
	}
	v, err := cosign.NewVerifierForCosignatureV1(strings.TrimSpace(string(vkeyRaw)))
	if err != nil || v.Name() != signer.Name() || v.KeyHash() != signer.KeyHash() {
		return nil, "", fmt.Errorf("witness key: %s is not the public half of %s", vkeyFile, keyFile)
	}
	return signer, strings.TrimSpace(string(vkeyRaw)), nil
}

// writeFile writes a file as a whole: whenever the power goes, there is the
// old one or the new one.
func writeFile(dir, name string, data []byte, mode fs.FileMode) (err error) {
	f, err := os.CreateTemp(dir, "."+name+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name()) // the first error counts
		}
	}()
	_, err = f.Write(data)
	if err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), filepath.Join(dir, name)); err != nil {
		return err
	}
	d, err := os.Open(dir) //nolint:gosec // G304: as above
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
