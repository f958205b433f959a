package web

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"example.com/datamind/internal/agent"
)

// bundle is the built file without which no page works.
const bundle = "dist/app.js"

// asset is a file that browsers load.
type asset struct {
	content []byte
	kind    string // Content-Type
	etag    string
	hashed  bool // its name holds its hash, so that it may be kept for ever
}

// assets are the files under /static/, each under its own name and under one
// that holds a hash of its content.
type assets struct {
	files map[string]asset  // by path below /static/
	urls  map[string]string // by own name
}

// loadAssets reads all files once: they are few and small.
func loadAssets(files fs.FS) (*assets, error) {
	a := &assets{files: map[string]asset{}, urls: map[string]string{}}
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasPrefix(d.Name(), ".") {
			return err
		}
		content, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(content)
		const length = 12 // hex digits: enough to tell a file's versions apart
		hash := hex.EncodeToString(sum[:])[:length]
		ext := path.Ext(name)
		file := asset{content: content, kind: contentType(ext), etag: `"` + hash + `"`}
		a.files[name] = file
		file.hashed = true
		hashed := strings.TrimSuffix(name, ext) + "." + hash + ext
		a.files[hashed] = file
		a.urls[name] = "/static/" + hashed
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read static files: %w", err)
	}
	if _, ok := a.files[bundle]; !ok {
		return nil, errors.New("the browser's code is not built: run make assets")
	}
	return a, nil
}

// contentType does not ask the system's tables: they differ between machines,
// and browsers are told not to guess.
func contentType(ext string) string {
	switch ext {
	case ".css":
		return "text/css; charset=utf-8"
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".json", ".map":
		return "application/json"
	case ".svg":
		return "image/svg+xml"
	case ".png":
		return "image/png"
	case ".ico":
		return "image/x-icon"
	default:
		return "application/octet-stream"
	}
}

// asset returns the address of a static file, for pages to link to; for
// example "app.css" or "dist/app.js".
func (s *Server) asset(name string) string {
	if u, ok := s.assets.urls[name]; ok {
		return u
	}
	return "/static/" + name
}

// GET /static/*
func (s *Server) serveAsset(c echo.Context) error {
	file, ok := s.assets.files[c.Param("*")]
	if !ok {
		return agent.Errorf(agent.CodeNotFound, "there is no such file")
	}
	h := c.Response().Header()
	h.Set("Content-Type", file.kind)
	h.Set("Etag", file.etag)
	if file.hashed {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	} else {
		h.Set("Cache-Control", "no-cache")
	}
	http.ServeContent(c.Response(), c.Request(), "", time.Time{}, bytes.NewReader(file.content))
	return nil
}
