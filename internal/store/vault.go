package store

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// errSealed says that something can't be read, since its key is another.
var errSealed = errors.New("it is sealed with a key that is not here; restore the file store.key")

// A vault seals what must not stand in the database in clear, with AES-256-GCM.
// The zero vault leaves everything as it is.
type vault struct {
	aead cipher.AEAD
}

// sealMark begins what a vault has sealed: JSON and engines' checkpoints never
// begin so.
const sealMark = "\x00sealed1"

// openVault reads the key in a file, 64 hex digits, and makes it where there is
// none.
func openVault(file string) (vault, error) {
	key, err := readKey(file)
	if errors.Is(err, fs.ErrNotExist) {
		key, err = makeKey(file)
	}
	if err != nil {
		return vault{}, fmt.Errorf("key of the store: %w", err)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return vault{}, fmt.Errorf("key of the store: %w", err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return vault{}, fmt.Errorf("key of the store: %w", err)
	}
	return vault{aead}, nil
}

func readKey(file string) ([]byte, error) {
	text, err := os.ReadFile(file) //nolint:gosec // G304: the folder is the operator's to name
	if err != nil {
		return nil, err
	}
	key, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(key) != 32 {
		return nil, fmt.Errorf("%s does not hold 64 hex digits", file)
	}
	return key, nil
}

// makeKey writes a new key, whole or not at all: another process may do the same.
func makeKey(file string) ([]byte, error) {
	var key [32]byte
	_, _ = rand.Read(key[:]) // never fails
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return nil, err
	}
	tmp, err := os.CreateTemp(filepath.Dir(file), filepath.Base(file)+".*") // 0600
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.Remove(tmp.Name()) }()
	_, err = tmp.WriteString(hex.EncodeToString(key[:]) + "\n")
	if err = errors.Join(err, tmp.Sync(), tmp.Close()); err != nil {
		return nil, err
	}
	if err := os.Link(tmp.Name(), file); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	if dir, err := os.Open(filepath.Dir(file)); err == nil {
		_ = dir.Sync() // best effort: without the key nothing is sealed yet
		_ = dir.Close()
	}
	return readKey(file)
}

// seal returns plain in a form that tells nothing.
func (v vault) seal(plain []byte) ([]byte, error) {
	if v.aead == nil {
		return plain, nil
	}
	return v.aead.Seal([]byte(sealMark), nil, plain, nil), nil //nolint:gosec // G407: the AEAD makes the nonce
}

// open returns what was sealed; what was not, it returns as it is.
func (v vault) open(b []byte) ([]byte, error) {
	sealed, ok := bytes.CutPrefix(b, []byte(sealMark))
	if !ok {
		return b, nil
	}
	if v.aead == nil {
		return nil, errSealed
	}
	plain, err := v.aead.Open(nil, nil, sealed, nil)
	if err != nil {
		return nil, errSealed
	}
	return plain, nil
}

// sealText is seal for a column of text.
func (v vault) sealText(plain string) (string, error) {
	sealed, err := v.seal([]byte(plain))
	if err != nil || v.aead == nil {
		return plain, err
	}
	return sealMark + base64.StdEncoding.EncodeToString(sealed), nil
}

// openText returns what sealText was given.
func (v vault) openText(s string) (string, error) {
	coded, ok := strings.CutPrefix(s, sealMark)
	if !ok {
		return s, nil
	}
	sealed, err := base64.StdEncoding.DecodeString(coded)
	if err != nil {
		return "", errSealed
	}
	plain, err := v.open(sealed)
	return string(plain), err
}
