package audit

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestKeys(t *testing.T) {
	t.Run("log without its key", func(t *testing.T) {
		cfg, _ := written(t, 2)
		if err := os.Remove(filepath.Join(cfg.KeyDir, keyFile)); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(t.Context(), cfg); !errors.Is(err, ErrNoKey) {
			t.Errorf("open: %v", err)
		}
	})
	t.Run("another key", func(t *testing.T) {
		cfg, _ := written(t, 2)
		other, _ := written(t, 1)
		cfg.KeyDir = other.KeyDir
		_, err := Open(t.Context(), cfg)
		if bad, ok := errors.AsType[*TamperError](err); !ok || bad.What != faultKey {
			t.Errorf("open: %v", err)
		}
	})
	t.Run("log of another profile", func(t *testing.T) {
		cfg, _ := written(t, 2)
		cfg.Profile = "other"
		_, err := Open(t.Context(), cfg)
		if bad, ok := errors.AsType[*TamperError](err); !ok || bad.What != faultOrigin {
			t.Errorf("open: %v", err)
		}
	})
	t.Run("two profiles of one installation", func(t *testing.T) {
		cfg := config(t)
		a := mustOpen(t, cfg)
		other := cfg
		other.Dir, other.Profile = filepath.Join(filepath.Dir(cfg.Dir), "other"), "other"
		b := mustOpen(t, other)
		if a.Key() == b.Key() || strings.TrimSuffix(a.Origin(), "default") != strings.TrimSuffix(b.Origin(), "other") {
			t.Errorf("origins %s and %s", a.Origin(), b.Origin())
		}
		keys, err := Verifiers(filepath.Join(cfg.KeyDir, vkeyFile))
		if err != nil || len(keys) != 2 {
			t.Errorf("verifier keys %v, %v", keys, err)
		}
	})
	t.Run("crash between key and log", func(t *testing.T) {
		cfg, name := written(t, 1)
		unsealed(t, cfg)
		if err := errors.Join(os.Remove(name), os.Remove(filepath.Join(cfg.KeyDir, vkeyFile))); err != nil {
			t.Fatal(err)
		}
		l := mustOpen(t, cfg)
		if keys, err := Verifiers(filepath.Join(cfg.KeyDir, vkeyFile)); err != nil || len(keys) != 1 || keys[0] != l.Key() {
			t.Errorf("verifier keys %v, %v", keys, err)
		}
	})
	t.Run("bad profile", func(t *testing.T) {
		cfg := config(t)
		cfg.Profile = "a+b"
		if _, err := Open(t.Context(), cfg); err == nil {
			t.Error("opened")
		}
	})
}
